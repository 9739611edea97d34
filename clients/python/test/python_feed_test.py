# Feeds by each driver: batches in order, rows that fail, loops that are left, lost connections, leases
# that are extended or lost; parts, and the changes of a table.

import asyncio
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from datetime import timedelta

import asyncpg
import psycopg
import psycopg2
from psycopg.rows import dict_row

import sno.feed
from readme import run
from sno.feed import feed
from tap import done, ok, raises, same

# Names that need quotes, and must not be taken for marks of parameters
TABLE = '"Out ""box %s{0}"'
READER = "o'neil %s"
LITERAL = f"""'"Out ""box %s{{0}}"', 'o''neil %s'"""
PLACES = f'{TABLE[:-1]}_readers"'
NONE = timedelta(0)
APPLICATION = "a reader of a feed"
SESSIONS = f"FROM pg_stat_activity WHERE application_name = '{APPLICATION}'"

connection = psycopg.connect(autocommit=True)
logs = []
logging.getLogger("sno.feed").addHandler(handler := logging.Handler())
handler.emit = lambda record: logs.append(record.getMessage())


def value(sql):
    (found,) = connection.execute(sql).fetchone()
    return found


def until(sql):
    while not value(sql):
        time.sleep(0.01)


def settle(table=TABLE, key='"k %s"'):
    """Readers can have all rows when it returns."""
    until(f"SELECT max({key}) < (SELECT sno_watermark()) FROM {table}")


def insert(*messages):
    connection.execute(
        f"INSERT INTO {TABLE} (message) VALUES " + ", ".join(f"('{message}')" for message in messages)
    )
    settle()


def restart(*messages):
    """The reader has handled nothing, and these are all rows."""
    connection.execute(f"TRUNCATE {TABLE}")
    connection.execute(f"SELECT sno_feed_drop_reader({LITERAL})")
    connection.execute(f"SELECT sno_feed_create_reader({LITERAL}, max_tries => 2)")
    insert(*messages)


def left():
    """How many rows aren't acknowledged."""
    return value(
        f"""SELECT count(*) FROM {TABLE} JOIN {PLACES} AS r ON "k %s" >= position
        WHERE reader = 'o''neil %s' AND r.part = 0"""
    )


def place(columns="tries, error"):
    return connection.execute(
        f"SELECT {columns} FROM {PLACES} AS r WHERE reader = 'o''neil %s' AND r.part = 0"
    ).fetchone()


def terminate():
    """The reader's sessions are gone when it returns."""
    connection.execute(f"SELECT pg_terminate_backend(pid, 600000) {SESSIONS}")


def is_closed():
    until(f"SELECT count(*) = 0 {SESSIONS}")


def when_waiting(action):
    """Act as soon as the reader waits for rows."""

    def act():
        until(f"SELECT count(*) > 0 {SESSIONS} AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'")
        action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def messages(rows):
    return [row.item["message"] for row in rows]


def by_for(connect):
    def read(handle, table=TABLE, reader=READER, **options):
        with feed(connect, table, reader, **options) as batches:
            for batch in batches:
                steps = handle(batches, batch)
                if steps:
                    for row in batch:
                        steps(row)

    return read


def by_async_for(connect):
    async def loop(handle, table, reader, options):
        async with feed(connect, table, reader, **options) as batches:
            async for batch in batches:
                steps = handle(batches, batch)
                if steps:
                    async for row in batch:
                        steps(row)

    return lambda handle, table=TABLE, reader=READER, **options: asyncio.run(loop(handle, table, reader, options))


def state(action):
    """The SQLSTATE of the error."""
    try:
        return action()
    except Exception as error:
        return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or type(error)


class Clock:
    """In place of the one of the feed: tells this time."""

    def __init__(self):
        self.now = 1000.0
        sno.feed.monotonic = lambda: self.now


def check(name, read):
    seen = []
    errors = []

    def reading(handle, *args, **options):
        """The messages of the batches that are handled so. A handler may return a handler of rows."""
        seen.clear()
        errors.clear()

        def noted(batches, batch):
            seen.append(messages(batch.rows))
            return handle(batches, batch)

        read(noted, *args, on_error=errors.append, **options)
        return seen

    # In order, and rows that come while it waits.
    restart("a", "b", "c")
    lefts, rows = [], []

    def handle(batches, batch):
        lefts.append(left())
        same(batch.part, 0, f"{name}: the part")
        if "d" in messages(batch.rows):
            batches.stop()
        return rows.append

    thread = when_waiting(lambda: insert("d"))
    same(reading(handle, max_rows=2), [["a", "b"], ["c"], ["d"]], f"{name}: batches")
    thread.join()
    same((lefts, left()), ([3, 1, 1], 0), f"{name}: acknowledged when the next one is asked for, or after stop()")
    same(
        [(row.id, row.deleted, *map(str, row.item.items())) for row in rows],
        [
            (id, False, *map(str, {"k %s": id, "part": "mine", "fence": 7, "message": message}.items()))
            for id, message in connection.execute(f'SELECT "k %s", message FROM {TABLE} ORDER BY 1')
        ],
        f"{name}: all columns",
    )
    is_closed()
    same(errors, [], f"{name}: no error")

    # A row that fails.
    restart("a", "b", "c")
    rows = []

    def handle(batches, batch):
        def step(row):
            rows.append(row.item["message"])
            if rows[-1] == "b":
                batch.fail(row, ValueError("no \0 way \udc80"))
                batch.fail(batch.rows[-1], "only the first call counts")
            elif rows[-1] == "c":
                batches.stop()

        return step

    same(
        reading(handle, retry_after=NONE),
        [["a", "b", "c"], ["b"], ["c"]],
        f"{name}: a row that fails comes again, alone",
    )
    same(rows, ["a", "b", "b", "c"], f"{name}: and its batch is over")
    aside = f"SELECT (item).message, tries, error FROM sno_feed_aside(NULL::{TABLE}, 'o''neil %s')"
    same(
        connection.execute(aside).fetchall(),
        [("b", 2, "ValueError: no \\0 way \\udc80")],
        f"{name}: and is set aside",
    )

    # One of the rows fails; no row is to blame.
    restart("a", "b", "c")

    def handle(batches, batch):
        if len(seen) == 1:
            batch.fail(None, "one of them", retry_after=NONE)
        elif len(seen) == 2:
            same(place(), (0, "one of them"), f"{name}: it isn't known which row failed")
            batch.fail(batch.rows[0], None, retry_after=NONE)
        elif len(seen) == 3:
            same(place(), (0, None), f"{name}: no row is to blame")
        elif seen[-1] == ["c"]:
            batches.stop()

    same(reading(handle), [["a", "b", "c"], ["a"], ["a"], ["b"], ["c"]], f"{name}: rows come one by one")

    # The loop is left by an error.
    restart("a", "b")

    def handle(batches, batch):
        raise KeyError("oops")

    raises(KeyError, lambda: reading(handle, lease=timedelta(hours=1)), f"{name}: an error in the loop is raised")
    is_closed()
    same((left(), *place(), errors), (2, 0, None, []), f"{name}: the rows are given back, and no try counts")
    same(reading(lambda batches, batch: batches.stop()), [["a", "b"]], f"{name}: at once")

    # Lost connections: with a batch, and while it waits.
    restart("a")

    def handle(batches, batch):
        if messages(batch.rows) == ["a"]:
            terminate()
        else:
            batches.stop()

    thread = when_waiting(lambda: (terminate(), insert("b")))
    same((reading(handle), left()), ([["a"], ["b"]], 0), f"{name}: lost connections")
    thread.join()
    ok(len(errors) >= 2, f"{name}: are reported", errors)

    # A lease is extended between rows, then it is lost.
    restart("a", "b", "c", "d")
    clock = Clock()
    ends = []

    def handle(batches, batch):
        if len(seen) == 2:
            batches.stop()

        def step(row):
            ends.append(place("free_at")[0])
            if row.item["message"] == "b":
                clock.now += 1799
            elif row.item["message"] == "c":
                if len(seen) == 1:
                    connection.execute(f"SELECT sno_feed_rewind({LITERAL}, 'oldest')")
                clock.now += 1801
            else:
                clock.now += 2

        return step

    same(reading(handle, lease=timedelta(hours=1)), [["a", "b", "c", "d"]] * 2, f"{name}: a lease that is lost")
    same([len(errors), *map(state_of, errors)], [1, "55P03"], f"{name}: is reported")
    same(
        [b > a for a, b in zip(ends, ends[1:])],
        [False, True, True, False, True, True],
        f"{name}: a lease is extended when more than half of it has passed",
    )
    same(left(), 0, f"{name}: and the rows are acknowledged")
    sno.feed.monotonic = time.monotonic

    # What another try doesn't change is raised.
    same(state(lambda: reading(handle, TABLE, "nobody")), "42704", f"{name}: no such reader")
    same(state(lambda: reading(handle, "nothing")), "42P01", f"{name}: no such table")
    same(state(lambda: reading(handle, "customers")), "55000", f"{name}: not a feed")
    same(errors, [], f"{name}: without another try")


def state_of(error):
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


connection.execute("CREATE EXTENSION sno_feeds")
connection.execute(
    f"""CREATE TABLE {TABLE} ("k %s" sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
        fence integer DEFAULT 7, message text)"""
)
connection.execute(f"""SELECT sno_feed_create('{TABLE}')""")
connection.execute(f"SELECT sno_feed_create_reader({LITERAL})")

check("psycopg2", by_for(lambda: psycopg2.connect(application_name=APPLICATION)))
check("psycopg", by_for(lambda: psycopg.connect(application_name=APPLICATION, row_factory=dict_row)))
check(
    "psycopg, AsyncConnection",
    by_async_for(lambda: psycopg.AsyncConnection.connect(application_name=APPLICATION)),
)
check("asyncpg", by_async_for(lambda: asyncpg.connect(server_settings={"application_name": APPLICATION})))

# Wrong uses of a batch, and a loop that is left by break, without a context manager.
restart("a", "b")
for batch in feed(psycopg.connect, TABLE, READER, lease=timedelta(hours=1)):
    raises(ValueError, lambda: batch.fail(sno.feed.Row("a", False, {}), "no"), "a row of no batch")
    break
same((left(), *place("tries, free_at <= clock_timestamp()")), (2, 0, True), "break gives the batch back")
for batch in feed(psycopg.connect, TABLE, READER):
    batch.fail(batch.rows[1], "no")
    break
same((left(), *place()), (1, 1, "no"), "after batch.fail(), the rows before that one are acknowledged")
raises(ValueError, lambda: feed(psycopg.connect, TABLE, READER, max_rows=0), "max_rows of 0")
raises(ValueError, lambda: feed(psycopg.connect, TABLE, READER, lease=NONE), "lease of 0")
raises(TypeError, lambda: feed(psycopg.connect, TABLE, READER, lease=10), "lease without a unit")


# A loop that is left when the server is away, and a lease that was lost.
restart("a", "b")


def leave():
    for batch in feed(connect, TABLE, READER):
        terminate()
        connections.append(None)
        raise KeyError("oops")


def connect():
    if connections:
        raise ConnectionRefusedError("nobody there")
    return psycopg.connect(application_name=APPLICATION)


connections = []
raises(KeyError, leave, "the error of the loop, though the server is away")
ok(len(logs) == 1 and logs[0].startswith(f"reader {READER} of feed {TABLE}: "), "the other one is logged", logs)
logs.clear()


# A server that is away, when the reader is stopped; other errors of connect.
def refused():
    batches.stop()
    raise ConnectionRefusedError("nobody there")


batches = feed(refused, TABLE, READER)
same(
    (list(batches), logs),
    ([], [f"reader {READER} of feed {TABLE}: nobody there"]),
    "stopped while the server is away",
)


async def asynchronous():
    await asyncio.sleep(0)


async def synchronous_rows():
    async with feed(asyncpg.connect, TABLE, READER) as batches:
        async for batch in batches:
            list(batch)


raises(TypeError, lambda: list(feed(asynchronous, TABLE, READER)), '"for" with an asynchronous driver')
restart("a")
raises(TypeError, lambda: asyncio.run(synchronous_rows()), '"for row in batch" with an asynchronous driver')
raises(ZeroDivisionError, lambda: list(feed(lambda: 1 / 0, TABLE, READER)), "an error of connect")


async def by_nobody():
    async for batch in feed(lambda: asyncpg.connect(user="nobody"), TABLE, READER):
        pass


same(state(lambda: asyncio.run(by_nobody())), "28000", "no such role, by asyncpg")


# A server that stops and starts, as clients see it: the socket of a proxy.
class Proxy:
    def __init__(self, folder):
        self.path = f"{folder}/.s.PGSQL.5432"
        self.start()

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.sockets = [self.listener]
        threading.Thread(target=self.accept, args=[self.listener], daemon=True).start()

    def accept(self, listener):
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{os.environ['PGHOST']}/.s.PGSQL.{os.environ.get('PGPORT', 5432)}")
                self.sockets += [client, server]
                for pair in (client, server), (server, client):
                    threading.Thread(target=self.copy, args=pair, daemon=True).start()

    def copy(self, source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def stop(self):
        os.unlink(self.path)
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def check_restart(name, read, proxy):
    errors = []

    def on_error(error):
        errors.append(error)
        if len(errors) == 3:
            proxy.start()

    def handle(batches, batch):
        if messages(batch.rows) == ["a"]:
            proxy.stop()
            insert("b")
        else:
            batches.stop()

    restart("a")
    read(handle, on_error=on_error)
    same((left(), len(errors)), (0, 3), f"{name}: the server was away")


with tempfile.TemporaryDirectory() as folder:
    proxy = Proxy(folder)
    at = {"host": folder, "port": 5432}
    check_restart("psycopg2", by_for(lambda: psycopg2.connect(**at)), proxy)
    check_restart("psycopg", by_for(lambda: psycopg.connect(**at)), proxy)
    check_restart("psycopg, AsyncConnection", by_async_for(lambda: psycopg.AsyncConnection.connect(**at)), proxy)
    check_restart("asyncpg", by_async_for(lambda: asyncpg.connect(**at)), proxy)
    proxy.stop()

# A former primary has become a standby, and the name of the server leads to another one.
restart("a")
options = iter(["-c default_transaction_read_only=on", ""])
errors = []
batches = feed(lambda: psycopg.connect(options=next(options)), TABLE, READER, on_error=errors.append)
for batch in batches:
    batches.stop()
same((left(), [*map(state_of, errors)]), (0, ["25006"]), "a server that is read-only")

# Two feeds of one reader work at the same time, each with a part.
connection.execute(f"""CREATE INDEX ON {TABLE} (sno_feed_part(message, 2), "k %s")""")
connection.execute(f"SELECT sno_feed_create_reader('{TABLE}', 'parts', parts => 2, part_by => 'message')")
restart("a", "b", "c", "d", "e", "f", "g", "h")
seen = {}
with feed(psycopg.connect, TABLE, "parts") as first, feed(psycopg.connect, TABLE, "parts") as second:
    for batch in first:
        first.stop()
        seen[batch.part] = messages(batch.rows)
        for other in second:
            second.stop()
            seen[other.part] = messages(other.rows)
wanted = {0: [], 1: []}
for message, part in connection.execute(f'SELECT message, sno_feed_part(message, 2) FROM {TABLE} ORDER BY "k %s"'):
    wanted[part].append(message)
same(dict(sorted(seen.items())), wanted, "two feeds have a part each")

# The changes of a table, beginning with all of its rows.
connection.execute("CREATE TABLE person (id integer PRIMARY KEY, name text NOT NULL)")
connection.execute("INSERT INTO person VALUES (1, 'Ada'), (2, 'Ben')")
connection.execute("CALL sno_feed_create_changes('person')")
connection.execute("SELECT sno_feed_create_reader('person', 'copy')")
settle("person_changes", "changed")
seen = []
batches = feed(lambda: psycopg.connect(application_name=APPLICATION), "person", "copy")


def change():
    connection.execute("UPDATE person SET name = 'Bob' WHERE id = 2")
    connection.execute("DELETE FROM person WHERE id = 1")


for batch in batches:
    seen += [(row.deleted, row.item) for row in batch]
    if len(seen) == 2:
        thread = when_waiting(change)
    elif len(seen) >= 4:
        batches.stop()
thread.join()
same(
    seen,
    [
        (False, {"id": 1, "name": "Ada"}),
        (False, {"id": 2, "name": "Ben"}),
        (False, {"id": 2, "name": "Bob"}),
        (True, {"id": 1, "name": None}),
    ],
    "the changes of a table",
)

# The examples of README.
connection.execute("CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)")
connection.execute("SELECT sno_feed_create('outbox'), sno_feed_create_reader('outbox', 'mail')")


def sending():
    """Fails once, and ends after the last mail."""
    sent = []

    def send(message):
        sent.append(message)
        if sent == ["mail 1", "mail 2"]:
            raise OSError("mailbox full")
        if message == "mail 3":
            os.kill(os.getpid(), signal.SIGTERM)

    return sent, send


async def await_send(message):
    send(message)


for name in "feed", "feed-asyncpg":
    connection.execute("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n")
    settle("outbox", "id")
    sent, send = sending()
    run(name, send=send if name == "feed" else await_send)
    same(sent, ["mail 1", "mail 2", "mail 2", "mail 3"], f"README's example: {name}")
same(
    value("SELECT count(*) FROM outbox JOIN outbox_readers ON id >= position WHERE reader = 'mail' AND part = 0"),
    0,
    "README's examples: all is acknowledged",
)

connection.close()
done()
