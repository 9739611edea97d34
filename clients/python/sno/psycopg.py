"""psycopg 3 sends and returns ids as Sno, as text and in binary."""

from typing import Any, Awaitable, Union, overload

from psycopg import AsyncConnection, Connection
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.rows import tuple_row
from psycopg.types import TypeInfo

from sno import Sno, _types

__all__ = ["register"]


class _Loader(Loader):
    def load(self, data: Any) -> Sno:
        return Sno(bytes(data).decode())


class _BinaryLoader(Loader):
    format = Format.BINARY

    def load(self, data: Any) -> Sno:
        return Sno(bytes(data))


class _Dumper(Dumper):
    def dump(self, id: Sno) -> bytes:
        return id.encode()


class _BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, id: Sno) -> bytes:
        return bytes(id)


@overload
def register(connection: "Connection[Any]") -> None: ...


@overload
def register(connection: "AsyncConnection[Any]") -> Awaitable[None]: ...


def register(
    connection: "Union[Connection[Any], AsyncConnection[Any]]",
) -> Union[None, Awaitable[None]]:
    """Teach the connection the type sno, its arrays, and the domains over it.

    With an AsyncConnection it is awaited. Raises LookupError if the database doesn't
    have the extension.
    """
    if isinstance(connection, AsyncConnection):
        return _register_async(connection)
    with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(_types.QUERY, prepare=False).fetchall()
    adapt(connection, _types.read(rows))
    return None


async def _register_async(connection: "AsyncConnection[Any]") -> None:
    async with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
        rows = await (await cursor.execute(_types.QUERY, prepare=False)).fetchall()
    adapt(connection, _types.read(rows))


def adapt(connection: Any, types: "list[_types.Type]") -> None:
    for type_ in types:
        info = TypeInfo(type_.name, type_.oid, type_.array_oid, regtype=type_.qualified)
        info.register(connection)
        for loader in _Loader, _BinaryLoader:
            connection.adapters.register_loader(type_.oid, loader)
    for dumper in _BinaryDumper, _Dumper:  # the last is what %s uses
        of_type = type(dumper.__name__, (dumper,), {"oid": types[0].oid})
        connection.adapters.register_dumper(Sno, of_type)
