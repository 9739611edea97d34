"""Finds the type sno, and the domains over it in a database."""

from typing import Any, Iterable, NamedTuple

# The extension's own type comes first.
QUERY = """
    WITH RECURSIVE found AS (
        SELECT oid FROM pg_type WHERE oid = to_regtype('pg_catalog.sno')
        UNION ALL
        SELECT t.oid FROM pg_type AS t JOIN found ON t.typbasetype = found.oid)
    SELECT t.oid, t.typarray, n.nspname::text, t.typname::text,
        quote_ident(n.nspname) || '.' || quote_ident(t.typname)
    FROM found JOIN pg_type AS t USING (oid) JOIN pg_namespace AS n ON n.oid = t.typnamespace
    ORDER BY t.typtype, t.oid
"""


class Type(NamedTuple):
    oid: int
    array_oid: int
    schema: str
    name: str
    qualified: str  # by its schema; as SQL writes it


def read(rows: Iterable[Any]) -> "list[Type]":
    """The types of the query's rows; raises LookupError if there are none."""
    types = [Type._make(map(decode, row)) for row in rows]
    if not types:
        raise LookupError("the database doesn't have the extension sno")
    return types


def decode(value: Any) -> Any:
    # psycopg 3 has no texts from a database whose encoding is SQL_ASCII, but bytes.
    return value.decode() if isinstance(value, bytes) else value
