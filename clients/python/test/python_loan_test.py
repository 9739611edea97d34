# Ids that applications make, without a database: the cases of test/vectors/loans.tsv, and
# generators with a clock and a source of the test's own.

import ctypes
import os
import pickle
import signal
import threading
import time as clock
import warnings
from datetime import datetime, timedelta

from sno import Sno, generator, time_of
from sno.generator import Block, Generator, Loan, OutOfIds, Source, Stats, blocks, loans
from tap import done, ok, raises, same

# The shared cases.
cases = []
with open(os.environ["CLIENTS"] + "/../test/vectors/loans.tsv") as file:
    for line in file:
        what, *fields = line.rstrip("\n").split("\t")
        if what == "loan":
            cases.append((fields[0], [int(field) for field in fields[1:]], []))
        elif what == "read":
            *numbers, wanted = fields
            cases[-1][2].append((*map(int, numbers), wanted))


def mismatch(numbers, reads):
    """The first read that has another outcome, and this outcome; or None."""
    loan = Loan(*numbers)
    for unit, meta, times, wanted in reads:
        *ids, seen = (loan.next(unit, meta) for _ in range(times))
        if (seen, isinstance(seen, Sno)) != (wanted, len(wanted) == 16) or not all(
            isinstance(id, Sno) for id in ids
        ):
            return unit, meta, times, wanted, seen
    return None


ok(len(cases) > 15, "cases")
for name, numbers, reads in cases:
    same(mismatch(numbers, reads), None, name)
    for place, (*read, wanted) in enumerate(reads):
        planted = (*read, "over" if wanted != "over" else "2" * 16)
        found = mismatch(numbers, [*reads[:place], planted, *reads[place + 1 :]])
        ok(found == (*planted, wanted), f"a mistake in read {place + 1} is found", found)

B, HOUR = 133_331_580_000, 900_000
for wrong in (
    (-1, B, 0, 65535, B + 1),
    (65536, B, 0, 65535, B + 1),
    (0, -1, 0, 65535, B + 1),
    (0, B, 1, 0, B + 1),
    (0, B, 0, 65536, B + 1),
    (0, B, -1, 65535, B + 1),
    (0, B, 0, 65535, B - 1),
    (0, B, 0, 65535, 1 << 39),
):
    raises(ValueError, lambda: Loan(*wrong), f"no loan: {wrong}")
raises(TypeError, lambda: Loan(0, B, 0.0, 65535, B + 1), "numbers are whole")
loan = Loan(0, B, 0, 65535, B + HOUR)
for wrong, error in (-1, ValueError), (256, ValueError), ("1", TypeError), (1.5, TypeError), ([], TypeError):
    raises(error, lambda: loan.next(B + 1, wrong), f"no metabyte: {wrong!r}")
same(loan.next(B + 1).parts.sequence, 0, "a wrong metabyte uses no sequence")
same(loan.next(B + 1).meta, 0, "the metabyte is 0 unless it is given")


# Generators: time stands still unless the test moves it.
class Time:
    """The unit of the clock, and by how much a look at it moves it; seconds of the other clock."""

    unit, step, jumps, seconds = B, 0, [], 0.0

    def time_ns(self):
        self.unit += self.jumps.pop(0) if self.jumps else self.step
        return (self.unit + generator._UNIX) * 4_000_000

    def monotonic(self):
        return self.seconds


time = Time()
generator.time_ns, generator.monotonic = time.time_ns, time.monotonic


class Given:
    """A source: each time it is called, it gives the next of what it has, or does it. The
    last one stays."""

    def __init__(self, *what):
        self.what, self.calls, self.threads = list(what), 0, set()

    def __call__(self):
        self.calls += 1
        self.threads.add(threading.current_thread())
        what = self.what[0] if len(self.what) == 1 else self.what.pop(0)
        if isinstance(what, Exception):
            raise what
        return what()


partitions = iter(range(1, 65536))


def lend(length=HOUR, floor=-1, last=65535):
    """A loan that begins a unit after the floor, which is counted from now on."""
    unit = time.unit
    return Loan(next(partitions), unit + floor, 0, last, unit + length)


def settle(ids):
    """Wait until no attempt is under way."""
    attempt = ids._state.attempt
    if attempt is not None:
        attempt.join()


def out(ids, *arguments):
    """The error of next()."""
    try:
        return repr(ids.next(*arguments))
    except OutOfIds as error:
        return error


def unit(id):
    return id._bits() >> 41


away = ConnectionError("no database")

# A loan, and the next one.
gate = threading.Event()
source = Given(lambda: lend(100), lambda: gate.wait() and lend(100))
ids = Generator(source)
same((source.calls, ids.stats()), (0, Stats(0, 0, 0, None, None)), "the constructor takes nothing")
first = ids.next(7)
same((unit(first), first.meta, type(first)), (time.unit, 7, Sno), "an id")
same(ids.stats(), Stats(1, 1, 0, time_of(time.unit + 100), None), "stats")
begin = time.unit
time.unit += 49
ids.next()
same(source.calls, 1, "before half of the loan: no other one is taken")
time.unit += 1
for _ in range(9):
    ids.next()
same(ids._state.attempt.daemon, True, "an attempt doesn't keep the program from ending")
gate.set()
settle(ids)
for _ in range(9):
    ids.next()
same(source.calls, 2, "from half of it on, one is taken, once")
ok(threading.current_thread() not in source.threads, "in the background")
time.unit += 50
last = ids.next()
same(last.parts.partition, first.parts.partition, "the last unit of the loan")
time.unit += 1
spare = ids.next()
ok(spare.parts.partition != last.parts.partition and unit(spare) == time.unit, "then the spare is used")
same(unit(spare) - begin, 101, "in the next unit")
settle(ids)
same(source.calls, 3, "of which half has passed")
time.unit += 10 * HOUR
source.what = [lambda: lend(100)]
ok(unit(ids.next()) == time.unit, "an idle program: both are over, and the next one is taken")
same((source.calls, ids.stats().taken, ids.stats().failed), (4, 4, 0), "nothing of that is a failure")
ids.close()

# The database goes away, and comes back.
source = Given(lambda: lend(HOUR), away)
ids = Generator(source)
ids.next()
settle(ids)
time.unit += HOUR // 2
tries = []
for second in range(200):
    time.seconds += 1
    ids.next()
    settle(ids)
    if source.calls > len(tries) + 1:
        tries.append(second)
same(
    [after - before for before, after in zip(tries, tries[1:])],
    [1, 2, 4, 8, 16, 32, 60, 60],
    "pauses between failures: doubled up to a minute",
)
same(ids.stats().failed, 9, "stats: failures")
same(ids.stats().reason, "ConnectionError: no database", "and the reason of the last one")
time.unit += HOUR // 2
same(unit(ids.next()), time.unit, "ids up to the end of the loan")
end = time_of(time.unit)
time.unit += 1
calls = source.calls
error = out(ids)
same((error.reason, error.until, error.__cause__), ("over", end, away), "then OutOfIds, with the cause")
same(
    str(error),
    f"out of ids: the loan is until {end}: ConnectionError: no database",
    "it says so",
)
same(source.calls, calls, "at once, within the pause")
again = pickle.loads(pickle.dumps(error))
same((str(again), again.reason, again.until), (str(error), "over", end), "pickled")
time.seconds += 60
same(out(ids).__cause__, away, "after the pause there is another attempt")
same(source.calls, calls + 1, "one")
source.what = [lambda: lend(100), away]
time.seconds += 59.9
same(out(ids).__cause__, away, "within the pause there is none")
time.seconds += 0.1
same(unit(ids.next()), time.unit, "the database is back, and so are ids")
same(ids.stats().reason, "ConnectionError: no database", "the reason of the last failure is kept")
time.unit += 101
same(out(ids).__cause__, away, "it is away again")
calls = source.calls
time.seconds += 0.9
out(ids)
same(source.calls, calls, "after a success the first pause is a second again")
time.seconds += 0.1
out(ids)
same(source.calls, calls + 1, "and no longer")
raises(OutOfIds, ids.ready, "ready() says that, too")
same(source.calls, calls + 1, "at once")
ids.close()

# A source that hangs.
gate.clear()
source = Given(lambda: gate.wait() and lend())
ids = Generator(source, wait=0)
for _ in 1, 2:
    error = out(ids)
    same((error.reason, error.until, error.__cause__), ("over", None, None), "a source that hangs")
same(str(error), "out of ids: the source gave no other in time", "the error says so")
raises(OutOfIds, ids.ready, "ready() doesn't wait for ever either")
same(source.calls, 1, "one attempt is under way at a time")
gate.set()
settle(ids)
same(unit(ids.next()), time.unit, "it goes on when the loan comes")
gate.clear()
ids.close()
closing = Generator(source, wait=0)
out(closing)
attempt = closing._state.attempt
closing.close()
gate.set()
attempt.join()
same(out(closing).reason, "closed", "closed during an attempt")
same((closing._state.spare, closing.stats().taken), (None, 0), "what comes later is dropped")
gate.clear()
asked = threading.Event()
source = Given(lambda: asked.set() or gate.wait() and lend())
closing = Generator(source)
errors = []
waiting = [threading.Thread(target=lambda: errors.append(out(closing))) for _ in range(3)]
for thread in waiting:
    thread.start()
asked.wait()
other = threading.Thread(target=closing.close)
other.start()
for thread in waiting:
    thread.join()
same([error.reason for error in errors], ["closed"] * 3, "closed while threads wait")
gate.set()
other.join()
same(threading.active_count(), 1, "no thread is left")
closing = Generator(Given(lambda: closing.close() or lend()))
same(out(closing).reason, "closed", "the source itself closes it")

# Sources that raise, or give nonsense.
for what, cause in (
    (lambda: None, TypeError),
    (lambda: Sno("2" * 16), TypeError),
    (lambda: Block([], 0), ValueError),
    (lambda: {}["key"], KeyError),
    (lambda: exit(1), SystemExit),
):
    ids = Generator(Given(what))
    error = out(ids)
    same((error.reason, type(error.__cause__)), ("over", cause), f"a source with {cause.__name__}")
    ids.close()
start = threading.Thread.start


def no_thread(thread):
    raise RuntimeError("can't start new thread")


threading.Thread.start = no_thread
ids = Generator(Given(lend))
same(type(out(ids).__cause__), RuntimeError, "no thread can be started")
threading.Thread.start = start
time.seconds += 1
same(unit(ids.next()), time.unit, "it goes on when there is one")

# The clock and a fresh loan.
for what, loan in (
    ("ahead of", lambda: lend(-1, -100)),
    ("behind", lambda: lend(HOUR, 251)),
    ("too slow for", lambda: (lend(0, -2), setattr(time, "unit", time.unit + 1))[0]),
):
    late = what == "too slow for"
    source = Given(loan, lend)
    ids = Generator(source)
    error = out(ids)
    same(error.reason, "over" if late else "clock", f"the {'source' if late else 'clock'} is {what} a fresh loan")
    ok(("came too late" if late else "is not within the new loan") in str(error), "it says so")
    ok(str(error.__cause__) in str(error), "with the cause")
    same((ids.stats().failed, ids.stats().taken), (1, 0), "a failure")
    same(ids.stats().reason, str(error.__cause__), "with that reason")
    same((out(ids).reason, source.calls), (error.reason, 1), "which makes a pause")
    time.seconds += 1
    same(unit(ids.next()), time.unit, "and then the next loan is good")
time.jumps = [0, 0, 0, 251]
same(
    (unit(Generator(Given(lambda: lend(HOUR, 250))).next()), time.jumps),
    (time.unit, []),
    "the clock is a second behind the floor: it is waited for",
)


# The clock is set, or time goes by, between the check of the new loan and the first id.
for by, reason in (-300, "clock"), (101, "over"):
    source = Given(lambda: lend(100), lend)
    ids = Generator(source)
    time.jumps = [0, 0, 0, 0, by]
    same((out(ids).reason, source.calls), (reason, 1), f"{by} units after a loan was taken")
    same(ids.stats().failed, 1, "a failure")
    time.seconds += 1
    same(unit(ids.next()), time.unit, "and then the next loan is good")
before = time.unit
time.jumps, time.step = [0, 0, 0, 0, -1], 1
ok(unit(Generator(Given(lend)).next()) > before - 1, "the clock is set back to the floor of a loan that was just taken")
time.jumps, time.step = [], 0

# The clock is set back.
source = Given(lend)
ids = Generator(source)
one = ids.next()
time.unit += 50
ids.next()
time.unit -= 30
other = ids.next()
same((other.parts.tick_tock, other.parts.partition), (True, one.parts.partition), "set back: the other side")
source.what = [lambda: lend(HOUR, -200)]
time.unit -= 10
third = ids.next()
ok(unit(third) == time.unit and third.parts.partition != one.parts.partition, "set back twice: the next loan")
same((source.calls, ids.stats().failed), (2, 0), "without a failure")

# A unit that is exhausted.
ids = Generator(Given(lambda: lend(last=3)))
made = [ids.next() for _ in range(4)]
same({unit(id) for id in made}, {time.unit}, "four sequences")
time.step = 1
ok(unit(ids.next()) > unit(made[-1]), "then the next unit is waited for")
time.step = 0

# Blocks.


def block(count=4, meta=1):
    loan = lend()
    return Block([loan.next(time.unit, meta) for _ in range(count)], meta)


def block_source(*what, count=4):
    given = Given(*what)
    source = Source(given, count, 1)
    source.given = given
    return source


source = block_source(block)
ids = Generator(source)
for meta in 0, 2:
    raises(ValueError, lambda: ids.next(meta), f"another metabyte than that of the block: {meta}")
same(source.given.calls, 0, "is refused before a block is taken")
made = [ids.next()]
same((made[0].meta, source.given.calls), (1, 1), "an id of a block has its metabyte")
raises(ValueError, lambda: ids.next(0), "another metabyte")
raises(ValueError, lambda: ids.next(256), "no metabyte")
made.append(ids.next(1))
settle(ids)
same(source.given.calls, 2, "half of the ids is used: the next block is taken")
made += [ids.next(), ids.next()]
settle(ids)
same(source.given.calls, 2, "once")
same(made, sorted(made), "ids of a block are in its order")
source.given.what = [away]
made += [ids.next() for _ in range(4)]
settle(ids)
error = out(ids)
same((error.reason, error.until, error.__cause__), ("over", None, away), "without a database, all ids are used")
same((len(set(made)), ids.stats()), (8, Stats(8, 2, 1, None, "ConnectionError: no database")), "each once")
time.seconds += 1
source.given.what = [lambda: block(1)]
made = [ids.next() for _ in range(20)]
same((len(set(made)), ids.stats().issued), (20, 28), "blocks of one id")

# ready().


def at(units):
    return time_of(time.unit + units)


source = Given(lambda: lend(100))
with Generator(source) as ids:
    ids.ready()
    ids.ready(at(100))
    ids.ready(at(-HOUR), 1000)
    same((source.calls, ids.stats().issued), (1, 0), "ready")
    raises(ValueError, lambda: ids.ready(at(101)), "no loan lasts so long")
    same(source.calls, 2, "that was tried once")
    time.unit += 10
    ids.ready(at(95))
    same(source.calls, 3, "the loans that are here end before: the next one is taken")
    ids.ready(at(100))
    ids.ready(at(91))
    same(source.calls, 3, "a spare lasts long enough")
    same(ids.next().parts.partition, ids._state.supply.partition, "the present loan goes on")
    time.unit += 101
    ids.ready()
    same(source.calls, 4, "both are over")
    source.what = [away]
    raises(OutOfIds, lambda: ids.ready(at(101)), "the database is away")
    ids.ready(at(100))
    for wrong in 0, -1:
        raises(ValueError, lambda: ids.ready(count=wrong), f"no number of ids: {wrong}")
    raises(TypeError, lambda: ids.ready(count="1"), "no number of ids: a text")
    raises(ValueError, lambda: ids.ready(datetime(2026, 7, 1)), "a time without a zone")
raises(OutOfIds, ids.ready, "closed")
same((out(ids).reason, str(out(ids))), ("closed", "the generator of ids is closed"), "closed: next()")
same(ids.stats()[3:], (None, "ConnectionError: no database"), "closed: stats()")
ids.close()
for by, reason in (-300, "clock"), (101, "over"):
    ids = Generator(Given(lambda: lend(100)))
    time.jumps = [0, 0, 0, by]
    try:
        ids.ready()
    except OutOfIds as error:
        same(error.reason, reason, f"{by} units go by while ready() waits")
    same(time.jumps, [], "so they did")

source = block_source(block)
ids = Generator(source)
ids.ready(count=4)
same(source.given.calls, 1, "ready with a block")
ids.ready(count=8)
same(source.given.calls, 2, "with its spare")
made = [ids.next() for _ in range(3)]
settle(ids)
ids.ready(count=8)
same(source.given.calls, 3, "what is left of a block is used, too")
made += [ids.next() for _ in range(9)]
same(len(set(made)), 12, "each id once")
raises(ValueError, lambda: ids.ready(count=9), "so many ids aren't fetched ahead")
ids.ready(at(10 * HOUR))
ids.close()

# Bad arguments.


def never(sql):
    raise AssertionError(sql)


ms = timedelta(milliseconds=1)
for wrong in (
    dict(duration=3.9 * ms),
    dict(duration=-ms),
    dict(sequences=0),
    dict(sequences=65537),
    dict(call="service_loan()", duration=timedelta(hours=1)),
    dict(call="service_loan()", sequences=65536),
):
    raises(ValueError, lambda: loans(never, **wrong), f"loans: {wrong}")
for wrong in dict(duration=3600), dict(duration="1 hour"), dict(sequences="64"), dict(sequences=64.0):
    raises(TypeError, lambda: loans(never, **wrong), f"loans: {wrong}")
for wrong in dict(count=0), dict(count=65537), dict(meta=-1), dict(meta=256):
    raises(ValueError, lambda: blocks(never, **wrong), f"blocks: {wrong}")
for wrong in dict(count="1"), dict(meta=1.0):
    raises(TypeError, lambda: blocks(never, **wrong), f"blocks: {wrong}")
for wrong in -1, float("inf"), float("nan"):
    raises(ValueError, lambda: Generator(never, wait=wrong), f"wait: {wrong}")
ids = Generator(Given(away))
for meta in -1, 256:
    raises(ValueError, lambda: ids.next(meta), f"no metabyte: {meta}")
same(ids.stats().failed, 0, "that is found before a loan is taken")

# What a database returns.
SNAPSHOT = (
    '{"now": 9, "drifts": 0, "wallHi": 5, "sequence": 63, "wallSafe": 6, '
    '"partition": [1, 44], "sequenceMax": 63, "sequenceMin": 1}'
)
asked = []


def answer(*rows):
    def query(sql):
        asked.append(sql)
        return rows

    return query


for row in (
    (SNAPSHOT, "70"),
    [SNAPSHOT.encode(), b"70"],
    {"snapshot": SNAPSHOT, "until": "70"},
):
    loan = loans(answer(row))()
    same(
        (loan.partition, loan.floor, loan.first, loan.last, loan.until),
        (300, 6, 1, 63, 70),
        f"a loan in a {type(row).__name__}",
    )
loans(answer((SNAPSHOT, "70")), 1.5 * timedelta(seconds=1) + 0.9 * ms, 64)()
loans(answer((SNAPSHOT, "70")), call="service_loan('1 hour')")()
same(
    [sql.split(" FROM ")[-1] for sql in asked[-3:]],
    [
        "sno_borrow_partition('3600000 milliseconds', 65536)",
        "sno_borrow_partition('1500 milliseconds', 64)",
        "service_loan('1 hour')",
    ],
    "how it asks",
)
for wrong in (
    (),
    ((SNAPSHOT, "70"), (SNAPSHOT, "70")),
    ((SNAPSHOT,),),
    (("{}", "70"),),
    (("[]", "70"),),
    (("null", "70"),),
    ((None, "70"),),
    ((SNAPSHOT, None),),
    ((SNAPSHOT, "soon"),),
    ((SNAPSHOT, "6"),),
    (("not JSON", "70"),),
    *(
        ((SNAPSHOT.replace(*change), "70"),)
        for change in (
            ("wallHi", "wall"),
            ("wallSafe", "wall"),
            ("sequenceMin", "min"),
            ("sequenceMax", "max"),
            ("partition", "p"),
            ("[1, 44]", "[1]"),
            ("[1, 44]", "[1, 256]"),
            ("[1, 44]", "300"),
            ("[1, 44]", "[1, null]"),
            ("Min\": 1", "Min\": 64"),
            ("Min\": 1", "Min\": 1.5"),
            ("Min\": 1", "Min\": null"),
            ("Max\": 63", "Max\": 65536"),
            ("Hi\": 5", "Hi\": 1e99"),
        )
    ),
):
    raises(ValueError, loans(answer(*wrong)), f"no loan: {wrong}")
id = Sno("9qdaa79k26kwk222")
same(blocks(answer([str(id)]), 1, 1)().next(0), id, "a block")
same(asked[-1], "SELECT id::text FROM sno_generate_many(1, 1) AS id", "how it asks")
for wrong in (), ([id], [id]), ([None],), (["no id"],), ([id, id],), ([Sno("2" * 16)],):
    raises(ValueError, blocks(answer(*wrong), 1, 1), f"no block: {wrong}")
for source in loans(answer((SNAPSHOT, "70"))), blocks(answer([str(id)]), 1, 1):
    source()
    raises(ValueError, source, "an answer that comes twice")

# Threads, and forks. From here on time is real.
generator.time_ns, generator.monotonic = clock.time_ns, clock.monotonic


def lend_now(length=HOUR, last=65535):
    unit = clock.time_ns() // 4_000_000 - generator._UNIX
    return Loan(next(partitions), unit - 1, 0, last, unit + length)


def without_meta(id):
    return id._bits() & ~(255 << 32)


# A machine may be so busy that a loan is over when it comes: then the next one is longer.
source = Given(lambda: lend_now(75 * 2 ** min(ids.stats().failed, 20), 999))
ids = Generator(source, wait=180)
made = []


def make():
    mine = []
    while len(mine) < 12_500 or ids.stats().taken < 3:
        try:
            mine.append(ids.next(len(mine) % 256))
        except OutOfIds:
            clock.sleep(0.01)
    made.append(mine)


def run_threads(function, number):
    threads = [threading.Thread(target=function) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


for thread in run_threads(make, 8):
    thread.join()
count = sum(map(len, made))
same(len({without_meta(id) for mine in made for id in mine}), count, "8 threads: no id comes twice")
ok(all(mine == sorted(mine, key=unit) for mine in made), "the ids of a thread ascend")
same(ids.stats().issued, count, f"stats: in {ids.stats().taken} loans, one after the other")
ids.close()
same(threading.active_count(), 1, "no thread is left")

ids = Generator(Given(lend_now), wait=180)
ids.next()


def forked(child, fork=os.fork):
    """What the function returns in a child, which has other partitions."""
    global partitions
    read, write = os.pipe()
    first = next(partitions)
    partitions = iter(range(first + 100, 65536))
    pid = fork()
    if pid == 0:
        signal.alarm(180)
        partitions = iter(range(first, 65536))
        os.write(write, pickle.dumps(child()))
        os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        seen = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(seen)


def child():
    return [ids.next() for _ in range(10)], ids.stats()


def children():
    return [child(), forked(child)]


warnings.filterwarnings("ignore", "This process", DeprecationWarning)
stop = threading.Event()
made = []


def make_until_stopped():
    while not stop.is_set():
        made.append(ids.next())


threads = run_threads(make_until_stopped, 2)
found = [part for _ in range(5) for part in forked(children)]
stop.set()
for thread in threads:
    thread.join()
found.append(forked(child, ctypes.PyDLL(None).fork))
parts = [made, *(mine for mine, _ in found)]
same(len({id for mine in parts for id in mine}), sum(map(len, parts)), "forks: no id comes twice")
same({len({id.parts.partition for id in mine}) for mine in parts}, {1}, "each has one loan")
same(len({mine[0].parts.partition for mine in parts}), len(parts), "of its own")
same({(stats.issued, stats.taken) for _, stats in found}, {(10, 1)}, "a child begins anew")
ids.close()
same(forked(lambda: out(ids).reason), "closed", "a child of a closed one")

done()
