# Ids that applications make, with a database: loans and blocks, and the rows with their ids.

import pathlib
import threading
import time
from datetime import datetime, timedelta, timezone

import psycopg
from psycopg import errors

from readme import run
from sno import Sno
from sno.generator import Generator, OutOfIds, blocks, loans
from sno.psycopg import register
from tap import done, ok, raises, same

MS = timedelta(milliseconds=1)
connection = psycopg.connect(autocommit=True)
register(connection)
Generator.__init__.__kwdefaults__["wait"] = 180  # seconds, for a busy machine


def value(text, *parameters):
    ((found,),) = connection.execute(text, parameters).fetchall()
    return found


def query_as(role):
    def query(sql):
        with psycopg.connect(autocommit=True, options=f"-c role={role}") as other:
            return other.execute(sql).fetchall()

    return query


def cause(action):
    """What the source raised."""
    try:
        return action()
    except OutOfIds as error:
        return type(error.__cause__)


# The examples of README.
example = run("ids")
query, ids, ada = (example[name] for name in ("query", "ids", "ada"))
same((type(ada), ada.meta), (Sno, 1), "README's example")
leases = "SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = %s"
same(value(leases, ada.parts.partition), 1, "its partition is lent")
now = datetime.now(timezone.utc)
ok(abs(ada.timestamp - now) < timedelta(minutes=1), "the time of the id", ada.timestamp)
ok(timedelta(minutes=50) < ids.stats().until - now <= timedelta(hours=1), "for an hour", ids.stats())
ids.ready(now + timedelta(minutes=50))
raises(ValueError, lambda: ids.ready(now + timedelta(hours=2)), "and not longer")
ids.close()
example = run("blocks", query=query)
orders, order = example["orders"], example["order"]
same((type(order), order.meta, orders.stats().taken), (Sno, 2, 2), "README's example of blocks")
made = [order] + [orders.next() for _ in range(999)]
same((len(set(made)), {id.meta for id in made}), (1000, {2}), "ids of blocks")
orders.close()

connection.execute(
    """CREATE ROLE python_service;
    CREATE FUNCTION service_loan(OUT snapshot jsonb, OUT until timestamptz)
    LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC
        SELECT * FROM sno_borrow_partition('1 hour', 64);
    END"""
)
as_service = query_as("python_service")
same(cause(Generator(loans(as_service)).next), errors.InsufficientPrivilege, "a role without the right: 42501")
same(run("service", query=as_service)["ids"].next(7).meta, 7, "README's example of a service")
same(Generator(blocks(as_service, 3, 5)).next().meta, 5, "a role without the right may have blocks")

# Blocks of sno_portable, where the extension can't be installed: inserted as uuids
script = pathlib.Path(__file__).parents[3] / "portable/sno_portable--0.9.sql"


def portable(sql):
    with psycopg.connect(options="-c search_path=sno,pg_catalog,public") as other:
        return other.execute(sql).fetchall()


with connection.transaction():
    connection.execute(script.read_text())
    connection.execute("CREATE TABLE portable_document (id uuid PRIMARY KEY DEFAULT sno.sno_generate_uuidv8())")
ids = Generator(blocks(portable, 500, 4))
made = [ids.next() for _ in range(700)]
ids.close()
same((len(set(made)), {id.meta for id in made}), (700, {4}), "ids of sno_portable")
with connection.cursor() as cursor:
    cursor.executemany("INSERT INTO portable_document VALUES (%s)", [(id.uuid8,) for id in made])
texts = portable("SELECT sno_from_uuidv8(id)::text FROM portable_document ORDER BY id")
same([text for (text,) in texts], sorted(map(str, made)), "they are the same in the database")

# Slices: programs share a partition, each with sequences of its own.
taken = []


def noted(source):
    def take():
        loan = source()
        taken.append(loan)
        return loan

    return take


generators = [Generator(noted(loans(query, sequences=64))) for _ in range(2)]
made = [id for generator in generators for id in [generator.next() for _ in range(200)]]
same(len(set(made)), 400, "slices: no id comes twice")
same(len({(loan.partition, loan.first) for loan in taken}), 2, "each has a slice of its own")
ok(
    all(
        any(
            loan.partition == id.parts.partition and loan.first <= id.parts.sequence <= loan.last == loan.first + 63
            for loan in taken
        )
        for id in made
    ),
    "the ids are within the slices",
)
for generator in generators:
    generator.close()

# Many short loans, beside sessions of the database.
connection.execute("ALTER DATABASE python_generator SET sno.partitions = '0-99'")
connection.execute("CREATE UNLOGGED TABLE made (id sno, borrowed boolean)")
taken.clear()


def short_loans(sequences):
    """Of 100 ms, or longer if the machine is so busy that a loan was over when it came."""
    source = noted(lambda: loans(query, 100 * MS * 2 ** ids.stats().failed, sequences)())
    ids = Generator(source)
    return ids


short = [short_loans(sequences) for sequences in (65536, 64)]


def make(ids):
    made = []
    while len(taken) < 30 or len(made) < 300:
        try:
            made.append(ids.next(len(made) % 256))
        except OutOfIds as error:
            if "came too late" not in str(error):
                raise
            time.sleep(0.01)
        if len(made) % 50 == 0:
            time.sleep(0.002)
    with psycopg.connect() as session, session.cursor() as cursor:
        with cursor.copy("COPY made FROM STDIN") as copy:
            for id in made:
                copy.write_row([id, True])


def generate():
    with psycopg.connect(autocommit=True) as session:
        while True:
            session.execute(
                "INSERT INTO made SELECT sno_generate(n % 256), false FROM generate_series(1, 1000) AS n"
            )
            if stop.is_set():
                return


stop = threading.Event()
threads = [threading.Thread(target=make, args=[ids]) for ids in short * 2]
session = threading.Thread(target=generate)
for thread in [session, *threads]:
    thread.start()
for thread in threads:
    thread.join()
stop.set()
session.join()
for ids in short:
    ids.close()

by_partition = {}
for loan in taken:
    by_partition.setdefault(loan.partition, []).append(loan)


def within(id):
    """Is the id in a loan?"""
    bits = int.from_bytes(bytes(id), "big")
    unit, sequence = bits >> 41, bits & 65535
    return any(
        loan.floor < unit <= loan.until and loan.first <= sequence <= loan.last
        for loan in by_partition.get(bits >> 16 & 65535, [])
    )


made = connection.execute("SELECT id, borrowed FROM made").fetchall()
lent = [within(id) for id, borrowed in made if borrowed]
others = [within(id) for id, borrowed in made if not borrowed]
ok(len(lent) > 1000, f"{len(lent)} ids in {len(taken)} short loans")
ok(len(others) >= 1000, "a session made ids meanwhile")
same(len({id._bits() & ~(255 << 32) for id, _ in made}), len(made), "no id comes twice")
ok(all(lent), "no id is outside of its loan")
ok(not any(others), "no session issued within one")

connection.close()
done()
