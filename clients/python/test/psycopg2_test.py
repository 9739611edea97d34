# psycopg 2: text only; it writes the parameters into the query.

import io
from datetime import datetime, timedelta, timezone

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import TRANSACTION_STATUS_IDLE
from psycopg2.extras import DateTimeTZRange, NamedTupleCursor, RealDictCursor, execute_values
from psycopg2.pool import SimpleConnectionPool

from readme import run
from sno import Sno
from sno.psycopg2 import register
from tap import done, ok, raises, same

connection = psycopg2.connect("")
connection.autocommit = True
cursor = connection.cursor()


def query(text, *parameters):
    cursor.execute(text, parameters)
    return cursor.fetchall()


def value(text, *parameters):
    ((found,),) = query(text, *parameters)
    return found


def execute(text, *parameters):
    cursor.execute(text, parameters)


# What works without the adapter.
plain = value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
same(type(plain), str, "RETURNING: text")
same(value("SELECT name FROM customers WHERE id = %s", Sno(plain)), "Ada", "a Sno is a text")
raises(
    errors.UndefinedFunction,
    lambda: query("SELECT name FROM customers WHERE id = ANY (%s)", [plain]),
    "a list of text is no array of ids",
)
same(
    value("SELECT name FROM customers WHERE id = ANY (%s::sno[])", [plain]),
    "Ada",
    "array parameter, cast",
)

# With the adapter.
execute("CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)")
execute("CREATE DOMAIN old_customer_id AS customer_id")
execute("CREATE TYPE pair AS (a sno, b sno[])")
register(connection)
register(connection)
ada = value("SELECT id FROM customers")
same(ada, Sno(plain), "result")
same(value("SELECT pg_typeof(%s)::text", ada), "sno", "parameter")
same(
    value("SELECT name FROM customers WHERE id = %s", type("CustomerId", (Sno,), {})(ada)),
    "Ada",
    "parameter of a subclass",
)
bob = value("INSERT INTO customers (name) VALUES ('Bob') RETURNING id")
same(type(bob), Sno, "RETURNING")
order = value(
    "INSERT INTO orders (customer_id, related) VALUES (%s, %s) RETURNING id", bob, [ada, None]
)
same(value("SELECT related FROM orders WHERE id = %s", order), [ada, None], "array result")
same(
    value(
        "SELECT name FROM customers JOIN orders ON customer_id = customers.id "
        "WHERE orders.id = %s",
        order,
    ),
    "Bob",
    "join",
)
same(
    query("SELECT name FROM customers WHERE id = ANY (%s) ORDER BY id", [bob, ada]),
    [("Ada",), ("Bob",)],
    "= ANY",
)
same(value("SELECT name FROM customers WHERE id IN %s", (ada,)), "Ada", "IN, with a tuple")
for name, array in (
    ("empty", []),
    ("of nulls", [None, None]),
    ("that begins with null", [None, ada]),
    ("of arrays", [[ada], [bob]]),
):
    execute("UPDATE orders SET related = %s", array)
    same(value("SELECT related FROM orders"), array, f"an array {name}, there and back")
execute("UPDATE orders SET related = %s", None)
same(value("SELECT related FROM orders"), None, "null")
same(value("SELECT NULL::sno"), None, "a null id")

# Domains and composite types.
same(value("SELECT %s::customer_id", ada), ada, "a domain")
same(value("SELECT %s::sno[]::customer_id[]", [ada, None]), [ada, None], "an array of a domain")
same(
    value("SELECT %s::sno[]::old_customer_id[]", [ada]), [ada], "an array of a domain over a domain"
)
raises(errors.CheckViolation, lambda: query("SELECT %s::customer_id", order), "a domain's check")
same(value("SELECT ROW(%s, %s)::pair", ada, [bob]), f"({ada},{{{bob}}})", "a composite value")

# Times.
now = datetime.now(timezone.utc)
hour = DateTimeTZRange(now - timedelta(hours=1), now + timedelta(hours=1))
in_range = "SELECT id FROM customers WHERE id <@ %s ORDER BY id"
same(query(in_range, hour), [(ada,), (bob,)], "a range of time")
same(query(in_range, DateTimeTZRange(upper=hour.lower)), [], "an earlier one")
same(
    value("SELECT sno_min(%s) = %s AND sno_max(%s) = %s", now, Sno.min(now), now, Sno.max(now)),
    True,
    "bounds are those of the database",
)
for id, at, uuid, uuid8, raw in query(
    """SELECT id, id::timestamptz, id::uuid::text, sno_to_uuidv8(id)::text, id::bytea
       FROM customers"""
):
    same(
        (id.timestamp, str(id.uuid), str(id.uuid8), bytes(id)),
        (at, uuid, uuid8, bytes(raw)),
        "forms are those of the database",
    )

# Many rows.
(cy,), (dan,) = execute_values(
    cursor, "INSERT INTO customers (id, name) VALUES %s RETURNING id",
    [(Sno.min(now, 1), "Cy"), (Sno.min(now, 2), "Dan")], fetch=True)
same((cy, dan), (Sno.min(now, 1), Sno.min(now, 2)), "execute_values")
cursor.executemany("DELETE FROM customers WHERE id = %s", [(cy,), (dan,)])
execute("PREPARE name_of (sno) AS SELECT name FROM customers WHERE id = $1")
same(value("EXECUTE name_of (%s)", ada), "Ada", "prepared statement")
with psycopg2.connect("") as other:
    for factory in NamedTupleCursor, RealDictCursor:
        other.cursor_factory = factory
        register(other)
    ok(other.get_transaction_status() == TRANSACTION_STATUS_IDLE, "register leaves no transaction")
    other.cursor_factory = None
    with other.cursor() as mine:
        mine.execute("CREATE TEMPORARY TABLE kept AS SELECT 1")
        register(other)
        mine.execute("SELECT FROM kept")
        ok(mine.rowcount == 1, "register keeps a transaction that is open")
    with other.cursor("named") as server_side:
        server_side.execute("SELECT id FROM customers WHERE id = ANY (%s)", [[bob]])
        same(list(server_side), [(bob,)], "a cursor of the server")
other.close()


def copied(options):
    """What COPY gives comes back by COPY."""
    everything = query("SELECT * FROM orders")
    file = io.BytesIO()
    cursor.copy_expert(f"COPY orders TO STDOUT {options}", file)
    execute("TRUNCATE orders")
    file.seek(0)
    cursor.copy_expert(f"COPY orders FROM STDIN {options}", file)
    same(query("SELECT * FROM orders"), everything, f"COPY {options}")
    return file.getvalue()


execute("UPDATE orders SET related = %s", [ada, None])
ok(order.encode() in copied(""), "ids in COPY's text")
ok(bytes(order) in copied("(FORMAT binary)"), "ids in COPY's binary")

# Errors.
raises(
    errors.InvalidTextRepresentation,
    lambda: query("SELECT * FROM customers WHERE id = %s", "not an id"),
    "a wrong id: 22P02",
)
raises(
    errors.InvalidTextRepresentation,
    lambda: cursor.copy_expert("COPY customers (id) FROM STDIN", io.StringIO("not an id\n")),
    "a wrong id in COPY: 22P02",
)

# A pool's connection keeps what it learned.
pool = SimpleConnectionPool(1, 1, "")
pooled = pool.getconn()
register(pooled)
pool.putconn(pooled)
pooled = pool.getconn()
with pooled.cursor() as mine:
    mine.execute("SELECT %s", [[ada]])
    same(mine.fetchone(), ([ada],), "a pool")
pool.closeall()

# A database without the extension, which comes later.
execute("CREATE DATABASE psycopg2_elsewhere TEMPLATE template0")
elsewhere = psycopg2.connect(dbname="psycopg2_elsewhere")
elsewhere.autocommit = True
raises(LookupError, lambda: register(elsewhere), "no extension")
with elsewhere.cursor() as mine:
    mine.execute("SELECT %s", [ada])
    same(mine.fetchone(), (str(ada),), "a connection without the extension sends a text")
    mine.execute("CREATE EXTENSION sno")
    register(elsewhere)
    mine.execute("CREATE TABLE t (id sno, ids sno[])")
    mine.execute("INSERT INTO t VALUES (%s, %s) RETURNING *", [ada, [bob, None]])
    same(mine.fetchone(), (ada, [bob, None]), "another database")
elsewhere.close()
same(value("SELECT %s", ada), ada, "connections differ")

# The example of README.
execute("TRUNCATE customers, orders")
example = run("psycopg2")
same((example["names"], example["recent"]), ([("Ada",)], [(example["ada"],)]), "README's example")
example["connection"].close()

connection.close()
done()
