"""psycopg 2 sends and returns ids as Sno."""

from weakref import WeakKeyDictionary

import psycopg2.extensions as pg

from sno import Sno, _types

__all__ = ["register"]

# The name of the type, for each connection that knows it.
_names: "WeakKeyDictionary[pg.connection, str]" = WeakKeyDictionary()


class _Adapter:
    """Writes an id into a query: with its type, because a list of texts is no list of ids."""

    def __init__(self, id: Sno):
        self.id = id
        self.cast = ""

    def prepare(self, connection: pg.connection) -> None:
        if connection in _names:
            self.cast = "::" + _names[connection]

    def getquoted(self) -> bytes:
        return f"'{self.id}'{self.cast}".encode()


def register(connection: pg.connection) -> None:
    """Teach the connection the type sno, its arrays, and the domains over it.

    Raises LookupError if the database doesn't have the extension.
    """
    idle = connection.get_transaction_status() == pg.TRANSACTION_STATUS_IDLE
    with connection.cursor(cursor_factory=pg.cursor) as cursor:
        cursor.execute(_types.QUERY)
        rows = cursor.fetchall()
    if idle and not connection.autocommit:
        connection.rollback()
    adapt(connection, _types.read(rows))


def adapt(connection: pg.connection, types: "list[_types.Type]") -> None:
    one = pg.new_type(
        tuple(type.oid for type in types),
        "sno",
        lambda text, cursor: None if text is None else Sno(text),
    )
    many = pg.new_array_type(tuple(type.array_oid for type in types), "sno[]", one)
    pg.register_type(one, connection)
    pg.register_type(many, connection)
    _names[connection] = types[0].qualified
    pg.register_adapter(Sno, _Adapter)
