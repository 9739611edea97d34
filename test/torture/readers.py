#!/usr/bin/python3
"""Clients of torture_readers.pl, which write to feeds and read them.

readers.py FOLDER SEED KIND...

Each client is a process, which begins again if it is killed.  The file "notes" of the folder gets a
line of each event as soon as a client knows of it.  Files of the folder rule the clients: the first
8 bytes of "control" aren't 0: they end; "drain" exists: writers end, and readers fail no more.
"""

import mmap
import os
import random
import sys
import time
import uuid

import psycopg2

FOLDER, SEED = sys.argv[1:3]
KINDS = sys.argv[3:]
NOTES = os.open(f"{FOLDER}/notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
with open(f"{FOLDER}/control", "rb") as file:
    CONTROL = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
PERSONS = 200

# SQLSTATEs of faults and of concurrency.  psycopg2 knows none for a connection that is refused or lost.
EXPECTED = "08006", "40001", "40P01", "57014", "57P01", "57P02", "57P03", None
LEASE_LOST = "55P03"


def note(*words):
    """A single write() at the end of the file, so that lines of several clients don't mix."""
    os.write(NOTES, (" ".join(map(str, words)) + "\n").encode())


def stopped():
    return CONTROL[:] != bytes(8)


def draining():
    return os.path.exists(f"{FOLDER}/drain")


def pause(most):
    if not draining():
        time.sleep(random.uniform(0, most))


class Lost(Exception):
    """The client is to go on with a new connection."""


class Client:
    def __init__(self, number, argument):
        self.name = f"{number}"
        self.argument = argument
        # PgBouncer, or the server
        self.connections = [f"{FOLDER}/connection.pooler", f"{FOLDER}/connection"][number % 2:]
        self.connection = None

    def connect(self):
        while not stopped():
            for name in self.connections:
                if os.path.exists(name):
                    with open(name) as file:
                        connection = file.read()
                    if connection:
                        try:
                            self.connection = psycopg2.connect(connection)
                            self.connection.autocommit = True
                            return
                        except psycopg2.OperationalError:
                            pass
                    break
            time.sleep(0.05)

    def disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def sql(self, statement, *values):
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def run(self):
        while not stopped():
            if self.connection is None:
                self.connect()
                continue
            try:
                self.step()
            except Lost:
                self.disconnect()
            except psycopg2.Error as error:
                if error.pgcode not in EXPECTED:
                    note("error", type(self).__name__, error.pgcode, repr(str(error)))
                self.disconnect()
        self.disconnect()

    def end_prepared(self, how, gid):
        """False if another client ends it."""
        try:
            self.sql(f"{how} PREPARED '{gid}'")
        except (psycopg2.errors.UndefinedObject, psycopg2.errors.ObjectNotInPrerequisiteState):
            return False
        return True


class Writer(Client):
    def step(self):
        if draining():
            self.disconnect()
            os._exit(0)
        ids = []
        self.sql("BEGIN")
        for _ in range(random.randint(1, 4)):
            savepoint = random.random() < 0.15
            if savepoint:
                self.sql("SAVEPOINT a")
            made = self.change()
            pause(random.choice([0, 0, 0.01, 0.06]))
            if savepoint:
                self.sql("ROLLBACK TO a")
            else:
                ids += made
        fate = random.random()
        gid = uuid.uuid4()
        if fate < 0.12:
            self.sql("ROLLBACK")
            ids = []
        elif fate < 0.14:
            self.sql(f"PREPARE TRANSACTION 'left {gid}'")
            ids = []
        elif fate < 0.28:
            self.sql(f"PREPARE TRANSACTION 'own {gid}'")
            pause(0.05)
            if not self.end_prepared("COMMIT" if fate < 0.25 else "ROLLBACK", f"own {gid}") or fate >= 0.25:
                ids = []
        elif fate < 0.30:
            raise Lost
        else:
            self.sql("COMMIT")
        if ids:
            note("commit", *ids)
        pause(0.03)

    def change(self):
        kind = random.random()
        person = random.randint(1, PERSONS)
        if kind < 0.6:
            text = "poison" if random.random() < 0.01 else "plain"
            return [id for id, in self.sql(
                "INSERT INTO event (customer, text) SELECT %s, %s FROM generate_series(1, %s) RETURNING id::text",
                random.randint(1, 40), text, random.choice([1, 1, 3]))]
        if kind < 0.85:
            self.sql("INSERT INTO person (id) VALUES (%s) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n", person)
        elif kind < 0.95:
            self.sql("DELETE FROM person WHERE id = %s", person)
        else:
            # Another client may insert the same key, so a savepoint comes before.
            self.sql("SAVEPOINT b")
            try:
                self.sql("UPDATE person SET id = %s WHERE id = %s", random.randint(1, PERSONS), person)
            except psycopg2.errors.UniqueViolation:
                self.sql("ROLLBACK TO b")
        return []


class Coordinator(Client):
    """Ends prepared transactions, also those whose clients have ended."""

    def step(self):
        gids = self.sql("SELECT gid FROM pg_prepared_xacts ORDER BY random()")
        for gid, in gids[:1]:
            # After a crash, nobody else ends an "own" transaction, but its client may have a pause only.
            if draining() or gid.startswith("left") or random.random() < 0.05:
                self.end_prepared(random.choice(["COMMIT", "COMMIT", "ROLLBACK"]), gid)
        time.sleep(0.1)


class Reader(Client):
    """A reader of a feed.  The argument is the name of the reader."""

    feed = "event"

    def wait(self):
        self.sql(f"CALL sno_feed_wait('{self.feed}', %s, '200 ms')", self.argument)


class Taker(Reader):
    values = "(item).text = 'poison', id"

    def step(self):
        reader = self.argument
        drain = draining()
        lease = 10 if drain else random.choice([0.05, 0.2, 0.2, 1])
        start = time.monotonic()
        rows = self.sql(
            f"SELECT part, fence, {self.values} FROM sno_feed_take(NULL::{self.feed}, %s, %s, %s * interval '1 s')",
            reader, 1000 if drain else random.choice([1, 10, 60]), lease)
        if not rows:
            return self.wait()
        part, fence = rows[0][:2]
        place = self.feed, reader, part, fence
        known = reader, part, fence
        note("take", *known, start, time.monotonic(), lease, *(row[3] for row in rows))
        ids = [row[3].split("/")[0] for row in rows]
        if drain:
            return self.end("done", known, "sno_feed_done(%s, %s, %s, %s)", *place)
        poison = [id for id, row in zip(ids, rows) if row[2]]
        fate = random.random()
        if fate < 0.04:
            os._exit(0)
        elif fate < 0.06:
            raise Lost
        elif fate < 0.14:
            time.sleep(lease * random.uniform(0.9, 1.3))
        elif fate < 0.20:
            pause(lease)
            lease = random.choice([0.1, 2])
            start = time.monotonic()
            self.end("extend", (*known, start, lease),
                     "sno_feed_extend(%s, %s, %s, %s, %s * interval '1 s')", *place, lease)
        pause(0.03)
        if poison:
            self.fail(known, place, poison[0], "poison")
        elif fate < 0.90:
            self.end("done", known, "sno_feed_done(%s, %s, %s, %s)", *place)
        else:
            self.fail(known, place, random.choice([None, *ids]), random.choice([None, None, "failed"]))

    def fail(self, known, place, id, error):
        after = random.choice(["0", "20 ms"])
        self.end("fail", (*known, id or "-", error or "-"),
                 "sno_feed_fail(%s, %s, %s, %s, %s, %s, %s)", *place, id, error, after)

    def end(self, what, words, call, *values):
        """Note what is asked before, and whether the server did it after."""
        note(what + "?", *words)
        try:
            self.sql("SELECT " + call, *values)
        except psycopg2.Error as error:
            if error.pgcode == LEASE_LOST:
                return note("refused", *words)
            raise
        note(what, *words)


class LateTaker(Taker):
    """Acknowledges so late that another client has mostly taken the rows."""

    def step(self):
        rows = self.sql("SELECT part, fence, id FROM sno_feed_take(NULL::event, %s, 5, '10 ms')", self.argument)
        if not rows:
            return self.wait()
        known = self.argument, *rows[0][:2]
        now = time.monotonic()
        note("take", *known, now, now, 0, *(row[2] for row in rows))
        time.sleep(random.uniform(0, 0.05))
        self.end("done", known, "sno_feed_done(%s, %s, %s, %s)", "event", *known)


class Copier(Taker):
    """Takes changes of a table, and notes the state of each key outside of the database."""

    feed = "person"
    values = "false, concat_ws('/', id, (item).id, CASE WHEN deleted THEN 'gone' ELSE (item).n::text END)"


class Next(Reader):
    """Handles rows within the database, in transactions that may fail."""

    feed = "event"
    work = """INSERT INTO seen (id) SELECT id FROM sno_feed_next(NULL::event, %s, %s) RETURNING id"""

    def step(self):
        level = random.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"])
        self.sql(f"BEGIN ISOLATION LEVEL {level}")
        rows = self.sql(self.work, self.argument, 1000 if draining() else random.choice([1, 20, 100]))
        pause(random.choice([0, 0.05]))
        fate = 1 if draining() else random.random()
        if fate < 0.03:
            os._exit(0)
        elif fate < 0.06:
            raise Lost
        elif fate < 0.15:
            self.sql("ROLLBACK")
        else:
            self.sql("COMMIT")
            if rows:
                note("next", self.argument, len(rows))
            else:
                self.wait()


class Copy(Next):
    """Keeps a copy of a table within the database."""

    feed = "person_changes"
    work = """
        WITH change AS (
            SELECT c.id, c.deleted, p.n
            FROM sno_feed_next(NULL::person_changes, %s, %s) AS c LEFT JOIN person AS p ON p.id = c.id
        ), gone AS (
            DELETE FROM person_copy AS p USING change AS c WHERE p.id = c.id AND c.deleted
        ), come AS (
            INSERT INTO person_copy SELECT id, n FROM change WHERE NOT deleted
            ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n
        ) SELECT 1 FROM change"""


class Keeper(Client):
    """Removes rows that were read, retries rows that were set aside, and looks at the feeds."""

    def step(self):
        self.sql(random.choice([
            "CALL sno_feed_remove('event', '0')", "CALL sno_feed_remove('event', '2 s', 50)",
            "CALL sno_feed_remove('person_changes', '0')", "SELECT sno_feed_retry('event', 'take')",
            "SELECT sno_feed_retry('person', 'outside')", "SELECT sno_feed_pause('event', 'next')"]))
        self.sql("SELECT sno_feed_pause('event', 'next', false)")
        # A feed whose table is locked can't be looked at.
        for known in self.sql("SELECT feed, reader, problem FROM sno_feeds() WHERE problem !~ 'lock timeout'"):
            note("problem", *known)
        time.sleep(0.2)


class Control(Client):
    """Reads by id > last, and so misses rows."""

    last = "2" * 16

    def step(self):
        ids = [id for id, in self.sql("SELECT id::text FROM written WHERE id > %s ORDER BY id LIMIT 1000", self.last)]
        if ids:
            self.last = ids[-1]
            note("control", *ids)
        time.sleep(0.005)


CLASSES = {c.__name__: c for c in
           (Writer, Coordinator, Taker, LateTaker, Copier, Next, Copy, Keeper, Control)}


def start(number, life):
    pid = os.fork()
    if pid == 0:
        random.seed(f"{SEED} {number} {life}")
        name, _, argument = KINDS[number].partition("=")
        try:
            CLASSES[name](number, argument).run()
        except BaseException as error:
            note("error", name, "-", repr(error))
        os._exit(0)
    return pid


def main():
    test = os.getppid()
    clients = {start(number, 0): number for number in range(len(KINDS))}
    life = 0
    while clients:
        with open(f"{FOLDER}/clients.new", "w") as file:
            file.writelines(f"{pid} {KINDS[number]}\n" for pid, number in clients.items())
        os.rename(f"{FOLDER}/clients.new", f"{FOLDER}/clients")
        ended = []
        while not ended:
            ended = [pid for pid in clients if os.waitpid(pid, os.WNOHANG)[0] != 0]
            if not ended:
                if os.getppid() != test:
                    for pid in clients:
                        os.kill(pid, 9)
                    return
                time.sleep(0.02)
        for pid in ended:
            number = clients.pop(pid)
            if not stopped() and not (draining() and KINDS[number] == "Writer"):
                life += 1
                clients[start(number, life)] = number


main()
