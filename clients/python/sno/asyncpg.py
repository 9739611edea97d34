"""asyncpg sends and returns ids as Sno, in binary."""

from typing import Any

from sno import Sno, _types

__all__ = ["register"]


async def register(connection: Any) -> None:
    """Teach the connection the type sno. asyncpg finds arrays and domains by itself.

    It is a pool's init, too. Raises LookupError if the database doesn't have the
    extension.
    """
    types = _types.read(await connection.fetch(_types.QUERY))
    await connection.set_type_codec(
        "sno",
        schema=types[0].schema,
        encoder=lambda id: bytes(Sno(id)),
        decoder=Sno,
        format="binary",
    )
