# asyncpg: binary, prepared statements.

import asyncio
import io
from datetime import datetime, timedelta, timezone

import asyncpg
from asyncpg import exceptions

from readme import run
from sno import Sno
from sno.asyncpg import register
from tap import done, ok, same


async def fails(error, action, name):
    """The action, when it is awaited, raises an exception of that class."""
    try:
        seen = await action
    except Exception as raised:
        ok(isinstance(raised, error), name, repr(raised))
    else:
        ok(False, name, repr(seen))


async def main():
    connection = await asyncpg.connect()
    value, execute = connection.fetchval, connection.execute

    # What works without the adapter.
    plain = await value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id")
    same(type(plain), str, "RETURNING: text")
    same(
        await value("SELECT name FROM customers WHERE id = $1", Sno(plain)), "Ada", "a Sno is a text"
    )

    # With the adapter.
    await execute("CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)")
    await execute("CREATE DOMAIN old_customer_id AS customer_id")
    await execute("CREATE TYPE pair AS (a sno, b sno[])")
    await register(connection)
    await register(connection)
    ada = await value("SELECT id FROM customers")
    same(ada, Sno(plain), "result")
    for form in ada, str(ada), bytes(ada), ada.uuid, ada.uuid8:
        same(await value("SELECT $1::sno", form), ada, f"parameter: {type(form).__name__}")
    ids = await connection.fetch(
        """SELECT id, id::text FROM (
               VALUES (sno_zero()), (sno_max('infinity'))
               UNION ALL SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)"""
    )
    ok(all(id == Sno(text) for id, text in ids), "results", ids)
    bob = await value("INSERT INTO customers (name) VALUES ('Bob') RETURNING id")
    same(type(bob), Sno, "RETURNING")
    order = await value(
        "INSERT INTO orders (customer_id, related) VALUES ($1, $2) RETURNING id", bob, [ada, None]
    )
    same(await value("SELECT related FROM orders WHERE id = $1", order), [ada, None], "array result")
    same(
        await value(
            "SELECT name FROM customers JOIN orders ON customer_id = customers.id "
            "WHERE orders.id = $1",
            order,
        ),
        "Bob",
        "join",
    )
    same(
        await value(
            "SELECT array_agg(name ORDER BY id) FROM customers WHERE id = ANY ($1)", [bob, ada]
        ),
        ["Ada", "Bob"],
        "= ANY",
    )
    for name, array in (
        ("empty", []),
        ("of nulls", [None, None]),
        ("that begins with null", [None, ada]),
        ("of arrays", [[ada], [bob]]),
        ("that is null", None),
    ):
        same(
            await value("UPDATE orders SET related = $1 RETURNING related", array),
            array,
            f"an array {name}, there and back",
        )
    same(await value("SELECT $1::sno", None), None, "null")

    # Domains and composite types.
    same(await value("SELECT $1::customer_id", ada), ada, "a domain")
    for domain in "customer_id", "old_customer_id":
        same(
            await value(f"SELECT $1::{domain}[]", [ada, None]), [ada, None], f"an array of {domain}"
        )
    await fails(
        exceptions.CheckViolationError, value("SELECT $1::customer_id", order), "a domain's check"
    )
    same(tuple(await value("SELECT $1::pair", (ada, [bob]))), (ada, [bob]), "a composite value")

    # Times.
    now = datetime.now(timezone.utc)
    hour = asyncpg.Range(now - timedelta(hours=1), now + timedelta(hours=1))
    in_range = "SELECT array_agg(id ORDER BY id) FROM customers WHERE id <@ $1::tstzrange"
    same(await value(in_range, hour), [ada, bob], "a range of time")
    same(await value(in_range, asyncpg.Range(None, hour.lower)), None, "an earlier one")
    same(await value("SELECT sno_min($1) = $2", now, Sno.min(now)), True, "a bound")

    # Prepared statements, cursors, many rows, COPY.
    statement = await connection.prepare("SELECT name FROM customers WHERE id = $1")
    same(await statement.fetchval(bob), "Bob", "prepared statement")
    async with connection.transaction():
        cursor = await connection.cursor("SELECT id FROM customers WHERE id = ANY ($1)", [bob])
        same(tuple(await cursor.fetchrow()), (bob,), "a cursor of the server")
    await connection.executemany(
        "INSERT INTO customers (id, name) VALUES ($1, $2)", [(Sno.min(now), "Cy")]
    )
    await connection.copy_records_to_table(
        "customers", records=[(Sno.max(now), "Dan")], columns=["id", "name"]
    )
    same(
        await value("SELECT array_agg(id ORDER BY id) FROM customers WHERE name IN ('Cy', 'Dan')"),
        [Sno.min(now), Sno.max(now)],
        "executemany, COPY",
    )
    file = io.BytesIO()
    await connection.copy_from_query(
        "SELECT id FROM customers WHERE id = ANY ($1)", [bob], output=file
    )
    same(file.getvalue(), bob.encode() + b"\n", "COPY of a query with a parameter")

    # Errors.
    await fails(exceptions.DataError, value("SELECT $1::sno", "not an id"), "a wrong id")
    await fails(exceptions.DataError, value("SELECT $1::sno", 5), "a number")
    await fails(
        exceptions.InvalidTextRepresentationError,
        value("SELECT $1::text::sno", "not an id"),
        "a wrong id: 22P02",
    )

    # Pools; without prepared statements, as a pooler of transactions wants it.
    async with asyncpg.create_pool(
        init=register, min_size=1, max_size=1, statement_cache_size=0
    ) as pool:
        for _ in 1, 2:
            same(await pool.fetchval("SELECT ARRAY[$1::sno]", ada), [ada], "a pool")

    # A database without the extension, which comes later.
    await execute("CREATE DATABASE asyncpg_elsewhere TEMPLATE template0")
    elsewhere = await asyncpg.connect(database="asyncpg_elsewhere")
    await fails(LookupError, register(elsewhere), "no extension")
    await elsewhere.execute("CREATE EXTENSION sno")
    await register(elsewhere)
    await elsewhere.execute("CREATE TABLE t (id sno, ids sno[])")
    row = await elsewhere.fetchrow("INSERT INTO t VALUES ($1, $2) RETURNING *", ada, [bob, None])
    same(tuple(row), (ada, [bob, None]), "another database")
    await elsewhere.close()
    await execute("TRUNCATE customers, orders")
    await connection.close()


asyncio.run(main())

# The example of README.
example = run("asyncpg")
same(
    ([tuple(row) for row in example["names"]], [tuple(row) for row in example["recent"]]),
    ([("Ada",)], [(example["ada"],)]),
    "README's example",
)
example = run("asyncpg-ids")
same(
    (type(example["ada"]), example["ada"].meta, example["ids"].stats().taken),
    (Sno, 1, 1),
    "README's example of ids made in the application",
)
done()
