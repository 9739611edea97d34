"""peers.py WORK [PEER [FAULT]]: cause faults while peers make ids, and find ids that come twice.

A peer is a program that reads numbers, and for each prints so many ids, one a line, then ".".
A line "! ..." says that it refused to make more.  psql is such a program, too, once "ask" has
made a query of the number.  All notes are taken here, outside of the peer, as soon as ids come.
The clock is that of test/torture/faults.c: it stands where this program sets it, or runs.
"""

import json
import mmap
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
work = sys.argv[1]
pg_bin = os.environ.get("PG_BIN", "")
MS = 1_000_000
SECOND = 1000 * MS
STRETCH = 20


class Clock:
    """The wall clock of peers, ns.  It runs as the real one does, or stands."""

    def __init__(self):
        path = f"{work}/faults"
        with open(path, "wb") as f:
            f.write(bytes(6 * 8))
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)
        self.highest = 0        # where it ever stood
        self.env = dict(os.environ, FAULTS=path, LD_PRELOAD=f"{work}/faults.so")
        self.run()

    def set(self, at, grain):
        self.map[32:48] = struct.pack("qq", at, grain)
        self.at = at

    def run(self, grain=0):
        self.set(0, grain)

    def stand(self, at):
        self.set(at, 0)
        self.highest = max(self.highest, at)

    def begin(self):
        self.highest = 0
        return time.time_ns() // SECOND * SECOND

    def show(self):
        now = self.at or time.time_ns()
        return time.strftime("%H:%M:%S", time.gmtime(now // SECOND)) + f".{now // MS % 1000:03d}"


class Notes:
    """Who received which ids when, and the faults between."""

    def __init__(self):
        self.events = []
        self.receipts = {}      # of an id: the event, its number there and in all
        self.count = self.twice = 0
        self.nearest = None     # fewest ids between, both receipts

    def fault(self, what):
        self.events.append((clock.show(), what))

    def receive(self, who, ids):
        self.events.append((clock.show(), who, len(ids)))
        for n, id in enumerate(ids):
            receipt = (len(self.events) - 1, n, self.count)
            before = self.receipts.get(id)
            if before is not None:
                self.twice += 1
                near = (self.count - before[2], before, receipt, id)
                self.nearest = min(self.nearest or near, near)
            self.receipts[id] = receipt
            self.count += 1

    def history(self):
        """The shortest history that shows an id twice."""
        _, first, second, id = self.nearest

        def receipt(event, n):
            when, who, count = self.events[event]
            return f"{when}  {who} receives {id}, number {n + 1} of {count}"

        yield receipt(first[0], first[1])
        others = 0
        for when, what, *ids in self.events[first[0] + 1:second[0]]:
            if ids:
                others += ids[0]
                continue
            if others:
                yield f"              {others:,} other ids are received"
            others = 0
            yield f"{when}  {what}"
        if others:
            yield f"              {others:,} other ids are received"
        yield receipt(second[0], second[1])


class Stuck(Exception):
    pass


class Client:
    """A process that makes ids, or a session of a server that does."""

    def __init__(self, who, argv, env, ask="{}"):
        self.who = who
        self.ask_as = ask
        self.rest = b""
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, cwd=work)

    def ask(self, n):
        self.process.stdin.write((self.ask_as.format(n) + "\n").encode())
        self.process.stdin.flush()

    def answer(self):
        """Its lines before ".".  If none comes while the clock stands, it waits for the clock."""
        seconds = 3 if clock.at else 60
        until = time.monotonic() + seconds
        parts = [self.rest]
        while not (b"\n" + parts[-1]).endswith(b"\n.\n"):
            if not select.select([self.process.stdout], [], [], until - time.monotonic())[0]:
                self.rest = b"".join(parts)
                raise Stuck(self.who)
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise RuntimeError(f"{self.who} ended: {b''.join(parts).decode()}")
            if len(part) < 3:
                part = parts.pop() + part
            parts.append(part)
            until = time.monotonic() + seconds
        self.rest = b""
        return b"".join(parts).decode().split("\n")[:-2]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


class Server:
    """A PostgreSQL server with the peers of a database."""

    def __init__(self, name):
        self.name = name
        self.dir, self.sockets = f"{work}/{name}", f"{work}/{name}.sockets"
        self.process = None
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.sockets, exist_ok=True)

    def run(self, program, *arguments):
        done = subprocess.run([f"{pg_bin}/{program}", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")
        return done.stdout

    def sql(self, *arguments):
        return self.run("psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-h", self.sockets, "-U", "postgres", *arguments)

    def create(self):
        self.run("initdb", "-D", self.dir, "-U", "postgres", "-A", "trust", "-N", "--no-locale")
        with open(f"{self.dir}/postgresql.conf", "a") as f:
            # The WAL of open transactions stays in memory, as it does anyway for up to 0.2 s.
            f.write("listen_addresses = ''\nwal_writer_delay = 10s\nsnowflake.node = 1\n"
                    "recovery_init_sync_method = syncfs\n")
        self.start()
        self.sql("-f", f"{here}/../../../bench/peers.sql", "-f", f"{here}/peers.sql")
        for peer in databases.values():
            if usable(peer) and peer.get("sql"):
                self.sql("-c", peer["sql"])
        self.stop()

    def copy(self, template):
        shutil.copytree(template.dir, self.dir)
        return self

    def base_backup(self, primary):
        self.run("pg_basebackup", "-h", primary.sockets, "-U", "postgres", "-D", self.dir, "-c", "fast", "-N", "-R")

    def start(self):
        """Start it.  After kill -9 its memory is free only when its last session is gone."""
        until = time.monotonic() + 30
        while True:
            with open(f"{self.dir}.log", "ab") as log:
                self.process = subprocess.Popen([f"{pg_bin}/postgres", "-D", self.dir, "-k", self.sockets],
                                                env=clock.env, stdout=log, stderr=log)
            while self.process.poll() is None:
                if subprocess.run([f"{pg_bin}/pg_isready", "-q", "-h", self.sockets]).returncode == 0:
                    return
                time.sleep(0.02)
            if time.monotonic() > until:
                raise RuntimeError(f"{self.name} does not start: see {self.dir}.log")
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def kill(self):
        """kill -9 of all its processes"""
        if not self.process or self.process.poll() is not None:
            return
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout
        for pid in [self.process.pid, *map(int, children.split())]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def session(self, number, expression):
        return Client(f"session {number} of {self.name}",
                      [f"{pg_bin}/psql", "-qAtX", "-h", self.sockets, "-U", "postgres"], clock.env | {"LD_PRELOAD": ""},
                      f"SELECT {expression} FROM generate_series(1, {{}});\n\\echo .")


class Processes:
    """A world in which a peer is two processes of an application."""

    def __init__(self, peer, notes):
        self.peer, self.notes, self.clients, self.life = peer, notes, [], 0
        self.state = tempfile.mkdtemp(dir=work)     # what it saves at a clean stop

    def begin(self, n=2, default=False):
        self.life += 1
        self.clients = []
        for k in range(1, n + 1):
            node = str(k) if "node" in self.peer["by"] and not default else None
            env = clock.env | {"STATE": self.state} | ({"TSIDCREATOR_NODE": node} if node else {})
            self.clients.append(Client(f"process {k}" + ("" if self.life == 1 else f", life {self.life}"),
                                       self.peer["run"] + [node] * (node is not None), env))

    def kill(self):
        for client in self.clients:
            client.kill()

    def stop(self):
        for client in self.clients:
            client.stop()

    def end(self):
        self.kill()

    def received(self, client):
        """Note its answer.  If it waits for the clock, the clock goes on.  Did it not wait?"""
        waited = False
        try:
            lines = client.answer()
        except Stuck:
            waited = True
            self.notes.fault(f"{client.who} waits, so the clock goes on")
            clock.stand(clock.highest + 10 * MS)
            lines = client.answer()
        ids = [line for line in lines if line[:1].isalnum() and " " not in line]
        self.notes.receive(client.who, ids)
        refused = [line for line in lines if line[:1] == "!" or "ERROR:" in line]
        if refused:
            self.notes.fault(f"{client.who} refuses: {refused[0]}")
        self.notes.refused |= bool(refused)
        self.notes.waited |= waited
        return not waited

    def take(self, n):
        """Each takes n ids, one after the other."""
        went_on = True
        for client in self.clients:
            client.ask(n)
            went_on &= self.received(client)
        return went_on

    def take_at_once(self, n):
        for client in self.clients:
            client.ask(n)
        for client in self.clients:
            self.received(client)

    def stretch(self, begin, n=400):
        """Take ids in each of some milliseconds, or until one waits for the clock."""
        for ms in range(STRETCH):
            clock.stand(begin + ms * MS)
            if not self.take(n):
                break


class Database(Processes):
    """A world in which a peer is two sessions of a server."""

    def begin(self, n=2, default=False):
        if not self.life:
            self.server = Server("server").copy(template)
            self.others = []
        self.life += 1
        self.server.name = "the server" + ("" if self.life == 1 else f", life {self.life}")
        self.server.start()
        self.clients = self.sessions(self.server, n)

    def sessions(self, server, n):
        sessions = [server.session(k, self.peer["expression"]) for k in range(1, n + 1)]
        for session in sessions:
            # Ids are seen before their transaction is over, as by INSERT ... RETURNING.
            session.process.stdin.write(b"BEGIN;\n")
        return sessions

    def kill(self):
        self.server.kill()
        super().kill()

    def stop(self):
        super().stop()
        self.server.stop()

    def end(self):
        for server in [self.server, *self.others]:
            server.kill()
        super().kill()

    def fall_behind(self):
        """Make a standby that then hears nothing any more."""
        standby = Server("standby")
        self.others.append(standby)
        standby.base_backup(self.server)
        standby.start()
        standby.stop()
        self.standby = standby

    def promote(self):
        self.kill()
        self.server = self.standby
        self.server.name = "the promoted standby"
        self.server.start()
        self.server.run("pg_ctl", "-s", "-w", "-D", self.server.dir, "promote")
        self.clients = self.sessions(self.server, 2)


# The faults: a line that tells it, and what happens

def none(w):
    """two processes or sessions that make 100 ids every 10 ms; the real clock"""
    w.begin()
    for _ in range(200):
        w.take_at_once(100)
        time.sleep(0.01)


def kill(w):
    """kill -9 of both processes, or of the server, and start at once, three times; the real clock"""
    w.begin()
    for _ in range(3):
        # Who counts by seconds shall have time for both lives within one.
        time.sleep(-time.time() % 1)
        w.take(100)
        w.notes.fault("kill -9, and start again")
        w.kill()
        w.begin()
        w.take(100)


def back(w):
    """the clock steps back while they run: by 1 ms, 1 s, 1 h"""
    t = clock.begin()
    clock.stand(t)
    w.begin()
    for step, text in (MS, "1 ms"), (SECOND, "1 s"), (3600 * SECOND, "1 h"):
        w.stretch(t)
        clock.stand(t + (STRETCH - 1) * MS if step == MS else t + step)
        w.take(5)
        w.notes.fault(f"the clock steps back by {text}")
        w.stretch(clock.at - step if step == MS else t)
        # The next step comes when all this is past.
        t = clock.highest + SECOND


def down(w, end, what):
    t = clock.begin()
    clock.stand(t)
    w.begin()
    w.stretch(t)
    clock.stand(t + SECOND)
    w.take(5)
    end()
    clock.stand(t)
    w.notes.fault(f"{what}, the clock steps back by 1 s, start again")
    w.begin()
    w.stretch(t)


def back_down(w):
    """a clean stop, the clock steps back by 1 s, and start again"""
    down(w, w.stop, "a clean stop")


def kill_back(w):
    """kill -9, the clock steps back by 1 s, and start again"""
    down(w, w.kill, "kill -9")


def start(w):
    """two processes or sessions begin in the same ms, in the default configuration"""
    t = clock.begin()
    clock.stand(t)
    w.begin(default=True)
    w.notes.fault("both started in this ms, as they are by default")
    w.stretch(t)


def burst(w):
    """many ids at once, at full speed; the real clock"""
    w.begin(n=w.many)
    w.take_at_once(1_000_000 // w.many)


def coarse(w):
    """the same, with a clock that goes by steps of 16 ms, as some do"""
    clock.run(grain=16 * MS)
    w.begin(n=w.many)
    w.take_at_once(400_000 // w.many)


def fork(w):
    """a process makes an id, forks, and both go on; the real clock"""
    w.begin(n=1)
    w.take(1)
    client = w.clients[0]
    client.ask("fork 1000")
    ids = client.answer()
    child = ids.index("child")
    w.notes.fault("the process forks")
    w.notes.receive("the child", ids[:child])
    w.notes.receive("the parent", ids[child + 1:])


def promoted(w, back):
    t = clock.begin()
    if back:
        clock.stand(t)
    w.begin()
    w.take(5)
    w.fall_behind()
    w.notes.fault("the standby hears no more")
    if back:
        w.stretch(t + SECOND)
    else:
        w.take(100)
    w.promote()
    w.notes.fault("kill -9 of the server; the standby is promoted" + (", its clock is 1 s behind" if back else ""))
    if back:
        w.stretch(t + SECOND)
    else:
        w.take(100)


def promote(w):
    """a standby that lags is promoted; the real clock"""
    promoted(w, back=False)


def promote_back(w):
    """a standby that lags is promoted, and its clock is behind"""
    promoted(w, back=True)


def copy(w):
    """a clean stop, the server and a copy of its folder start beside each other, and nobody tells them"""
    t = clock.begin()
    clock.stand(t)
    w.begin()
    w.take(5)
    w.stop()
    other = Server("copy").copy(w.server)
    w.others.append(other)
    w.notes.fault("a clean stop; the server and a copy of its folder start")
    w.begin()
    other.start()
    other.name = "the copy"
    w.clients += w.sessions(other, 2)
    w.stretch(t + SECOND)


faults = {f.__name__.replace("_", "-"): f for f in
          (none, kill, back, back_down, kill_back, start, burst, coarse, fork, promote, promote_back, copy)}
of_servers = {"promote", "promote-back", "copy"}

# The peers.  "by": what makes their ids unique; a process gets an own node where there is one.
# "needs": the variable without which the peer isn't there.

databases = {
    "sno": {"by": "lease on disk", "expression": "sno_generate()", "sql": "CREATE EXTENSION sno", "needs": "SNO"},
    "sno-named": {"by": "lease on disk", "expression": "sno_generate(1, 'named')",
                  "sql": "CREATE EXTENSION IF NOT EXISTS sno; SELECT sno_create_generator('named')", "needs": "SNO"},
    "nextval": {"by": "counter", "expression": "nextval('ticket_id_seq')"},
    "instagram": {"by": "clock, counter", "expression": "shard_1.id_generator()"},
    "snowflake-53": {"by": "clock, counter", "expression": "public.id_generator()"},
    "pgedge": {"by": "node, clock, counter", "expression": "snowflake.nextval('flake')", "needs": "SNOWFLAKE_PGEDGE",
               "sql": "CREATE EXTENSION snowflake; CREATE SEQUENCE flake; "
                      "SELECT snowflake.convert_sequence_to_snowflake('flake')"},
    "uuid-v7-plpgsql": {"by": "odds", "expression": "uuid_v7()"},
    "uuidv7": {"by": "odds", "expression": "uuidv7()", "needs": "UUIDV7"},
}
applications = {
    "go-sno": {"by": "node, clock, counter", "run": [f"{work}/peer_sno"], "needs": "GO_SNO",
               # It reads Go's own clock, too, when a unit has no more ids.  That clock isn't set.
               "lacks": {"coarse"}},
    "tsid-creator": {"by": "node, clock, odds", "needs": "TSID_CREATOR",
                     "run": ["java", "-cp", f"{work}:{os.environ.get('TSID_CREATOR')}", "PeerTsid"]},
    "bson-python": {"by": "odds", "run": [sys.executable, f"{here}/peer_bson.py"], "forks": True},
}
for name, by in (
        ("@sapphire/snowflake", "node, clock, counter"), ("flake-idgen", "node, clock, counter"),
        ("nodejs-snowflake", "node, clock, counter"), ("tsid-ts", "node, clock, odds"), ("bson", "odds"),
        ("ulid", "odds"), ("ksuid", "odds"), ("uuid", "odds")):
    applications[name] = {"by": by, "run": ["node", f"{work}/npm/js.mjs", name], "needs": "NPM"}
for peer in databases.values():
    peer["world"] = Database
for peer in applications.values():
    peer["world"] = Processes
peers = databases | applications


def usable(peer):
    return "needs" not in peer or peer["needs"] in os.environ


def applies(name, fault):
    peer = peers[name]
    return not (fault in of_servers and name not in databases or fault == "fork" and not peer.get("forks")
                or fault in peer.get("lacks", ()))


def strike(name, fault):
    peer, notes = peers[name], Notes()
    notes.waited = notes.refused = False
    world = peer["world"](peer, notes)
    world.many = 8 if name in databases else 2
    clock.run()
    try:
        faults[fault](world)
    finally:
        world.end()
    return notes


def expected():
    """Of each cell of the document's table: does an id come twice there?  "?" is left to luck."""
    with open(f"{here}/../../../doc/evidence/peers.md") as f:
        for line in f:
            cells = [cell.strip(" `") for cell in line.strip("| \n").split("|")]
            if cells[0] in peers and len(cells) == len(faults) + 3:
                for fault, cell in zip(faults, cells[2:]):
                    if "?" not in cell:
                        yield (cells[0], fault), cell.startswith("**")


def main():
    global clock, template
    clock = Clock()
    wanted, only = sys.argv[2:3], sys.argv[3:4]
    for word, known in (wanted, peers), (only, faults):
        if word and word[0] not in known:
            sys.exit(f'no "{word[0]}": there are {", ".join(known)}')
    cells, known = {}, dict(expected())
    saved = f"{work}/cells"
    if os.path.exists(saved):
        with open(saved) as f:
            cells = {tuple(key): cell for key, cell in json.load(f)}
    chosen = [name for name in wanted or peers if usable(peers[name])]
    for name in set(wanted or peers) - {name for name, _ in cells} - set(chosen):
        print(f"# skip {name}: no {peers[name]['needs']}")
    if set(chosen) & set(databases):
        template = Server("template")
        template.create()
    failed = 0
    for name in chosen:
        for fault in only or faults:
            if not applies(name, fault):
                continue
            notes = strike(name, fault)
            as_told = known.get((name, fault), notes.twice > 0) == (notes.twice > 0)
            failed += not as_told
            more = ", it refused" * notes.refused + ", it waited" * notes.waited
            cells[name, fault] = (notes.twice, notes.count, "r" * notes.refused + "w" * notes.waited)
            print(f"{'ok' if as_told else 'not ok'} {len(cells)} - {name}, {fault}: "
                  f"{notes.twice:,} of {notes.count:,} ids came twice{more}", flush=True)
            if only or not as_told:
                print("#", faults[fault].__doc__)
                print(*(f"# {line}" for line in notes.history()) if notes.twice else ["# no id came twice"], sep="\n")
    with open(saved, "w") as f:
        json.dump(list(cells.items()), f)
    if not wanted:
        table(cells)
    sys.exit(failed > 0)


def table(cells):
    print(f"1..{len(cells)}", "", "| peer | unique by | " + " | ".join(faults) + " | ids |",
          "|---|---|" + "--:|" * (len(faults) + 1), sep="\n")
    for name in peers:
        row, total = [], 0
        for fault in faults:
            twice, count, more = cells.get((name, fault), (None, 0, ""))
            total += count
            row.append("" if twice is None else (f"**{twice:,}**" if twice else "0") + (f" {more}" if more else ""))
        if total:
            print(f"| `{name}` | {peers[name]['by']} | " + " | ".join(row) + f" | {total:,} |")


main()
