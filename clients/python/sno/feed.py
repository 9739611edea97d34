"""Reads a feed of the extension sno_feeds: the rows of a table, none of which it misses."""

import asyncio
import logging
import re
from contextlib import suppress
from datetime import timedelta
from inspect import isawaitable
from itertools import count
from random import random
from time import monotonic, sleep
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Coroutine,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from sno import _types

__all__ = ["Batch", "Row", "feed"]

_NAME = """
    SELECT format('%%I.%%I', n.nspname, c.relname)
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = %s::text::regclass
"""
_TAKE = "SELECT t.part, t.fence, t.id, t.deleted, (t.item).* FROM sno_feed_take(NULL::{feed}, %s, %s, %s) AS t"
_WAIT = "CALL sno_feed_wait(%s::text::regclass, %s, %s)"
_DONE = "SELECT sno_feed_done(%s::text::regclass, %s, %s, %s)"
_FAIL = "SELECT sno_feed_fail(%s::text::regclass, %s, %s, %s, %s, %s, %s)"
_EXTEND = "SELECT sno_feed_extend(%s::text::regclass, %s, %s, %s, %s)"

_ZERO = timedelta(0)
_SECOND = timedelta(seconds=1)
_WAITS = timedelta(seconds=5)
_PAUSE, _PAUSE_MAX = 0.1, 5.0  # seconds after an error
# A lost connection, a server that stops, starts, is full or is a standby; a transaction to be repeated
_PASSES = re.compile("08...|57P..|53300|25006|40001|40P01")
_OF_CONNECTION = "OperationalError", "InterfaceError", "TargetServerAttributeNotMatched"
_LOST = "55P03"

_log = logging.getLogger(__name__)


class Row(NamedTuple):
    """A row of a feed, or a change of a row.

    The id is the key of the feed, as text. If the row was deleted, the item has only the
    primary key, and None for all other columns.
    """

    id: str
    deleted: bool
    item: Dict[str, Any]


class Batch:
    """Rows of one part of a feed, in the order of their ids.

    "for row in batch", or "async for", returns the rows, and extends the lease whenever more
    than half of it has passed. It ends after fail(), and when the lease is lost.
    """

    def __init__(self, feed_: "feed", names: Sequence[str], rows: Sequence[Tuple[Any, ...]], since: float):
        self._feed = feed_
        self._since = since
        self.part, self._fence = rows[0][:2]
        self.rows = tuple(Row(_types.decode(row[2]), row[3], dict(zip(names[4:], row[4:]))) for row in rows)
        self._failure: Optional[Tuple[Optional[str], Optional[str], timedelta]] = None
        self._is_lost = False

    def fail(
        self,
        row: Optional[Row],
        error: Union[str, BaseException, None],
        *,
        retry_after: Optional[timedelta] = None,
    ) -> None:
        """Report a row that could not be handled. For a batch, only the first call counts.

        When the loop asks for the next batch, only the rows before this one are acknowledged.
        After that time, this row comes again alone, and after it the others. After the reader's
        max_tries, it is set aside with the error.

        Without a row, one of the rows failed, so all of them come again, one by one. Without an
        error, no row is to blame, so no try counts.
        """
        if row is not None and all(row.id != each.id for each in self.rows):
            raise ValueError("the row is not one of the batch")
        if self._failure is None:
            after = self._feed._retry_after if retry_after is None else retry_after
            self._failure = None if row is None else row.id, None if error is None else _text(error), after

    def __iter__(self) -> Iterator[Row]:
        if self._feed._is_async:
            raise TypeError('with an asynchronous driver, write "async for row in batch"')
        for row in self.rows:
            if not _now(self._is_held()):
                break
            yield row

    async def __aiter__(self) -> AsyncIterator[Row]:
        for row in self.rows:
            if not await self._is_held():
                break
            yield row

    async def _is_held(self) -> bool:
        """Extend the lease if it is time. False if the batch is over."""
        if self._failure is None and not self._is_lost:
            now = monotonic()
            if now - self._since > self._feed._lease.total_seconds() / 2:
                await self._settle(_EXTEND, self._feed._lease)
                self._since = now
        return self._failure is None and not self._is_lost

    async def _end(self, *, is_left: bool) -> None:
        """Acknowledge the rows, or those before the one that failed."""
        if is_left and self._failure is None:
            self._failure = None, None, _ZERO
        if self._is_lost:
            return
        if self._failure is None:
            await self._settle(_DONE)
        else:
            await self._settle(_FAIL, *self._failure)

    async def _settle(self, sql: str, *args: Any) -> None:
        try:
            await self._feed._ask(sql, *self._feed._place, self.part, self._fence, *args)
        except Exception as error:
            if _state(error) != _LOST:
                raise
            self._is_lost = True
            self._feed._on_error(error)


class feed:
    """The batches of a reader: for "for", or for "async for" with an asynchronous driver.

    connect returns a new connection of psycopg 2 or 3, or of asyncpg. A batch is leased, and
    acknowledged when the loop asks for the next one. If the connection is lost, or the server
    is away, the statement is repeated on a new connection. on_error gets these errors, and
    the error of a lease that was lost; by default, they are logged. Other errors are raised.

    If the loop is left by an error or by break, the batch is given back: its rows come again
    at once, and no try counts. Use the feed as a context manager, which sees to this.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        table: str,
        reader: str,
        *,
        max_rows: int = 1000,
        lease: timedelta = timedelta(minutes=1),
        retry_after: timedelta = _SECOND,
        on_error: Optional[Callable[[Exception], Any]] = None,
    ):
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {max_rows}")
        if not isinstance(lease, timedelta) or not isinstance(retry_after, timedelta):
            raise TypeError("lease and retry_after must be of type timedelta")
        if lease <= _ZERO:
            raise ValueError(f"lease must be positive, not {lease}")
        self._connect = connect
        self._table = table
        self._reader = reader
        self._max_rows = max_rows
        self._lease = lease
        self._retry_after = retry_after
        self._on_error = on_error or self._log
        self._place: Tuple[str, str] = ("", "")  # the table as SQL writes it, and the reader
        self._connection: Any = None
        self._batch: Optional[Batch] = None
        self._stopped = False
        self._is_async = False

    def stop(self) -> None:
        """End the loop after the present batch, which is acknowledged; if it waits, within 5 seconds.

        Signal handlers and other threads may call it.
        """
        self._stopped = True

    def __iter__(self) -> Iterator[Batch]:
        try:
            while (batch := _now(self._next())) is not None:
                yield batch
        finally:
            _now(self._leave())

    def __enter__(self) -> "feed":
        return self

    def __exit__(self, *error: Any) -> None:
        _now(self._leave())

    def __aiter__(self) -> "feed":
        self._is_async = True
        return self

    async def __anext__(self) -> Batch:
        batch = await self._next()
        if batch is None:
            await self._leave()
            raise StopAsyncIteration
        return batch

    async def __aenter__(self) -> "feed":
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._leave()

    # These coroutines serve both kinds of loops: with a synchronous driver, they never wait for an
    # event loop, so _now() runs them.

    async def _next(self) -> Optional[Batch]:
        batch, self._batch = self._batch, None
        if batch is not None:
            await batch._end(is_left=False)
        if not self._place[0] and not self._stopped:
            _, found = await self._ask(_NAME, self._table)
            if found:
                self._place = _types.decode(found[0][0]), self._reader
        while not self._stopped:
            since = monotonic()
            names, rows = await self._ask(_TAKE, self._reader, self._max_rows, self._lease)
            if rows:
                self._batch = Batch(self, names, rows, since)
                return self._batch
            if not self._stopped:
                await self._ask(_WAIT, *self._place, _WAITS)
        return None

    async def _leave(self) -> None:
        self._stopped = True
        batch, self._batch = self._batch, None
        try:
            if batch is not None:
                await batch._end(is_left=True)
        except Exception as error:
            self._on_error(error)
        finally:
            await self._close()

    async def _ask(self, sql: str, *args: Any) -> "Tuple[List[str], Sequence[Tuple[Any, ...]]]":
        """What the statement returns; nothing if the feed is stopped while the server is away."""
        pause = _PAUSE
        while True:
            try:
                if self._connection is None:
                    await self._open()
                return await _run(self._connection, sql.replace("{feed}", self._place[0].replace("%", "%%")), args)
            except Exception as error:
                await self._close()
                if not _passes(error):
                    raise
                self._on_error(error)
            if self._stopped:
                return [], []
            seconds = pause * (0.5 + random() / 2)
            await _settled(asyncio.sleep(seconds) if self._is_async else sleep(seconds))
            pause = min(2 * pause, _PAUSE_MAX)

    async def _open(self) -> None:
        self._connection = connection = await _settled(self._connect())
        if hasattr(connection, "set_autocommit"):
            await _settled(connection.set_autocommit(True))
        elif not hasattr(connection, "fetch"):
            connection.autocommit = True

    async def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                await _settled(getattr(connection, "terminate", connection.close)())

    def _log(self, error: Exception) -> None:
        _log.warning("reader %s of feed %s: %s", self._reader, self._table, error)


async def _run(connection: Any, sql: str, args: Sequence[Any]) -> "Tuple[List[str], Sequence[Tuple[Any, ...]]]":
    """The names of the columns and the rows, whatever rows the connection makes for its user."""
    if hasattr(connection, "fetch"):  # asyncpg
        rows = await connection.fetch(_numbered(sql), *args)
        return list(rows[0].keys()) if rows else [], [tuple(row) for row in rows]
    if hasattr(connection, "row_factory"):  # psycopg 3
        from psycopg.rows import tuple_row

        cursor = connection.cursor(row_factory=tuple_row)
        await _settled(cursor.execute(sql, args, prepare=False))
    else:
        from psycopg2.extensions import cursor as tuple_cursor

        cursor = connection.cursor(cursor_factory=tuple_cursor)
        cursor.execute(sql, args)
    if cursor.description is None:
        return [], []
    return [column[0] for column in cursor.description], await _settled(cursor.fetchall())


def _numbered(sql: str) -> str:
    """The SQL with $1, $2 ... in place of each %s."""
    numbers = count(1)
    return re.sub("%([%s])", lambda mark: "%" if mark[1] == "%" else f"${next(numbers)}", sql)


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _now(coroutine: "Coroutine[Any, Any, Any]") -> Any:
    """The result of a coroutine that doesn't wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise TypeError('with an asynchronous driver, write "async for" and "async with"')


def _state(error: Exception) -> Optional[str]:
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _passes(error: Exception) -> bool:
    """Is it an error of the connection, or of a server that isn't there for a while?"""
    state = _state(error)
    if state is not None:
        return _PASSES.fullmatch(state) is not None
    if isinstance(error, ValueError):  # of an argument, or a certificate
        return False
    names = {each.__name__ for each in type(error).__mro__}
    return isinstance(error, (OSError, asyncio.TimeoutError)) or not names.isdisjoint(_OF_CONNECTION)


def _text(error: Union[str, BaseException]) -> str:
    """The error, without characters that the database doesn't store."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()
