# PYTHONPATH=clients/python python3 clients/python/test/bench_flush.py
#
# Prints how many seconds SQLAlchemy takes for a flush of 10,000 rows and 10,000 children:
# with keys that the server makes, and with keys of a loan or of blocks that the application
# made.  Medians of 5 rounds, in turn.  PGHOST and its like name a server with the extension.

import time
from statistics import median

import sqlalchemy
from sqlalchemy import Column, ForeignKey, Text, create_engine, text
from sqlalchemy.orm import Session, declarative_base, relationship

from sno.generator import Generator, blocks, loans
from sno.sqlalchemy import SNO, register

ROWS = 10_000
engine = create_engine("postgresql+psycopg2://")
register(engine)


def query(sql):
    with engine.begin() as connection:
        return connection.exec_driver_sql(sql).fetchall()


def models(keys):
    base = declarative_base()

    class Parent(base):
        __tablename__ = "bench_parent"
        id = Column(SNO, primary_key=True, **keys)
        name = Column(Text, nullable=False)

    class Child(base):
        __tablename__ = "bench_child"
        id = Column(SNO, primary_key=True, **keys)
        parent_id = Column(SNO, ForeignKey("bench_parent.id"), nullable=False)
        parent = relationship(Parent)

    return base, Parent, Child


ways = {
    "DEFAULT": models({"server_default": text("sno_generate(1)")}),
    "loan": models({"default": Generator(loans(query)).next}),
    "blocks": models({"default": Generator(blocks(query)).next}),
}
rounds = {way: [] for way in ways}
for _ in range(5):
    for way, (base, parent, child) in ways.items():
        base.metadata.drop_all(engine)
        base.metadata.create_all(engine)
        with Session(engine) as session:
            session.add_all(child(parent=parent(name=str(n))) for n in range(ROWS))
            begin = time.perf_counter()
            session.flush()
            rounds[way].append(time.perf_counter() - begin)
            session.commit()
    base.metadata.drop_all(engine)
print(f"SQLAlchemy {sqlalchemy.__version__}:", ", ".join(f"{way} {median(times):.2f} s" for way, times in rounds.items()))
