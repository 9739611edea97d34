# psycopg 2: text only; it writes the parameters into the query.

import io
from datetime import datetime, timedelta, timezone

import psycopg2
from psycopg2 import errors
from psycopg2.extras import DateTimeTZRange, execute_values

from recipe import Sno, example, register_sno
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


# What works by itself.
plain = value("INSERT INTO person (name) VALUES ('Ada') RETURNING id")
same(type(plain), str, "RETURNING: text")
same(value("SELECT name FROM person WHERE id = %s", plain), "Ada", "parameter, untyped")
same(value("SELECT name FROM person WHERE id IN %s", (plain,)), "Ada", "parameter, a tuple")
raises(
    errors.UndefinedFunction,
    lambda: query("SELECT name FROM person WHERE id = ANY (%s)", [plain]),
    "a list of text is no array of ids",
)
same(
    value("SELECT name FROM person WHERE id = ANY (%s::sno[])", [plain]),
    "Ada",
    "array parameter, cast",
)
same(value("SELECT ARRAY[id, NULL] FROM person"), f"{{{plain},NULL}}", "array result: text")
raises(
    errors.InvalidTextRepresentation,
    lambda: query("SELECT * FROM person WHERE id = %s", "not an id"),
    "bad id: 22P02",
)

# What the recipe adds.
register_sno(connection)
ada = value("SELECT id FROM person")
same(ada, Sno(plain), "result, typed")
(first, none), (second, friends) = example(connection)[-2:]
ok(none is None and friends == [first] and first < second, "example", (first, second, friends))
cursor.execute("DELETE FROM person WHERE id > %s", [ada])
same(value("SELECT NULL::sno"), None, "NULL result")
raises(ValueError, lambda: Sno("not an id"), "bad id: refused by its class")
same(value("SELECT pg_typeof(%s)::text", ada), "sno", "parameter, typed")
bob = value(
    "INSERT INTO person (name, friends) VALUES (%s, %s) RETURNING id", "Bob", [ada, None]
)
same(type(bob), Sno, "RETURNING")
same(value("SELECT friends FROM person WHERE id = %s", bob), [ada, None], "array result")
same(
    query("SELECT name FROM person WHERE id = ANY (%s) ORDER BY id", [bob, ada]),
    [("Ada",), ("Bob",)],
    "array parameter",
)
same(query("SELECT name FROM person WHERE id = ANY (%s)", []), [], "array parameter, empty")
same(value("SELECT ARRAY[ARRAY[%s], ARRAY[%s]]", ada, bob), [[ada], [bob]], "array of arrays")
cursor.execute("UPDATE person SET friends = %s WHERE id = %s", (None, ada))
same(value("SELECT count(*) FROM person WHERE friends IS NULL"), 1, "NULL parameter")

# Times.
now = datetime.now(timezone.utc)
hour = DateTimeTZRange(now - timedelta(hours=1), now + timedelta(hours=1))
same(
    query("SELECT id FROM person WHERE id <@ %s ORDER BY id", hour),
    [(ada,), (bob,)],
    "id <@ tstzrange",
)
same(
    query("SELECT id FROM person WHERE id <@ %s", DateTimeTZRange(upper=hour.lower)),
    [],
    "id <@ tstzrange, before",
)

# Prepared statements, which the driver leaves to SQL.
cursor.execute("PREPARE name_of (sno) AS SELECT name FROM person WHERE id = $1")
same(value("EXECUTE name_of (%s)", ada), "Ada", "prepared statement")
execute_values(
    cursor, "INSERT INTO person (name, friends) VALUES %s RETURNING id", [("Cy", [ada])]
)
cy = cursor.fetchone()[0]
same(type(cy), Sno, "INSERT of many rows")


def copied(options):
    """What COPY gives comes back by COPY."""
    everything = query("SELECT * FROM person ORDER BY id")
    file = io.BytesIO()
    cursor.copy_expert(f"COPY person TO STDOUT {options}", file)
    cursor.execute("TRUNCATE person")
    file.seek(0)
    cursor.copy_expert(f"COPY person FROM STDIN {options}", file)
    same(query("SELECT * FROM person ORDER BY id"), everything, f"COPY {options}")
    return file.getvalue()


ok(ada.encode() in copied(""), "ids in COPY's text")
ok(ada.encode() in copied("(FORMAT csv)"), "ids in COPY's csv")
ok(bytes(value("SELECT %s::bytea", ada)) in copied("(FORMAT binary)"), "ids in COPY's binary")
raises(
    errors.InvalidTextRepresentation,
    lambda: cursor.copy_expert("COPY person (id) FROM STDIN", io.StringIO("not an id\n")),
    "bad id in COPY: 22P02",
)

connection.close()
done()
