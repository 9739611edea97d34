"""Makes ids in the application, from loans or blocks that the database gives ahead."""

import json
import os
from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import chain
from operator import index
from os import getpid
from threading import Condition, Lock, Thread, current_thread
from time import monotonic, time_ns
from typing import Any, Callable, Deque, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from sno import Sno, _types, check_meta, time_of, unit_of
from sno.loan import Loan

__all__ = ["Block", "Generator", "Loan", "OutOfIds", "Source", "Stats", "blocks", "loans"]

_UNIX = 315_576_000_000  # units from 1970 to 2010
_NANOSECONDS = 4_000_000  # of a unit
_SECONDS = 0.004
_BEHIND_MAX = 250  # units that the clock may be behind the floor of a fresh loan
_PAUSE, _PAUSE_MAX = 1.0, 60.0  # seconds after a failure
_HOUR = timedelta(hours=1)
_MILLISECOND = timedelta(milliseconds=1)
_ANSWERS = 16  # that a source remembers

Query = Callable[[str], Iterable[Any]]


class OutOfIds(Exception):
    """No id can be made now. The error of the source, if there is one, is the cause.

    reason: "over": the loan is over or the block used up, and the source failed or is slow;
    "clock": the clock isn't within a fresh loan; "closed".
    until: the end of the present loan, or None without one.
    """

    def __init__(self, reason: str, until: Optional[datetime], message: str):
        super().__init__(reason, until, message)
        self.reason = reason
        self.until = until
        self.message = message

    def __str__(self) -> str:
        return self.message


class Block:
    """Ids that were made ahead, with one metabyte. One thread at a time may use it."""

    __slots__ = ("meta", "half", "_ids", "_few")
    until = None

    def __init__(self, ids: Iterable[Sno], meta: int):
        self.meta = meta
        self._ids = deque(ids)
        self._few = len(self._ids) // 2
        self.half = 1 << 63  # 0 when half of the ids is used: a generator takes the next block

    def __len__(self) -> int:
        return len(self._ids)

    def next(self, unit: int, meta: Optional[int] = None) -> Union[Sno, str]:
        """An id, or "over". Only loans look at the unit."""
        ids = self._ids
        if not ids:
            return "over"
        if meta is not None:
            _check_same(meta, self.meta)
        if len(ids) - 1 <= self._few:
            self.half = 0
        return ids.popleft()

    def refuses(self, unit: int) -> Optional[str]:
        return None if self._ids else "over"

    def with_ids_of(self, other: "Block") -> "Block":
        return Block(chain(self._ids, other._ids), self.meta)


class Source:
    """Gives the next loan or block: call it. With blocks, it knows their size and metabyte."""

    def __init__(
        self,
        take: Callable[[], Union[Loan, Block]],
        count: Optional[int] = None,
        meta: Optional[int] = None,
    ):
        self._take = take
        self.count = count
        self.meta = meta

    def __call__(self) -> Union[Loan, Block]:
        return self._take()


def loans(
    query: Query,
    duration: Optional[timedelta] = None,
    sequences: Optional[int] = None,
    *,
    call: Optional[str] = None,
) -> Source:
    """A source of loans: of an hour and all 65536 sequences of a partition, if not given.

    query runs one text of SQL in a transaction of its own, which has committed when it
    returns the rows. call is the SQL that lends instead of sno_borrow_partition(), such as
    "service_loan()".
    """
    if call is None:
        duration = _HOUR if duration is None else duration
        sequences = 65536 if sequences is None else index(sequences)
        if not isinstance(duration, timedelta):
            raise TypeError(f"a duration is a timedelta, not {type(duration).__name__}")
        if duration < 4 * _MILLISECOND:
            raise ValueError(f"a loan lasts 4 ms or longer, not {duration / _MILLISECOND:g} ms")
        if not 1 <= sequences <= 65536:
            raise ValueError(f"a loan has 1 to 65536 sequences, not {sequences}")
        call = f"sno_borrow_partition('{duration // _MILLISECOND} milliseconds', {sequences})"
    elif duration is not None or sequences is not None:
        raise ValueError("a call has no duration and no sequences but its own")
    sql = (
        "SELECT snapshot::text AS snapshot, "
        f"((extract(epoch FROM until) * 250)::bigint - {_UNIX})::text AS until FROM {call}"
    )
    given: Deque[Any] = deque(maxlen=_ANSWERS)
    return Source(lambda: _loan_of(_rows(query, sql, given)))


def blocks(query: Query, count: int = 500, meta: int = 0) -> Source:
    """A source of blocks: ids with the metabyte, which the database makes."""
    if not 1 <= index(count) <= 65536:
        raise ValueError(f"a block has 1 to 65536 ids, not {count}")
    check_meta(meta)
    sql = f"SELECT id::text FROM sno_generate_many({count}, {meta}) AS id"
    given: Deque[Any] = deque(maxlen=_ANSWERS)
    return Source(lambda: _block_of(_rows(query, sql, given), count, meta), count, meta)


class Stats(NamedTuple):
    """What a generator did in this process."""

    issued: int  # ids
    taken: int  # loans or blocks
    failed: int  # attempts to take one
    until: Optional[datetime]  # the end of the present loan
    reason: Optional[str]  # of the last failure


class _State:
    """What a generator has in one process. The lock protects all of it."""

    def __init__(self, pid: int, forks: int):
        self.pid = pid
        self.forks = forks
        self.lock = Lock()
        self.changed = Condition(self.lock)  # an attempt has ended, or the generator is closed
        self.supply: Union[Loan, Block] = Block((), 0)
        self.spare: Union[Loan, Block, None] = None
        self.attempt: Optional[Thread] = None
        self.asked = 0  # the unit in which the last attempt began
        self.pause = 0.0  # after the last attempt, if it failed
        self.retry_at = 0.0
        self.failure: Optional[BaseException] = None
        self.issued = self.taken = self.failed = 0


class Generator:
    """Makes ids of what its source gives, and takes the next loan or block ahead.

    Threads may share it. wait: for so many seconds next() and ready() wait for the source.
    """

    def __init__(self, source: Callable[[], Union[Loan, Block]], *, wait: float = 5.0):
        if not 0 <= wait < float("inf"):
            raise ValueError(f"a wait is 0 seconds or longer, not {wait}")
        self._source = source
        self._count: Optional[int] = getattr(source, "count", None)
        self._meta: Optional[int] = getattr(source, "meta", None)
        self._wait = wait
        self._closed = False
        self._states: Dict[Tuple[int, int], _State] = {}
        self._state = self._state_of_process()

    def __enter__(self) -> "Generator":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def next(self, meta: Optional[int] = None) -> Sno:
        """An id. Its metabyte is 0 or that of the block, unless it is given.

        Raises OutOfIds, and ValueError if the metabyte is none, or not that of the block.
        """
        state = self._state
        if state.pid != getpid() or state.forks != _forks:
            state = self._state_of_process()
        with state.lock:
            unit = time_ns() // _NANOSECONDS - _UNIX
            supply = state.supply
            id = supply.next(unit, meta)
            if isinstance(id, Sno):
                state.issued += 1
                if unit >= supply.half and state.spare is None:
                    self._take_ahead(state)
                return id
        return self._next_or_wait(state, meta)

    def ready(self, until: Optional[datetime] = None, count: int = 1) -> None:
        """Wait for a loan that lasts up to that time, or for a block with so many ids.

        The spare counts, too. If both end before, the next one is taken. Raises OutOfIds,
        and ValueError if a new loan doesn't last so long either, or if a block and its
        spare have fewer ids.
        """
        last = 0 if until is None else unit_of(until)
        if index(count) < 1:
            raise ValueError(f"a number of ids is 1 or more, not {count}")
        if self._count is not None and count > 2 * self._count:
            raise ValueError(f"a block and its spare have {2 * self._count} ids, not {count}")
        state = self._state_of_process()
        deadline = monotonic() + self._wait
        taken = None
        with state.lock:
            while not self._has(state, last, count):
                if not _is_under_way(state):
                    if taken is not None and state.taken > taken:
                        _refuse(state, state.spare or state.supply)
                    taken = state.taken
                self._await_attempt(state, deadline)

    def stats(self) -> Stats:
        state = self._state_of_process()
        with state.lock:
            reason = None if state.failure is None else _text(state.failure)
            return Stats(state.issued, state.taken, state.failed, _end(state.supply), reason)

    def close(self) -> None:
        """Make no more ids. It waits for an attempt that is under way, as long as next() would."""
        state = self._state_of_process()
        with state.lock:
            self._closed = True
            state.supply, state.spare = Block((), 0), None
            state.changed.notify_all()
            attempt = state.attempt
        if attempt is not None and attempt is not current_thread():
            attempt.join(self._wait)

    def _state_of_process(self) -> _State:
        # A process that was forked begins anew, with a lock that nobody holds. The number of
        # the process tells it even if a program forks without Python's knowledge, and the
        # count of forks if the number was used before. setdefault() is atomic.
        key = getpid(), _forks
        self._state = state = self._states.setdefault(key, _State(*key))
        return state

    def _next_or_wait(self, state: _State, meta: Optional[int]) -> Sno:
        if meta is not None:
            check_meta(meta)
            if self._meta is not None:
                _check_same(meta, self._meta)
        deadline = None
        waited = fresh = False
        with state.lock:
            while True:
                now = time_ns()
                unit = now // _NANOSECONDS - _UNIX
                id = state.supply.next(unit, meta)
                if isinstance(id, Sno):
                    state.issued += 1
                    if unit >= state.supply.half and state.spare is None:
                        self._take_ahead(state)
                    return id
                if id == "wait":
                    state.changed.wait((_NANOSECONDS - now % _NANOSECONDS) / 1e9)
                    continue
                if fresh:
                    _fail(state, _unusable(state, unit, state.supply))
                    fresh = False
                if state.spare is not None:
                    state.supply, state.spare = state.spare, None
                    waited, fresh = False, waited
                else:
                    if deadline is None:
                        deadline = monotonic() + self._wait
                    self._await_attempt(state, deadline)
                    waited = True

    # The methods below are called with the lock, except _attempt() and _admit().

    def _has(self, state: _State, last: int, count: int) -> bool:
        """What ready() waits for. The spare takes the place of what can't be used any more."""
        unit = time_ns() // _NANOSECONDS - _UNIX
        if state.supply.refuses(unit) and state.spare is not None:
            state.supply, state.spare = state.spare, None
        supply, spare = state.supply, state.spare
        if supply.refuses(unit):
            return False
        if isinstance(supply, Loan):
            return last <= supply.until or isinstance(spare, Loan) and last <= spare.until
        if isinstance(spare, Block):
            if count > len(supply) + len(spare):
                # Make room for another one.
                state.supply, state.spare = supply.with_ids_of(spare), None
            return count <= len(supply) + len(spare)
        return count <= len(supply)

    def _await_attempt(self, state: _State, deadline: float) -> None:
        """Wait for the attempt that is under way, or for a new one."""
        if self._closed:
            raise OutOfIds("closed", None, "the generator of ids is closed")
        if not _is_under_way(state):
            if monotonic() >= state.retry_at:
                self._start(state)
            if not _is_under_way(state):
                raise _out_of_ids(state)
        left = deadline - monotonic()
        if left <= 0:
            raise _out_of_ids(state)
        state.changed.wait(left)

    def _take_ahead(self, state: _State) -> None:
        if not _is_under_way(state) and monotonic() >= state.retry_at:
            self._start(state)

    def _start(self, state: _State) -> None:
        state.attempt = Thread(target=self._attempt, args=(state,), name="sno", daemon=True)
        try:
            state.attempt.start()
        except RuntimeError as error:  # there are too many threads, or the program ends
            _fail(state, error)

    def _attempt(self, state: _State) -> None:
        supply = failure = None
        state.asked = time_ns() // _NANOSECONDS - _UNIX
        try:
            supply = self._source()
            self._admit(state, supply)
        except BaseException as error:  # whatever it is, next() must know that nothing comes
            failure = error
        with state.lock:
            state.attempt = None
            if failure is not None:
                _fail(state, failure)
            elif not self._closed:
                state.spare = supply
                state.taken += 1
                state.pause = state.retry_at = 0.0
            state.changed.notify_all()

    def _admit(self, state: _State, supply: Any) -> None:
        """Check what the source gave. Wait if the clock isn't in the loan yet."""
        if isinstance(supply, Block):
            if not len(supply):
                raise ValueError("the source gave an empty block")
            return
        if not isinstance(supply, Loan):
            raise TypeError(f"a source gives a Loan or a Block, not {type(supply).__name__}")
        deadline = monotonic() + 2 * _BEHIND_MAX * _SECONDS
        while True:
            unit = time_ns() // _NANOSECONDS - _UNIX
            if supply.floor < unit <= supply.until:
                supply.half = unit + (supply.until - unit + 1) // 2
                return
            behind = supply.floor - unit
            if not 0 <= behind <= _BEHIND_MAX or monotonic() >= deadline:
                raise _unusable(state, unit, supply)
            with state.lock:
                if self._closed:
                    return
                state.changed.wait((behind + 1) * _SECONDS)


class _Unusable(Exception):
    """A fresh loan is of no use."""

    def __str__(self) -> str:
        return str(self.args[0])


class _WrongClock(_Unusable):
    pass


def _unusable(state: _State, unit: int, loan: Any) -> _Unusable:
    """Why a fresh loan is of no use: if it was in time when it was asked for, it came too late."""
    if state.asked <= loan.until < unit:
        return _Unusable(
            f"a new loan, until {time_of(loan.until)}, came too late: "
            f"it was asked for at {time_of(state.asked)}, and now it is {time_of(unit)}"
        )
    return _WrongClock(
        f"the clock, at {time_of(unit)}, is not within the new loan, "
        f"from {time_of(loan.floor + 1)} until {time_of(loan.until)}"
    )


def _is_under_way(state: _State) -> bool:
    return state.attempt is not None and state.attempt.is_alive()


def _fail(state: _State, failure: BaseException) -> None:
    state.failed += 1
    state.failure = failure
    state.pause = min(2 * state.pause or _PAUSE, _PAUSE_MAX)
    state.retry_at = monotonic() + state.pause


def _out_of_ids(state: _State) -> OutOfIds:
    failure = state.failure if state.pause else None
    until = _end(state.supply)
    what = "out of ids" if until is None else f"out of ids: the loan is until {until}"
    why = "the source gave no other in time" if failure is None else _text(failure)
    error = OutOfIds("clock" if isinstance(failure, _WrongClock) else "over", until, f"{what}: {why}")
    error.__cause__ = failure
    return error


def _end(supply: Union[Loan, Block]) -> Optional[datetime]:
    return None if supply.until is None else time_of(supply.until)


def _text(error: BaseException) -> str:
    return str(error) if isinstance(error, _Unusable) else f"{type(error).__name__}: {error}"


def _refuse(state: _State, supply: Union[Loan, Block]) -> None:
    """A new loan that isn't enough: the next one wouldn't be either."""
    unit = time_ns() // _NANOSECONDS - _UNIX
    if not isinstance(supply, Loan):
        return  # other threads may have used up the block
    if supply.refuses(unit):
        _fail(state, _unusable(state, unit, supply))
    else:
        raise ValueError(f"a new loan is until {time_of(supply.until)} only")


def _check_same(meta: int, wanted: int) -> None:
    if meta != wanted:
        raise ValueError(f"the block has ids with the metabyte {wanted}, not {meta}")


def _rows(query: Query, sql: str, given: Deque[Any]) -> List[Tuple[Any, ...]]:
    """The answer of the query. A cache that gives one again would let ids come twice."""
    rows = [
        tuple(map(_types.decode, row.values() if isinstance(row, Mapping) else row))
        for row in query(sql)
    ]
    if rows and rows[0] in given:
        raise ValueError(f"the query gave an answer that it had given before: {rows!r:.300}")
    given.extend(rows[:1])
    return rows


def _loan_of(rows: List[Tuple[Any, ...]]) -> Loan:
    try:
        ((text, end),) = rows
        snapshot = json.loads(text)
        high, low = bytes([*snapshot["partition"]])
        floor = max(snapshot["wallHi"], snapshot["wallSafe"])
        first, last, until = snapshot["sequenceMin"], snapshot["sequenceMax"], int(end)
        if until <= floor:
            raise ValueError("it has no end after its floor")
        return Loan(high << 8 | low, floor, first, last, until)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the database gave no loan: {rows!r:.300}") from error


def _block_of(rows: List[Tuple[Any, ...]], count: int, meta: int) -> Block:
    try:
        ids = [Sno(text) for text, in rows]
        if len(ids) != count or any(id.meta != meta for id in ids):
            raise ValueError("they are not the ids that were asked for")
        return Block(ids, meta)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the database gave no block: {rows!r:.300}") from error


_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
