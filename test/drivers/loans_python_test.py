# A generator made from the reference in doc/loans.md: many short loans, beside
# sessions of the database.  SNO_LOAN_IDS is the number of ids.

import os
import threading
import time

import psycopg

import recipe
from recipe import EPOCH, Generator, example, from_database
from tap import done, ok, raises, same

HOUR = 900_000
connection = psycopg.connect(autocommit=True)


def value(text, *parameters):
    ((found,),) = connection.execute(text, parameters).fetchall()
    return found


same(
    value("SELECT count(*) FROM sno_catalog.sno_lease WHERE partition = sno_partition(%s)", example("")),
    1,
    "example",
)

# The clock is a variable, and so is the next loan: floor and end.
now = 1000 * HOUR
recipe.clock = lambda: now
following = now - 1, now + HOUR
taken = 0


def source():
    global taken
    taken += 1
    floor, until = following
    return {"partition": [1, taken], "wallHi": floor, "wallSafe": floor}, until


def parts(id):
    """Unit, side, metabyte, partition, sequence."""
    (row,) = connection.execute(
        """SELECT (extract(epoch FROM timestamp) * 250)::bigint - %s, tick_tock::int, meta, partition, sequence
           FROM sno_parts(%s)""",
        [EPOCH, id],
    ).fetchall()
    return row


ids = Generator(source)
same(parts(ids.new(7)), (now, 0, 7, 257, 0), "the first id is after the floor")
same(parts(ids.new(255)), (now, 0, 255, 257, 1), "the next sequence")
now += 5
same(parts(ids.new()), (now, 0, 0, 257, 0), "a later unit")
now -= 3
same(parts(ids.new()), (now, 1, 0, 257, 0), "set back once: the other side")
same(parts(ids.new()), (now, 1, 0, 257, 1), "it goes on there")
now += 1
same(parts(ids.new()), (now, 1, 0, 257, 0), "in later units, too")
now -= 1
following = now - 1, now + HOUR
same(parts(ids.new()), (now, 0, 0, 258, 0), "set back twice: the next loan")
following = now - 1, now + 2 * HOUR
now += HOUR
same(parts(ids.new()), (now, 0, 0, 258, 0), "an id of the last unit")
now += 1
same(parts(ids.new()), (now, 0, 0, 259, 0), "after the end: the loan that was taken early")
same(taken, 3, "no other one was taken")



def one_unit_later():
    global now
    now += 1


def new_meanwhile():
    """A new id, while the clock goes on by one unit."""
    waiter = threading.Timer(0.05, one_unit_later)
    waiter.start()
    id = ids.new()
    waiter.join()
    return parts(id)


for _ in range(65535):
    last = ids.new()
same(parts(last), (now, 0, 0, 259, 65535), "the last sequence")
same(new_meanwhile(), (now, 0, 0, 259, 0), "a unit that is exhausted is waited for")
ids = Generator(source)
following = now, now + HOUR
same(new_meanwhile(), (now, 0, 0, 260, 0), "a clock at the floor, too")

ids = Generator(source)
following = now - 2 * HOUR, now - HOUR
raises(RuntimeError, ids.new, "an error if the clock is ahead of a new loan")
taken = 0
raises(RuntimeError, ids.new, "the next call, too")
same(taken, 0, "without a loan")
ids.failed_at -= 1
following = now + HOUR, now + 2 * HOUR
raises(RuntimeError, ids.new, "an error if the clock is behind a new loan")
ids.failed_at -= 1
following = now - 1, now + HOUR
same(parts(ids.new())[0], now, "it goes on when the clock is right")


def away():
    raise psycopg.OperationalError("no database")


ids.source = away
now += HOUR
same(parts(ids.new())[0], now, "without a database, ids until the end of the loan")
now += 1
raises(psycopg.OperationalError, ids.new, "and then its error")

# Many short loans.
recipe.clock = lambda: time.time_ns() // 4_000_000 - EPOCH
number = int(os.environ.get("SNO_LOAN_IDS", 100_000)) // 4
connection.execute("CREATE TABLE loan (partition int, floor bigint, until bigint)")
connection.execute("CREATE UNLOGGED TABLE made (id sno, borrowed boolean)")
connection.execute("ALTER DATABASE loans_python SET sno.partitions = '0-99'")


def noted():
    snapshot, until = borrow()
    high, low = snapshot["partition"]
    with psycopg.connect(autocommit=True) as session:
        session.execute(
            "INSERT INTO loan VALUES (%s, %s, %s)", [high << 8 | low, snapshot["wallHi"], until]
        )
    return snapshot, until


borrow = from_database("", "100 ms")
ids = Generator(noted)


def make():
    made = []
    while len(made) < number:
        try:
            made.append(ids.new(len(made) % 256))
        except RuntimeError:
            # The machine is so busy that the new loan is over already.
            time.sleep(0.01)
        if len(made) % 50 == 0:
            time.sleep(0.002)
    with psycopg.connect() as session, session.cursor() as cursor:
        with cursor.copy("COPY made FROM STDIN") as copy:
            for id in made:
                copy.write_row([id, True])


def generate():
    while not stop.is_set():
        with psycopg.connect(autocommit=True) as session:
            session.execute(
                "INSERT INTO made SELECT sno_generate(n %% 256), false FROM generate_series(1, %s) AS n", [2000]
            )


stop = threading.Event()
begin = time.monotonic()
threads = [threading.Thread(target=make) for _ in range(4)]
session = threading.Thread(target=generate)
for thread in [session, *threads]:
    thread.start()
for thread in threads:
    thread.join()
seconds = time.monotonic() - begin
stop.set()
session.join()

connection.execute("CREATE INDEX ON loan (partition, until)")
connection.execute("ANALYZE loan")
borrowed = value("SELECT count(*) FROM made WHERE borrowed")
count = value("SELECT count(*) FROM loan")
ok(borrowed == 4 * number and count > 4, f"{borrowed} ids in {count} loans in {seconds:.0f} s")
ok(value("SELECT count(*) FROM made WHERE NOT borrowed") > 2000, "a session made ids meanwhile")
same(value("SELECT count(*) - count(DISTINCT sno_with_meta(id, 0)) FROM made"), 0, "no id came twice")

# Loans of one partition don't overlap.
connection.execute(
    f"""CREATE TABLE checked AS
        SELECT borrowed, coalesce(unit > floor, false) AS within
        FROM made, LATERAL (SELECT (extract(epoch FROM sno_timestamp(id)) * 250)::bigint - {EPOCH}) AS u (unit)
        LEFT JOIN LATERAL (
            SELECT floor FROM loan
            WHERE partition = sno_partition(id) AND until >= unit
            ORDER BY until LIMIT 1) AS l ON true"""
)
same(value("SELECT count(*) FROM checked WHERE borrowed AND NOT within"), 0, "no id is outside of its loan")
same(value("SELECT count(*) FROM checked WHERE NOT borrowed AND within"), 0, "no session issued within a loan")

connection.close()
done()
