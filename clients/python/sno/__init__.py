"""Ids of the PostgreSQL extension sno."""

import re
from base64 import b32encode
from datetime import datetime, timedelta, timezone
from operator import index
from typing import NamedTuple, Optional, Union
from uuid import UUID

__all__ = ["Parts", "Sno"]

_DIGITS = "23456789abcdefghijklmnopqrstuvwx"
_FROM_BASE32 = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _DIGITS.encode())
_TO_INT = str.maketrans(_DIGITS, "0123456789abcdefghijklmnopqrstuv")
_is_text = re.compile(f"[{_DIGITS}]{{16}}").fullmatch

# Texts that are given as ids by mistake, and what to do with them
_MISTAKES = [
    (re.compile(pattern, re.ASCII).fullmatch, advice)
    for pattern, advice in (
        (r"-?[0-9]+", "it is a number"),
        (r"\{UUID\}|UUID".replace("UUID", "[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}"), "Sno(UUID(text)) converts a uuid"),
        (r"(?s:.+)[_-][2-9a-x]{16}", "Prefixes.read() converts an id with a prefix"),
        (r"[2-9A-Xa-x]{16}", "ids are in lower case"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?s:.*)", "Sno.min() and Sno.max() convert a time"),
    )
]

_EPOCH = datetime(2010, 1, 1, tzinfo=timezone.utc)
_UNIT = timedelta(milliseconds=4)
_UNIT_MAX = (1 << 39) - 1
_REST_MAX = (1 << 32) - 1


class Parts(NamedTuple):
    """What an id holds."""

    timestamp: datetime  # start of the 4 ms in which the id was made, in UTC
    tick_tock: bool
    meta: int  # 0 to 255
    partition: int  # 0 to 65535
    sequence: int  # 0 to 65535


class Sno(str):
    """An id, of 10 bytes, as its text of 16 characters.

    It is a str, so that JSON, templates, URLs and drivers take it as it is. Texts of
    ids sort as their bytes do.

    Sno(value) takes the text, the 10 bytes, or a UUID: either the one that the
    database makes by the cast id::uuid, or that of sno_to_uuidv8(id). It raises
    ValueError for another value of these types, and TypeError for another type.
    """

    __slots__ = ()

    def __new__(cls, value: Union[str, bytes, bytearray, memoryview, UUID]) -> "Sno":
        if isinstance(value, str):
            text: str = value
        elif isinstance(value, (bytes, bytearray, memoryview)):
            if len(value) != 10:
                raise ValueError(f"a sno has 10 bytes, not {len(value)}")
            text = _text_of_bytes(value)
        elif isinstance(value, UUID):
            text = _text_of_uuid(value)
        else:
            raise TypeError(f"a sno is made of str, bytes or UUID, not {type(value).__name__}")
        if not _is_text(text):
            raise ValueError(f"not a sno: {value!r}{_advice(text)}")
        return super().__new__(cls, text)

    def __repr__(self) -> str:
        return f"Sno({str(self)!r})"

    def _bits(self) -> int:
        return int(self.translate(_TO_INT), 32)

    def __bytes__(self) -> bytes:
        return self._bits().to_bytes(10, "big")

    @property
    def uuid(self) -> UUID:
        """The UUID whose 16 bytes are the text, as id::uuid."""
        return UUID(bytes=self.encode())

    @property
    def uuid8(self) -> UUID:
        """The UUID of version 8 (RFC 9562) that starts with the id, as sno_to_uuidv8(id)."""
        bits = self._bits()
        return UUID(
            int=bits >> 32 << 80
            | 8 << 76
            | (bits >> 20 & 0xFFF) << 64
            | 2 << 62
            | (bits & 0xFFFFF) << 42
        )

    @property
    def timestamp(self) -> datetime:
        """The start of the 4 ms in which the id was made, in UTC."""
        return time_of(self._bits() >> 41)

    @property
    def meta(self) -> int:
        """The metabyte, 0 to 255."""
        return self._bits() >> 32 & 0xFF

    @property
    def parts(self) -> Parts:
        """All that the id holds. (A str has a method "partition", so the parts are apart.)"""
        bits = self._bits()
        return Parts(
            self.timestamp, bool(bits >> 40 & 1), self.meta, bits >> 16 & 0xFFFF, bits & 0xFFFF
        )

    @classmethod
    def min(cls, at: datetime, meta: Optional[int] = None) -> "Sno":
        """The lowest id of the 4 ms that hold the time, with that metabyte or with any.

        As sno_min() of the database: for a time before 2010, the lowest of all such
        ids; for a time after 2079-09-07 15:47:35.551 UTC, the highest of all.
        """
        return cls._bound(at, meta, 0)

    @classmethod
    def max(cls, at: datetime, meta: Optional[int] = None) -> "Sno":
        """The highest id of the 4 ms that hold the time, as sno_max(). See min()."""
        return cls._bound(at, meta, 1)

    @classmethod
    def _bound(cls, at: datetime, meta: Optional[int], highest: int) -> "Sno":
        if meta is not None:
            check_meta(meta)
        unit = unit_of(at)
        if unit < 0:
            unit, highest = 0, 0
        elif unit > _UNIT_MAX:
            unit, highest = _UNIT_MAX, 1
        if meta is None:
            meta = highest * 255
        bits = unit << 41 | highest << 40 | meta << 32 | highest * _REST_MAX
        return cls(bits.to_bytes(10, "big"))


def check_aware(at: datetime) -> datetime:
    """Return the time; raise ValueError if it has no time zone, TypeError if it is none."""
    if not isinstance(at, datetime):
        raise TypeError(f"not a datetime: {at!r}")
    if at.utcoffset() is None:
        raise ValueError(f"the time has no time zone: {at!r}")
    return at


def check_meta(meta: int) -> None:
    """Raise ValueError if it is no metabyte, TypeError if it is no whole number."""
    if not 0 <= index(meta) <= 255:
        raise ValueError(f"a metabyte is from 0 to 255, not {meta}")


def time_of(unit: int) -> datetime:
    """The start of a unit, which is 4 ms, counted from 2010 on."""
    return _EPOCH + unit * _UNIT


def unit_of(at: datetime) -> int:
    """The unit that holds the time."""
    return (check_aware(at) - _EPOCH) // _UNIT


def _advice(text: str) -> str:
    return next((f" ({advice})" for matches, advice in _MISTAKES if matches(text)), "")


def _text_of_bytes(value: Union[bytes, bytearray, memoryview]) -> str:
    return b32encode(value).translate(_FROM_BASE32).decode()


def _text_of_uuid(uuid: UUID) -> str:
    """The text of an id; of another UUID, a text that is none."""
    # The text is ASCII, so its ninth byte doesn't have the variant's first bit.
    if uuid.int >> 62 & 3 != 2:
        return uuid.bytes.decode("latin-1")
    if uuid.int >> 76 & 15 != 8 or uuid.int & ((1 << 42) - 1):
        return ""
    bits = (
        uuid.int >> 80 << 32 | (uuid.int >> 64 & 0xFFF) << 20 | (uuid.int >> 42 & 0xFFFFF)
    )
    return _text_of_bytes(bits.to_bytes(10, "big"))
