# psycopg 3: text and binary, with parameters apart from the query.

from datetime import datetime, timedelta, timezone

import psycopg
from psycopg import errors
from psycopg.types.range import Range

from recipe import Sno, example, register_sno
from tap import done, ok, raises, same

connection = psycopg.connect(autocommit=True)


def query(text, *parameters, **options):
    return connection.execute(text, parameters, **options).fetchall()


def value(text, *parameters, **options):
    ((found,),) = query(text, *parameters, **options)
    return found


# What works by itself.
plain = value("INSERT INTO person (name) VALUES ('Ada') RETURNING id")
same(type(plain), str, "RETURNING: text")
same(
    value("SELECT id FROM person", binary=True),
    value("SELECT id::bytea FROM person"),
    "result, binary: bytes",
)
same(value("SELECT name FROM person WHERE id = %s", plain), "Ada", "parameter, untyped")
raises(
    errors.UndefinedFunction,
    lambda: query("SELECT name FROM person WHERE id = %b", plain),
    "a binary str is no id",
)
same(
    value("SELECT name FROM person WHERE id = ANY (%s)", [plain]),
    "Ada",
    "array parameter, untyped",
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
connection.execute("DELETE FROM person WHERE id > %s", [ada])
raises(ValueError, lambda: Sno("not an id"), "bad id: refused by its class")
raises(
    errors.InvalidBinaryRepresentation,
    lambda: query("SELECT %b::sno", b"short"),
    "bad bytes: 22P03",
)

# The same by either format, against the server's own conversion.
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
    bob = value(
        f"INSERT INTO person (name, friends) VALUES ({mark}, {mark}) RETURNING id",
        "Bob",
        [ada, None],
        binary=binary,
    )
    same(type(bob), Sno, f"RETURNING, {name}")
    same(
        value(f"SELECT friends FROM person WHERE id = {mark}", bob, binary=binary),
        [ada, None],
        f"array result, {name}",
    )
    same(
        query(f"SELECT name FROM person WHERE id = ANY ({mark}) ORDER BY id", [bob, ada]),
        [("Ada",), ("Bob",)],
        f"array parameter, {name}",
    )
    same(
        value(f"SELECT ARRAY[ARRAY[{mark}], ARRAY[{mark}]]", ada, bob, binary=binary),
        [[ada], [bob]],
        f"array of arrays, {name}",
    )
    same(value("SELECT NULL::sno", binary=binary), None, f"NULL result, {name}")
    same(value(f"SELECT {mark}::sno", None), None, f"NULL parameter, {name}")

    now = datetime.now(timezone.utc)
    hour = Range(now - timedelta(hours=1), now + timedelta(hours=1))
    same(
        query(f"SELECT id FROM person WHERE id <@ {mark} ORDER BY id", hour, binary=binary),
        [(ada,), (bob,)],
        f"id <@ tstzrange, {name}",
    )
    same(
        value(f"SELECT name FROM person WHERE id = {mark}", ada, prepare=True),
        "Ada",
        f"prepared statement, {name}",
    )
    connection.execute(f"DELETE FROM person WHERE id = {mark}", [bob])
same(query("SELECT name FROM person WHERE id = ANY (%s)", []), [], "array parameter, empty")
ok(query("SELECT * FROM pg_prepared_statements"), "statements were prepared")

# COPY, row by row and as it comes.
with connection.cursor() as cursor:
    cursor.executemany("INSERT INTO person (name, friends) VALUES (%s, %s)", [("Cy", [ada])])
    for options in "", "(FORMAT binary)":
        everything = query("SELECT * FROM person ORDER BY id")
        with cursor.copy(f"COPY person TO STDOUT {options}") as copy:
            copy.set_types(["sno", "text", "sno[]"])
            rows = sorted(copy.rows())
        same(rows, everything, f"COPY {options} gives rows")
        connection.execute("TRUNCATE person")
        with cursor.copy(f"COPY person FROM STDIN {options}") as copy:
            copy.set_types(["sno", "text", "sno[]"])
            for row in rows:
                copy.write_row(row)
        same(query("SELECT * FROM person ORDER BY id"), everything, f"COPY {options} takes rows")

    with cursor.copy("COPY person (id) TO STDOUT (FORMAT csv)") as copy:
        lines = b"".join(copy)
    ok(ada.encode() in lines, "ids in COPY's csv")
    connection.execute("TRUNCATE person")
    with cursor.copy("COPY person (id, name) FROM STDIN (FORMAT csv)") as copy:
        copy.write(f"{ada},Ada\n")
    same(query("SELECT id, name FROM person"), [(ada, "Ada")], "COPY csv")


def copy_in(row):
    with connection.cursor() as cursor, cursor.copy("COPY person (id) FROM STDIN") as copy:
        copy.write_row(row)


raises(errors.InvalidTextRepresentation, lambda: copy_in(["not an id"]), "bad id in COPY: 22P02")

connection.close()
done()
