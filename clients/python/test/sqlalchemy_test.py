# SQLAlchemy, by each of the drivers that it knows.

import asyncio
import sys
import types
import warnings
from datetime import datetime, timedelta, timezone

import sqlalchemy
from sqlalchemy import (
    MetaData,
    Table,
    any_,
    create_engine,
    event,
    exc,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

import readme
from sno import Sno
from sno.sqlalchemy import SNO, register
from tap import done, raises, same

models, own = types.ModuleType("models"), types.ModuleType("models")
exec(readme.source("sqlalchemy"), models.__dict__)
exec(readme.source("sqlalchemy-ids"), own.__dict__)
sys.modules["models"] = models
Customer, Order = models.Customer, models.Order

now = datetime.now(timezone.utc)
hour = timedelta(hours=1)


def check(session, name):
    """The common list, by one driver."""
    session.execute(text("TRUNCATE customers, orders"))
    ada, bob = Customer(name="Ada"), Customer(name="Bob")
    session.add_all([ada, bob])
    session.flush()
    same((type(ada.id), type(bob.id)), (Sno, Sno), f"{name}: keys of the server")
    order = Order(customer_id=bob.id, related=[ada.id, None])
    session.add(order)
    session.flush()
    session.expire_all()
    same(order.related, [ada.id, None], f"{name}: an array, there and back")
    same(order.customer_id, bob.id, f"{name}: a reference")
    same(session.get(Customer, str(ada.id)).name, "Ada", f"{name}: get by text")
    same(session.get(Customer, ada.id.uuid).name, "Ada", f"{name}: get by UUID")

    def names(*conditions):
        return session.scalars(select(Customer.name).where(*conditions).order_by(Customer.id)).all()

    ids = [bob.id, ada.id]
    same(names(Customer.id == any_(literal(ids, ARRAY(SNO)))), ["Ada", "Bob"], f"{name}: = ANY")
    same(names(Customer.id.in_(ids)), ["Ada", "Bob"], f"{name}: IN")
    same(names(Customer.id.in_([])), [], f"{name}: IN, of nothing")
    same(names(Customer.id > ada.id), ["Bob"], f"{name}: >")
    same(
        session.execute(select(Customer.name, Order.id).join(Order)).all(),
        [("Bob", order.id)],
        f"{name}: join",
    )
    same(
        session.scalars(select(Order.id).where(Order.related.contains([ada.id]))).all(),
        [order.id],
        f"{name}: contained in an array",
    )
    for what, array in (
        ("empty", []),
        ("of nulls", [None, None]),
        ("that begins with null", [None, ada.id]),
        ("that is null", None),
    ):
        found = session.scalars(update(Order).values(related=array).returning(Order.related)).one()
        same(found, array, f"{name}: an array {what}, there and back")

    # Times.
    during = Customer.id.during(now - hour, now + hour)
    same(names(during), ["Ada", "Bob"], f"{name}: a range of time")
    same(names(Customer.id.during(None, now - hour)), [], f"{name}: an earlier one")
    same(names(Customer.id.during(now - hour, None)), ["Ada", "Bob"], f"{name}: an open one")
    same(
        names(Customer.id.during(func.now() - hour, func.now() + hour)),
        ["Ada", "Bob"],
        f"{name}: one of expressions",
    )

    # Values of their own; many rows; ids that the caller has.
    same(session.scalar(select(literal(ada.id, SNO))), ada.id, f"{name}: a value")
    same(session.scalar(select(func.sno_meta(ada.id, type_=None))), 1, f"{name}: a function")
    same(session.scalar(select(literal(None, SNO))), None, f"{name}: null")
    session.execute(
        insert(Customer),
        [{"id": Sno.min(now, 7), "name": "Cy"}, {"id": bytes(Sno.max(now, 7)), "name": "Dan"}],
    )
    same(
        session.scalars(select(Customer.id).where(Customer.name.in_(["Cy", "Dan"]))).all(),
        [Sno.min(now, 7), Sno.max(now, 7)],
        f"{name}: many rows",
    )
    many = [Customer(name=str(n)) for n in range(100)]
    session.add_all(many)
    session.flush()
    same(
        session.execute(
            select(func.count()).where(
                Customer.id == many[37].id, Customer.name == "37"
            )
        ).scalar(),
        1,
        f"{name}: many objects get their own keys",
    )
    session.commit()

    # Errors.
    for wrong in "not an id", b"", 5:
        raises(
            exc.StatementError,
            lambda: session.execute(select(Customer).where(Customer.id == wrong)),
            f"{name}: no id: {wrong!r}",
        )
        session.rollback()
    raises(
        exc.DBAPIError,
        lambda: session.execute(text("SELECT 'not an id'::sno")),
        f"{name}: a wrong id, found by the server",
    )
    session.rollback()


def keys_of_the_application(session, name):
    """Many rows and those that refer to them, in one flush: a statement for each table."""
    for what, options in (
        ("keys by default", lambda meta: {}),
        ("keys that are passed", lambda meta: {"id": own.ids.next(meta)}),
    ):
        session.execute(text("TRUNCATE customers, orders"))
        session.execute(text("ALTER SEQUENCE inserts RESTART"))
        session.commit()
        customers = [
            own.Customer(
                name=str(n), orders=[own.Order(**options(2)), own.Order(**options(2))], **options(1)
            )
            for n in range(100)
        ]
        session.add_all(customers)
        statements = []

        def note(connection, cursor, statement, *others):
            statements.append(statement.split()[:3])

        event.listen(session.get_bind(), "before_cursor_execute", note)
        session.flush()
        event.remove(session.get_bind(), "before_cursor_execute", note)
        # Without insertmanyvalues, only psycopg 2 can insert many rows and return their keys.
        many = is_2 or name == "psycopg2" or what == "keys that are passed"
        tables = ["customers"] * (1 if many else 100) + ["orders"] * (1 if many else 200)
        same(statements, [["INSERT", "INTO", table] for table in tables], f"{name}: {what}: statements")
        session.commit()
        if name == "psycopg2":
            same(session.scalar(text("SELECT last_value FROM inserts")), 2, f"{name}: {what}: also the server's")
        rows = select(own.Customer.name, own.Customer.id, own.Order.id).join(own.Order)
        same(
            sorted(tuple(row) for row in session.execute(rows)),
            sorted((one.name, one.id, order.id) for one in customers for order in one.orders),
            f"{name}: {what}: read back",
        )
        same(
            {(one.id.meta, order.id.meta) for one in customers for order in one.orders},
            {(1, 2)},
            f"{name}: {what}: metabytes",
        )
    session.execute(text("TRUNCATE customers, orders"))
    session.commit()


def domain(connection, name):
    """A column of a domain over sno."""
    transaction = connection.begin()
    connection.execute(text("CREATE DOMAIN customer_id AS sno CHECK (sno_meta(VALUE) = 1)"))
    connection.execute(text("CREATE TEMPORARY TABLE seen (id customer_id)"))
    seen = Table("seen", MetaData(), autoload_with=connection)
    seen_type = seen.c.id.type
    same(type(getattr(seen_type, "data_type", seen_type)), SNO, f"{name}: a reflected domain")
    seen = Table("seen", MetaData(), sqlalchemy.Column("id", SNO))
    connection.execute(insert(seen), {"id": Sno.min(now, 1)})
    same(connection.scalar(select(seen.c.id)), Sno.min(now, 1), f"{name}: an id of a domain")
    same(
        connection.scalar(select(func.count()).where(seen.c.id.in_([Sno.min(now, 1)]))),
        1,
        f"{name}: search in a domain",
    )
    raises(
        exc.IntegrityError,
        lambda: connection.execute(insert(seen), {"id": Sno.min(now, 2)}),
        f"{name}: a domain's check",
    )
    transaction.rollback()


def reflected(connection, name):
    """The database's tables as SQLAlchemy reads them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        orders = Table("orders", MetaData(), autoload_with=connection)
    same(type(orders.c.id.type), SNO, f"{name}: a reflected column")
    same(type(orders.c.related.type), ARRAY, f"{name}: a reflected array")
    same(type(orders.c.related.type.item_type), SNO, f"{name}: and what is in it")
    same(str(orders.c.id.server_default.arg), "sno_generate(2)", f"{name}: a reflected default")
    same(
        inspect(connection).get_foreign_keys("orders")[0]["referred_table"],
        "customers",
        f"{name}: a reflected reference",
    )
    same(
        connection.execute(select(orders.c.customer_id, orders.c.related)).all(),
        [tuple(row) for row in connection.execute(select(Order.customer_id, Order.related))],
        f"{name}: rows of a reflected table",
    )


is_2 = not sqlalchemy.__version__.startswith("1.")
drivers = ["psycopg2"]
if is_2:
    drivers.append("psycopg")
# Statements that insert, as the server sees them.
with own.engine.begin() as connection:
    connection.exec_driver_sql(
        """CREATE SEQUENCE inserts;
        CREATE FUNCTION count_insert() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM nextval(''inserts''); RETURN NULL; END';
        CREATE TRIGGER count AFTER INSERT ON customers EXECUTE FUNCTION count_insert();
        CREATE TRIGGER count AFTER INSERT ON orders EXECUTE FUNCTION count_insert()"""
    )
for driver in drivers:
    engine = create_engine(f"postgresql+{driver}://")
    register(engine)
    with Session(engine) as session:
        keys_of_the_application(session, driver)
    with Session(engine) as session:
        check(session, driver)
        session.add(Order(customer=session.query(Customer).first(), related=[Sno.min(now)]))
        session.commit()
    with engine.connect() as connection:
        reflected(connection, driver)
    with engine.connect() as connection:
        domain(connection, driver)
    engine.dispose()


async def awaited(driver):
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    engine = create_async_engine(f"postgresql+{driver}://")
    register(engine)
    async with AsyncSession(engine) as session:
        await session.run_sync(keys_of_the_application, f"{driver}, awaited")
    async with AsyncSession(engine) as session:
        await session.run_sync(check, f"{driver}, awaited")
    async with engine.connect() as connection:
        await connection.run_sync(reflected, f"{driver}, awaited")
    async with engine.connect() as connection:
        await connection.run_sync(domain, f"{driver}, awaited")
    await engine.dispose()


for driver in "asyncpg", *drivers[1:]:
    asyncio.run(awaited(driver))

# An engine that is not registered does all but arrays, and doesn't read them as characters.
engine = create_engine("postgresql+psycopg2://")
with Session(engine) as session:
    session.execute(text("TRUNCATE customers, orders"))
    ada = Customer(name="Ada")
    session.add(ada)
    session.flush()
    session.execute(text("INSERT INTO orders SELECT sno_generate(2), id, ARRAY[id] FROM customers"))
    same(session.get(Customer, ada.id).name, "Ada", "without register: a key")
    raises(
        ValueError,
        lambda: session.scalars(select(Order.related)).all(),
        "without register: an array raises an error",
    )
engine.dispose()

# The extension comes after the first connection.
engine = create_engine("postgresql+psycopg2://", isolation_level="AUTOCOMMIT")
with engine.connect() as connection:
    connection.execute(text("CREATE DATABASE sqlalchemy_later TEMPLATE template0 ENCODING 'UTF8'"))
engine.dispose()
engine = create_engine("postgresql+psycopg2:///sqlalchemy_later", pool_size=1, max_overflow=0)
register(engine)
with engine.begin() as connection:
    connection.execute(text("CREATE EXTENSION sno"))
with engine.begin() as connection:
    models.Base.metadata.create_all(connection)
with Session(engine) as session:
    ada = Customer(name="Ada")
    session.add(ada)
    session.flush()
    session.add(Order(customer_id=ada.id, related=[ada.id]))
    session.commit()
    same(
        session.scalars(
            select(Order.related).join(Customer).where(Order.id.during(now - hour, None))
        ).all(),
        [[ada.id]],
        "the extension comes later",
    )
with engine.connect() as connection:
    reflected(connection, "later")
engine.dispose()
raises(ImportError, lambda: register(create_engine("sqlite://")), "a driver that has no adapter")

# SQL as it is written.
same(
    str(
        select(Customer.name)
        .where(Customer.id == "brpk4q72xwf2m63l")
        .compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})
    ).split("WHERE ")[1],
    "customers.id = 'brpk4q72xwf2m63l'",
    "literal",
)
raises(ValueError, lambda: Customer.id.during(datetime(2026, 7, 1), None), "a time without a zone")
same(SNO().python_type, Sno, "Python's type")

# The example of README.
example = readme.run("sqlalchemy-use")
same(len(example["recent"]), 2, "README's example")
example["engine"].dispose()
own.engine.dispose()

done()
