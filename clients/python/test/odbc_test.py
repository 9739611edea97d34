# psqlODBC by pyodbc: ids are texts, without an adapter.

import os
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec

from tap import done, same

DRIVER = "PostgreSQL Unicode"

if not find_spec("pyodbc"):
    print("1..0 # SKIP no pyodbc")
    raise SystemExit

import pyodbc

if DRIVER not in pyodbc.drivers():
    print("1..0 # SKIP no psqlODBC")
    raise SystemExit

connection = pyodbc.connect(
    f"Driver={DRIVER};Server={os.environ['PGHOST']};Port={os.environ.get('PGPORT', 5432)};"
    f"Database={os.environ['PGDATABASE']};Uid={os.environ['PGUSER']};Pwd={os.environ.get('PGPASSWORD', '')}",
    autocommit=True,
)
cursor = connection.cursor()


def ask(query, *values):
    return cursor.execute(query, *values).fetchone()[0]


ada = ask("INSERT INTO customers (name) VALUES (?) RETURNING id", "Ada")
same((type(ada), len(ada), ask("SELECT sno_meta(id) FROM customers")), (str, 16, 1), "a key of the database")
same(ask("SELECT name FROM customers WHERE id = ?", ada), "Ada", "find, without a cast")
same(ask("SELECT name FROM customers WHERE id = ANY (?::sno[])", f"{{{ada},brpk4q72xwf2m63l}}"), "Ada", "a list")
order = ask("INSERT INTO orders (customer_id, related) VALUES (?, ?) RETURNING id", ada, f"{{{ada},NULL}}")
same(ask("SELECT name FROM orders AS o JOIN customers AS c ON c.id = customer_id WHERE o.id = ?", order), "Ada", "a join")
same(ask("SELECT related FROM orders"), f"{{{ada},NULL}}", "an array is one text")
hour = (datetime.now(timezone.utc) - timedelta(hours=1)).isoformat()
same(ask("SELECT count(*) FROM customers WHERE id <@ tstzrange(?::timestamptz, NULL)", hour), 1, "a range of time")
same(
    [(row.column_name, row.type_name, row.column_def) for row in cursor.columns(table="orders").fetchall()],
    [("id", "sno", "sno_generate(2)"), ("customer_id", "sno", None), ("related", "_sno", None)],
    "introspection",
)
try:
    ask("SELECT name FROM customers WHERE id = ?", "not an id")
    same(True, False, "a wrong id")
except pyodbc.Error as error:
    same(error.args[0], "22P02", "a wrong id")
done()
