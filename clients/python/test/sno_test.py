# Ids without a database, against the vectors that the extension is tested with.

import copy
import json
import os
import pickle
from datetime import datetime, timedelta, timezone
from uuid import UUID

from readme import run
from sno import Parts, Sno
from tap import done, ok, raises, same

UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)
EPOCH = datetime(2010, 1, 1, tzinfo=timezone.utc)
LOWEST, HIGHEST = Sno("2" * 16), Sno("x" * 16)

with open(os.environ["CLIENTS"] + "/../test/vectors/sno.tsv") as file:
    vectors = [line.split() for line in file]

with open(os.environ["CLIENTS"] + "/../test/vectors/mistakes.tsv") as file:
    for kind, text in (line.rstrip("\n").split("\t") for line in file):
        try:
            seen = Sno(text)
        except ValueError as error:
            seen = str(error)
        ok(kind in seen if kind != "none" else not seen.endswith(")"), f"advice for {text!r}", seen)


def each(name, check):
    """All vectors pass the check."""
    ok(vectors and all(check(*vector) for vector in vectors), name)


each("text and bytes", lambda hex, text, *_: bytes(Sno(text)) == bytes.fromhex(hex))
each("bytes and text", lambda hex, text, *_: str(Sno(bytes.fromhex(hex))) == text)
each("uuid", lambda hex, text, *_: Sno(text).uuid.bytes == text.encode())
each("from uuid", lambda hex, text, *_: Sno(UUID(bytes=text.encode())) == text)
each(
    "uuid of version 8",
    lambda hex, text, *_: Sno(text).uuid8.hex
    == f"{hex[:12]}8{hex[12:15]}{2 << 62 | int(hex[15:], 16) << 42:016x}",
)
each("from uuid of version 8", lambda hex, text, *_: Sno(Sno(text).uuid8) == text)
each(
    "parts",
    lambda hex, text, ms, *numbers: Sno(text).parts
    == (UNIX + timedelta(milliseconds=int(ms)), *map(int, numbers)),
)
each(
    "timestamp and metabyte",
    lambda hex, text, ms, tick_tock, meta, *_: Sno(text).timestamp == Sno(text).parts.timestamp
    and Sno(text).meta == int(meta),
)
each(
    "bounds",
    lambda hex, text, *_: Sno.min(Sno(text).timestamp) <= Sno(text) <= Sno.max(Sno(text).timestamp),
)
each(
    "bounds with a metabyte",
    lambda hex, text, ms, tick_tock, meta, *_: bytes(Sno.max(Sno(text).timestamp, int(meta)))
    == bytes.fromhex(f"{int(hex[:10], 16) | 1:010x}{int(meta):02x}ffffffff")
    and bytes(Sno.min(Sno(text).timestamp, int(meta)))
    == bytes.fromhex(f"{int(hex[:10], 16) & ~1:010x}{int(meta):02x}00000000"),
)
same(
    sorted(Sno(text) for _, text, *_ in vectors),
    [Sno(bytes.fromhex(hex)) for hex in sorted(hex for hex, *_ in vectors)],
    "ids sort as their bytes",
)

# Forms.
id = Sno("brpk4q72xwf2m63l")
same(Sno(id), id, "an id of an id")
same(Sno(bytearray(bytes(id))), id, "from bytearray")
same(Sno(memoryview(bytes(id))), id, "from memoryview")
same(type(str(id)), str, "str() is a plain str")
same(f"{id}", "brpk4q72xwf2m63l", "formatted")
same(repr(id), "Sno('brpk4q72xwf2m63l')", "repr")
same(json.dumps({"id": id}), '{"id": "brpk4q72xwf2m63l"}', "JSON")
same(id.timestamp.tzinfo, timezone.utc, "the timestamp is in UTC")
same(type(id.parts), Parts, "parts have names")
same({id: 1}["brpk4q72xwf2m63l"], 1, "a key of a map, by text too")
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    same(pickle.loads(pickle.dumps(id, protocol)), id, f"pickled, protocol {protocol}")
same(copy.deepcopy(copy.copy(id)), id, "copied")


class CustomerId(Sno):
    pass


customer = CustomerId(id)
same(type(pickle.loads(pickle.dumps(customer))), CustomerId, "a subclass, pickled")
same(type(CustomerId.min(id.timestamp)), CustomerId, "a subclass has bounds of its own")
same(customer.timestamp, id.timestamp, "a subclass has the properties")
raises(AttributeError, lambda: setattr(id, "meta", 1), "an id doesn't change")
raises(AttributeError, lambda: setattr(id, "other", 1), "an id has nothing else")

# The example of README.
example = run("sno")
same(example["id"].meta, 255, "README's example")

# What is no id.
for wrong in (
    "",
    "brpk4q72xwf2m63",
    "brpk4q72xwf2m63ll",
    "BRPK4Q72XWF2M63L",
    "brpk4q72xwf2m63y",
    "brpk4q72xwf2m631",
    " brpk4q72xwf2m63",
    "brpk4q72xwf2m63l\n",
    "brpk4q72xwf2m63é",
    "brpk4q72xwf2m63２",
    str(id.uuid),
    b"",
    bytes(id)[1:],
    bytes(id) + b"0",
    b"brpk4q72xwf2m63l",
    UUID(int=0),
    UUID(int=2**128 - 1),
    UUID("0190d7a0-1b2c-7def-8123-456789abcdef"),
    UUID(int=id.uuid8.int | 1),
    UUID(int=id.uuid8.int | 1 << 41),
    UUID(int=id.uuid8.int ^ 1 << 62),
    UUID(int=id.uuid8.int ^ 1 << 76),
    UUID(bytes=b"BRPK4Q72XWF2M63L"),
):
    raises(ValueError, lambda: Sno(wrong), f"no id: {wrong!r}")
for wrong in None, 0, 1.5, True, [id], object():
    raises(TypeError, lambda: Sno(wrong), f"no id: {type(wrong).__name__}")
try:
    Sno("BRPK")
except ValueError as error:
    same(str(error), "not a sno: 'BRPK'", "the error tells the value")

# Bounds.
raises(TypeError, lambda: Sno.min(datetime(2026, 7, 1).date()), "a date is no time")
utc = datetime(2026, 7, 1, 12, 0, 0, 7999, timezone.utc)
east = utc.astimezone(timezone(timedelta(hours=5, minutes=30)))
same(Sno.min(utc).timestamp, utc.replace(microsecond=4000), "the lowest id of the 4 ms")
same(Sno.max(utc).timestamp, utc.replace(microsecond=4000), "the highest id of the 4 ms")
same(Sno.min(utc).parts[1:], (False, 0, 0, 0), "all of the lowest is zero")
same(Sno.max(utc).parts[1:], (True, 255, 65535, 65535), "the highest is full")
same(Sno.min(east), Sno.min(utc), "a zone of time doesn't matter")
early = EPOCH - timedelta(microseconds=1)
late = datetime(2079, 9, 7, 15, 47, 35, 552000, timezone.utc)
same((Sno.min(early), Sno.max(early)), (LOWEST, LOWEST), "before 2010: the lowest id")
same((Sno.min(late), Sno.max(late)), (HIGHEST, HIGHEST), "too late: the highest id")
last = late - timedelta(microseconds=1)
same(Sno.min(last).parts[1:], (False, 0, 0, 0), "the last 4 ms have a lowest id")
same(Sno.max(last), HIGHEST, "and the highest of all")
west, east = (timezone(timedelta(hours=hours)) for hours in (-23, 23))
same(Sno.max(datetime.max.replace(tzinfo=west)), HIGHEST, "the last datetime")
same(Sno.min(datetime.min.replace(tzinfo=east)), LOWEST, "the first datetime")
same(tuple(Sno.max(early, 7).parts), (EPOCH, False, 7, 0, 0), "before 2010, with a metabyte")
same(
    Sno.min(late, 7).parts[1:], (True, 7, 65535, 65535), "too late, with a metabyte"
)
raises(ValueError, lambda: Sno.min(datetime(2026, 7, 1)), "a time without a zone")
raises(ValueError, lambda: Sno.max(datetime(2026, 7, 1)), "a time without a zone, for the highest")
raises(ValueError, lambda: Sno.min(utc, 256), "no metabyte: 256")
raises(ValueError, lambda: Sno.max(utc, -1), "no metabyte: -1")

done()
