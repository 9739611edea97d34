# Keys of type bigint, by the drivers and by SQLAlchemy alone: doc/drivers.md, "Keys of type
# bigint".

import asyncio
import json
import os

import asyncpg
import psycopg
import psycopg2
import sqlalchemy
from sqlalchemy import BigInteger, Column, ForeignKey, Text, create_engine, func, inspect, select, text
from sqlalchemy.orm import Session, declarative_base, relationship

from tap import done, same

# No float is this number.
ODD = 2**53 + 1

with psycopg2.connect("") as connection, connection.cursor() as cursor:
    with open(os.environ["CLIENTS"] + "/bigint.sql") as file:
        cursor.execute(file.read())


def check(name, value):
    """By a function that runs SQL with one parameter, and returns the first value."""
    ada = value("INSERT INTO people (name) VALUES (%s) RETURNING id", "Ada")
    same(type(ada), int, f"{name}: a new key")
    same(value("SELECT name FROM people WHERE id = %s", ada), "Ada", f"{name}: found by its key")
    same(value("SELECT name FROM people WHERE id = ANY (%s)", [ada, ODD]), "Ada", f"{name}: by a list of keys")
    letter = value("INSERT INTO letters (person_id) VALUES (%s) RETURNING id", ada)
    same(
        value("SELECT l.id FROM letters AS l JOIN people AS p ON p.id = person_id WHERE name = %s", "Ada"),
        letter,
        f"{name}: a join",
    )
    for key in ODD, 2**63 - 1:
        same(value("INSERT INTO people VALUES (%s, 'last') RETURNING id", key), key, f"{name}: {key}, there and back")
    found = value("SELECT row_to_json(p) FROM people AS p WHERE id = %s", ODD)
    found = json.loads(found) if isinstance(found, str) else found
    same(found["id"], ODD, f"{name}: a number in JSON is exact")
    value("DELETE FROM letters WHERE id = %s RETURNING 1", letter)
    value("WITH gone AS (DELETE FROM people RETURNING id) SELECT count(*) + %s FROM gone", 0)


def by(driver):
    with driver.connect("") as connection, connection.cursor() as cursor:

        def value(sql, parameter):
            cursor.execute(sql, [parameter])
            return cursor.fetchone()[0]

        check(driver.__name__, value)


by(psycopg2)
by(psycopg)
loop = asyncio.new_event_loop()
connection = loop.run_until_complete(asyncpg.connect())
check(
    "asyncpg",
    lambda sql, parameter: loop.run_until_complete(connection.fetchval(sql.replace("%s", "$1"), parameter)),
)
loop.run_until_complete(connection.close())
loop.close()

# SQLAlchemy
Base = declarative_base()


class Person(Base):
    __tablename__ = "people"
    id = Column(BigInteger, primary_key=True, server_default=text("sno_flake_generate('people')"))
    name = Column(Text, nullable=False)


class Letter(Base):
    __tablename__ = "letters"
    id = Column(BigInteger, primary_key=True, server_default=text("sno_flake_generate('letters')"))
    person_id = Column(BigInteger, ForeignKey("people.id"), nullable=False)
    person = relationship(Person)


def columns(engine):
    """The tables as the database has them."""
    with engine.connect() as connection:
        return [
            (str(column["type"]), column["nullable"], column["default"], inspect(connection).get_foreign_keys(table))
            for table in ("people", "letters")
            for column in inspect(connection).get_columns(table)
        ]


drivers = ["psycopg2"]
if not sqlalchemy.__version__.startswith("1."):
    drivers.append("psycopg")
for driver in drivers:
    name = f"SQLAlchemy, {driver}"
    engine = create_engine(f"postgresql+{driver}://")
    wanted = columns(engine)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    same(columns(engine), wanted, f"{name}: makes the tables")
    with Session(engine) as session:
        ada = Person(name="Ada")
        session.add(ada)
        session.flush()
        same(type(ada.id), int, f"{name}: a new key")
        many = [Person(name=str(n)) for n in range(100)]
        session.add_all(many)
        session.add(Letter(person=ada))
        session.add(Person(id=ODD, name="odd"))
        session.commit()
        same(
            [person.name for person in many],
            [session.scalar(select(Person.name).where(Person.id == person.id)) for person in many],
            f"{name}: many objects get their own keys",
        )
        session.expire_all()
        same(session.get(Person, ODD).id, ODD, f"{name}: an exact key, there and back")
        found = select(func.count()).select_from(Person).where(Person.id.in_([ada.id, ODD]))
        same(session.scalar(found), 2, f"{name}: found by a list of keys")
        letter = session.scalars(select(Letter).join(Person).where(Person.name == "Ada")).one()
        same((letter.person_id, letter.person), (ada.id, ada), f"{name}: a reference")
    engine.dispose()

done()
