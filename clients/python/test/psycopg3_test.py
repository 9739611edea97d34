# psycopg 3: text and binary, with parameters apart from the query.

import asyncio
from datetime import datetime, timedelta, timezone

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.range import Range

from readme import run
from sno import Sno
from sno.psycopg import register
from tap import done, ok, raises, same

connection = psycopg.connect(autocommit=True)


def query(text, *parameters, **options):
    return connection.execute(text, parameters, **options).fetchall()


def value(text, *parameters, **options):
    ((found,),) = query(text, *parameters, **options)
    return found


# What works without the adapter.
plain = value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
same(type(plain), str, "RETURNING: text")
same(value("SELECT name FROM customers WHERE id = %s", Sno(plain)), "Ada", "a Sno is a text")
same(value("SELECT name FROM customers WHERE id = ANY (%s)", [plain]), "Ada", "= ANY")
same(value("SELECT ARRAY[id] FROM customers"), f"{{{plain}}}", "array result: text")

# With the adapter.
for statement in (
    "CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)",
    "CREATE DOMAIN old_customer_id AS customer_id",
    "CREATE TYPE pair AS (a sno, b sno[])",
):
    connection.execute(statement)
register(connection)
register(connection)
ada = value("SELECT id FROM customers")
same(ada, Sno(plain), "result")
client = psycopg.connect(autocommit=True, cursor_factory=psycopg.ClientCursor)
register(client)

for name, mark, binary in ("text", "%t", False), ("binary", "%b", True):
    ids = query(
        """SELECT id, id::text FROM (
               VALUES (sno_zero()), (sno_max('infinity'))
               UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)""",
        binary=binary,
    )
    ok(all(id == Sno(text) for id, text in ids), f"results, {name}", ids)
    ok(all(value(f"SELECT {mark}::text", id) == text for id, text in ids), f"parameters, {name}")
    same(value(f"SELECT pg_typeof({mark})::text", ada), "sno", f"parameter, typed, {name}")
    subclass = type("CustomerId", (Sno,), {})
    same(value(f"SELECT pg_typeof({mark})::text", subclass(ada)), "sno", f"of a subclass, {name}")
    bob = value(
        "INSERT INTO customers (name) VALUES (%s) RETURNING id", "Bob", binary=binary
    )
    same(type(bob), Sno, f"RETURNING, {name}")
    order = value(
        f"INSERT INTO orders (customer_id, related) VALUES ({mark}, {mark}) RETURNING id",
        bob,
        [ada, None],
        binary=binary,
    )
    same(
        value(f"SELECT related FROM orders WHERE id = {mark}", order, binary=binary),
        [ada, None],
        f"array result, {name}",
    )
    same(
        value(
            "SELECT name FROM customers JOIN orders ON customer_id = customers.id "
            f"WHERE orders.id = {mark}",
            order,
            binary=binary,
        ),
        "Bob",
        f"join, {name}",
    )
    same(
        query(f"SELECT name FROM customers WHERE id = ANY ({mark}) ORDER BY id", [bob, ada]),
        [("Ada",), ("Bob",)],
        f"= ANY, {name}",
    )
    for what, array in (
        ("empty", []),
        ("of nulls", [None, None]),
        ("that begins with null", [None, ada]),
        ("of arrays", [[ada], [bob]]),
    ):
        same(
            value(
                f"UPDATE orders SET related = {mark} RETURNING related",
                array,
                binary=binary,
            ),
            array,
            f"an array {what}, there and back, {name}",
        )
    same(value("SELECT NULL::sno", binary=binary), None, f"null result, {name}")
    same(value(f"SELECT {mark}::sno", None), None, f"null parameter, {name}")

    same(value(f"SELECT {mark}::customer_id", ada, binary=binary), ada, f"a domain, {name}")
    for domain in "customer_id", "old_customer_id":
        same(
            value(f"SELECT {mark}::sno[]::{domain}[]", [ada, None], binary=binary),
            [ada, None],
            f"an array of {domain}, {name}",
        )
    raises(
        errors.CheckViolation, lambda: value(f"SELECT {mark}::customer_id", order), "a domain's check"
    )

    now = datetime.now(timezone.utc)
    hour = Range(now - timedelta(hours=1), now + timedelta(hours=1))
    same(
        query(f"SELECT id FROM customers WHERE id <@ {mark} ORDER BY id", hour, binary=binary),
        [(ada,), (bob,)],
        f"a range of time, {name}",
    )
    same(
        value(f"SELECT sno_min({mark}) = {mark}", now, Sno.min(now), binary=binary), True, "a bound"
    )
    same(
        value(f"SELECT name FROM customers WHERE id = {mark}", ada, prepare=True),
        "Ada",
        f"prepared statement, {name}",
    )
    with connection.transaction(), connection.cursor("named", binary=binary) as server_side:
        server_side.execute(f"SELECT id FROM customers WHERE id = ANY ({mark})", [[bob]])
        same(list(server_side), [(bob,)], f"a cursor of the server, {name}")
    raises(
        errors.InvalidTextRepresentation,
        lambda: query("SELECT * FROM customers WHERE id = %t", "not an id"),
        "a wrong id: 22P02",
    )
    connection.execute("DELETE FROM orders")
    connection.execute(f"DELETE FROM customers WHERE id = {mark}", [bob])
ok(query("SELECT * FROM pg_prepared_statements"), "statements were prepared")
raises(
    errors.InvalidBinaryRepresentation, lambda: query("SELECT %b::sno", b"short"), "bad bytes: 22P03"
)

# Composite types.
pair = CompositeInfo.fetch(connection, "pair")
register_composite(pair, connection)
for binary in False, True:
    same(
        tuple(value("SELECT %s", pair.python_type(ada, [ada, None]), binary=binary)),
        (ada, [ada, None]),
        "a composite value",
    )

# The driver can write parameters into the query, too.
same(
    client.execute("SELECT %s, %s, %s", [ada, [ada, None], [[ada]]]).fetchone(),
    (ada, [ada, None], [[ada]]),
    "a client's cursor",
)
client.close()

# COPY, row by row and as it comes.
with connection.cursor() as cursor:
    cursor.executemany(
        "INSERT INTO orders (customer_id, related) VALUES (%s, %s) RETURNING customer_id",
        [(ada, [ada]), (ada, [None])],
        returning=True,
    )
    same(cursor.fetchall(), [(ada,)], "executemany")
    types = ["sno", "sno", "sno[]"]
    for options in "", "(FORMAT binary)":
        everything = query("SELECT * FROM orders ORDER BY id")
        with cursor.copy(f"COPY orders TO STDOUT {options}") as copy:
            copy.set_types(types)
            rows = sorted(copy.rows())
        same(rows, everything, f"COPY {options} gives rows")
        connection.execute("TRUNCATE orders")
        with cursor.copy(f"COPY orders FROM STDIN {options}") as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
        same(query("SELECT * FROM orders ORDER BY id"), everything, f"COPY {options} takes rows")


def copy_in(row):
    with connection.cursor() as cursor, cursor.copy("COPY customers (id) FROM STDIN") as copy:
        copy.write_row(row)


raises(errors.InvalidTextRepresentation, lambda: copy_in(["not an id"]), "wrong in COPY: 22P02")

# Transactions, factories of rows, pools, connections that are awaited.
with psycopg.connect(row_factory=dict_row) as other:
    register(other)
    ok(other.info.transaction_status == TransactionStatus.IDLE, "register leaves no transaction")
    other.execute("CREATE TEMPORARY TABLE kept AS SELECT 1")
    register(other)
    same(other.execute("SELECT count(*) FROM kept").fetchone(), {"count": 1}, "it keeps an open one")
try:
    from psycopg_pool import ConnectionPool
except ImportError:
    pass
else:
    with ConnectionPool("", min_size=1, max_size=1, configure=register) as pool:
        for _ in 1, 2:
            with pool.connection() as pooled:
                same(pooled.execute("SELECT %s", [ada]).fetchone(), (ada,), "a pool")


async def awaited():
    async with await psycopg.AsyncConnection.connect() as other:
        await register(other)
        return await (await other.execute("SELECT %s, %s", [ada, [ada]])).fetchone()


same(asyncio.run(awaited()), (ada, [ada]), "an AsyncConnection")

# A database without the extension, which comes later.
connection.execute("CREATE DATABASE psycopg3_elsewhere TEMPLATE template0")
with psycopg.connect(dbname="psycopg3_elsewhere", autocommit=True) as elsewhere:
    raises(LookupError, lambda: register(elsewhere), "no extension")
    elsewhere.execute("CREATE EXTENSION sno")
    register(elsewhere)
    elsewhere.execute("CREATE TABLE t (id sno, ids sno[])")
    for factory in psycopg.Cursor, psycopg.ClientCursor:
        cursor = factory(elsewhere)
        cursor.execute("INSERT INTO t VALUES (%s, %s) RETURNING *", [ada, [ada, None]])
        same(cursor.fetchone(), (ada, [ada, None]), f"another database, {factory.__name__}")

# The example of README.
connection.execute("TRUNCATE customers, orders")
example = run("psycopg")
same((example["names"], example["recent"]), ([("Ada",)], [(example["ada"],)]), "README's example")
run("psycopg-ids", **run("ids"), connection=example["connection"])
same(
    example["connection"]
    .execute(
        """SELECT name, sno_meta(orders.id), count(*) OVER () FROM orders
           JOIN customers ON customer_id = customers.id ORDER BY orders.id"""
    )
    .fetchall(),
    [("Ada", 2, 2), ("Bob", 2, 2)],
    "README's example of ids made in the application",
)
example["connection"].close()

connection.close()
done()
