# make_ids.py FILE SECONDS
#
# Makes ids in two processes of four threads each, and appends to FILE which loans were
# taken and which ids were made.  PGHOST and its like name the server.  It may be killed
# at any time: each write has whole lines, and a loan is written before its first id.
#
#	loan PID PARTITION FLOOR FIRST LAST UNTIL
#	id PID TEXT			an id of a loan
#	made PID TEXT		an id of a block
#
# MAKE_IDS_DURATION is how many milliseconds a loan lasts, MAKE_IDS_SEQUENCES how many
# sequences it has.  If the machine is so busy that a loan comes too late, later ones are longer.

import os
import sys
import time
from datetime import timedelta
from threading import Thread

import psycopg

from sno.generator import Generator, OutOfIds, blocks, loans

DURATION = int(os.environ.get("MAKE_IDS_DURATION", 100))
SEQUENCES = int(os.environ.get("MAKE_IDS_SEQUENCES", 64))
THREADS = 4
BATCH = 50
PAUSE = 0.1  # so a thread makes up to 500 ids a second
LIFE = 1.0  # seconds until the next generator

file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
end = time.monotonic() + float(sys.argv[2])
refused = {}


def write(*lines):
    text = "".join(f"{line}\n" for line in lines).encode()
    if os.write(file, text) != len(text):
        raise OSError("a write was cut short")


def query(sql):
    with psycopg.connect(autocommit=True, connect_timeout=5) as connection:
        return connection.execute(sql).fetchall()


late = 0  # how often the duration is doubled


def noted(borrow):
    def source():
        loan = borrow()
        write(f"loan {os.getpid()} {loan.partition} {loan.floor} {loan.first} {loan.last} {loan.until}")
        return loan

    return source


def borrowing():
    return Generator(noted(loans(query, timedelta(milliseconds=DURATION << late), SEQUENCES)))


def generators():
    """Each with what the lines of its ids begin with. Every tenth has blocks."""
    number = 0
    while True:
        number += 1
        yield ("id", borrowing()) if number % 10 else ("made", Generator(blocks(query, 200)))


def make(holder):
    global late
    number = 0
    while time.monotonic() < end:
        what, ids = holder[0]
        seen = late
        lines = []
        pause = PAUSE
        while len(lines) < BATCH:
            try:
                number += 1
                lines.append(f"{what} {os.getpid()} {ids.next(number % 256 if what == 'id' else 0)}")
            except OutOfIds as error:
                if "came too late" in str(error) and seen == late < 20:
                    late += 1
                refused[error.reason] = refused.get(error.reason, 0) + 1
                pause = 0.01
                break
        write(*lines)
        time.sleep(pause)


def run(holder, forks):
    """Make ids in threads. Replace the generator again and again. Return when time is over."""
    threads = [Thread(target=make, args=[holder]) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    child = None
    while time.monotonic() < end:
        time.sleep(LIFE)
        if forks and child is None:
            # The child goes on with the generator that the threads here are using.
            child = os.fork()
            if child == 0:
                run(list(holder), False)
                os._exit(0)
        _, old = holder[0]
        holder[0] = next(new)
        old.close()
    for thread in threads:
        thread.join()
    print(f"{os.getpid()}: out of ids: {refused}", file=sys.stderr)
    return child


new = generators()
child = run([next(new)], True)
if child is not None and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
    raise SystemExit("the child failed")
