"""What a loan is: a partition that the database has lent, to make ids in it."""

from operator import index
from typing import Iterator, Optional, Tuple, Union

from sno import _DIGITS, Sno, check_meta

__all__ = ["Loan"]

_PAIRS = [first + second for first in _DIGITS for second in _DIGITS]  # of 10 bits
_NEVER = 1 << 63
_new = str.__new__


class Loan:
    """Makes ids of a partition. It knows no clock and no lock: one thread at a time may use it.

    A unit is 4 ms, counted from 2010 on. Both sides, which are the values of the tick-tock
    bit, were used up to the floor. The sequences are from first to last. No id is of a
    unit after until.
    """

    __slots__ = ("partition", "floor", "first", "last", "until", "half", "_middles", "_present")

    def __init__(self, partition: int, floor: int, first: int, last: int, until: int):
        if not 0 <= index(partition) <= 65535:
            raise ValueError(f"a partition is from 0 to 65535, not {partition}")
        if not 0 <= index(first) <= index(last) <= 65535:
            raise ValueError(f"sequences are from 0 to 65535, not from {first} to {last}")
        if not 0 <= index(floor) <= index(until) < 1 << 39:
            raise ValueError(f"no loan is after unit {floor} and until unit {until}")
        self.partition = partition
        self.floor = floor
        self.first = first
        self.last = last
        self.until = until
        self.half = _NEVER  # the unit from which on a generator takes the next loan
        # The text of an id has 8 digits of unit and side, 4 of the metabyte and 12 bits of
        # the partition, and 4 of the other bits.
        rest = _PAIRS[partition >> 4 & 1023]
        self._middles = {meta: _PAIRS[meta << 2 | partition >> 14] + rest for meta in range(256)}
        # The unit and the side, their digits, the other bits that are left in the unit, and
        # the last unit of the other side. It is replaced as a whole: so an exception that a
        # signal raises in between leaves no half of a change.
        self._present: Tuple[int, int, str, Iterator[int], int] = floor, 0, "", iter(()), floor

    def next(self, unit: int, meta: Optional[int] = None) -> Union[Sno, str]:
        """An id, for the unit that the clock shows; the metabyte is 0 unless it is given.

        Or "wait": no sequence of the unit is left; "behind": the clock was set back, and
        both sides were used; "over".
        """
        try:
            middle = self._middles[0 if meta is None else meta]
        except (KeyError, TypeError):
            check_meta(meta)  # type: ignore[arg-type]
            raise
        at, _, head, rest, _ = self._present
        if unit != at:
            refusal = self.refuses(unit)
            if refusal is not None:
                return refusal
            head, rest = self._enter(unit)
        low = next(rest, None)
        if low is None:
            return "wait"
        return _new(Sno, head + middle + _PAIRS[low >> 10] + _PAIRS[low & 1023])

    def refuses(self, unit: int) -> Optional[str]:
        """"over" or "behind" if no id can be of the unit, else None."""
        at, _, _, _, other = self._present
        if unit > self.until:
            return "over"
        if unit < at and unit <= other:
            return "behind"
        return None

    def _enter(self, unit: int) -> Tuple[str, Iterator[int]]:
        at, side, _, _, other = self._present
        if unit < at:
            side, other = 1 - side, at
        bits = unit << 1 | side
        head = "".join(_PAIRS[bits >> shift & 1023] for shift in (30, 20, 10, 0))
        low = (self.partition & 15) << 16
        rest = iter(range(low | self.first, (low | self.last) + 1))
        self._present = unit, side, head, rest, other
        return head, rest

