# peewee: the example of README.md.

import warnings
from importlib.util import find_spec

import psycopg2
from readme import run
from sno import Sno
from tap import done, raises, same

if not find_spec("peewee"):
    print("1..0 # SKIP no peewee")
    raise SystemExit

connection = psycopg2.connect("")
connection.autocommit = True
cursor = connection.cursor()


def columns():
    cursor.execute(
        "SELECT attrelid::regclass::text, attname, format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid), attnotnull"
        " FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)"
        " WHERE attrelid IN ('customers'::regclass, 'orders'::regclass) AND attnum > 0 ORDER BY 1, 2"
    )
    return cursor.fetchall()


wanted = columns()
cursor.execute("DROP TABLE customers, orders")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of peewee's own code
    example = run("peewee")
    from peewee import DataError
    from playhouse.reflection import Introspector
database, Customer, Order, ada, order = map(
    example.get, ("database", "Customer", "Order", "ada", "order")
)
same(columns(), wanted, "create_tables() makes the tables")
cursor.execute("SELECT id, sno_meta(id) FROM customers")
same(cursor.fetchone(), (ada.id, 1), "a key of the database")
same([list(example["some"]), list(example["recent"])], [[ada], [ada]], "a list, a range of time")
same((Customer.get_by_id(ada.id).name, ada.id < order.id), ("Ada", True), "find")
cursor.execute("SELECT related::text FROM orders")
same(cursor.fetchone()[0], f"{{{ada.id},NULL}}", "an array")
same((Order.get().customer.name, list(ada.orders)), ("Ada", [order]), "relations")
joined = Customer.select().join(Order).where(Order.id == order.id)
same(joined.get(), ada, "a join")
bob = Customer(name="Bob")
bob.save()
bob.name = "Robert"
same((bob.save(), Customer.get_by_id(bob.id).name, Customer.select().count()), (1, "Robert", 2), "a row that is changed")
many = Customer.insert_many([{"name": "Cy"}, {"name": "Dan"}]).execute()
same([type(key) for (key,) in many], [Sno, Sno], "many rows")
raises(DataError, lambda: Customer.get_by_id("not an id"), "a wrong id")
database.rollback()
seen = Introspector.from_database(database).generate_models()
same(sorted(seen), ["customers", "orders"], "introspection")
same(type(seen["customers"].create(name="Eve").id), Sno, "a model of that")
database.close()
done()
