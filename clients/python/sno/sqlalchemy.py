"""SQLAlchemy has a type for ids."""

from datetime import datetime
from importlib import import_module
from typing import Any

from sqlalchemy import event, func, literal
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

from sno import Sno, check_aware

__all__ = ["SNO", "register"]


class SNO(UserDefinedType):
    """The type sno. Values are Sno; what Sno() takes is taken."""

    cache_ok = True
    render_bind_cast = True  # SQLAlchemy 2

    class Comparator(UserDefinedType.Comparator):
        def during(self, start: Any, end: Any) -> Any:
            """The id was made from start on, and before end. None leaves this side open.

            Both are datetimes with a time zone, or expressions of SQL.
            """
            return self.op("<@", is_comparison=True)(func.tstzrange(_time(start), _time(end)))

    comparator_factory = Comparator

    @property
    def python_type(self) -> type:
        return Sno

    def get_col_spec(self, **options: Any) -> str:
        return "sno"

    def bind_processor(self, dialect: Any) -> Any:
        return _to_sno

    def result_processor(self, dialect: Any, coltype: Any) -> Any:
        return _to_sno

    def literal_processor(self, dialect: Any) -> Any:
        return lambda value: f"'{Sno(value)}'"


ischema_names["sno"] = SNO  # for columns that are read from the database


def register(engine: Any) -> None:
    """Teach the driver of the engine's connections the type, which arrays of ids need.

    If a database doesn't have the extension yet, a connection learns the type when
    it comes from the pool again.
    """
    engine = getattr(engine, "sync_engine", engine)
    module = import_module(f"sno.{engine.driver}")

    @event.listens_for(engine, "checkout")
    def teach(connection: Any, record: Any, proxy: Any) -> None:
        if not record.info.get("sno"):
            try:
                if engine.dialect.is_async:
                    connection.run_async(module.register)
                else:
                    module.register(connection)
            except LookupError:
                return
            record.info["sno"] = True


def _to_sno(value: Any) -> Any:
    return None if value is None else Sno(value)


def _time(at: Any) -> Any:
    if at is None or isinstance(at, datetime):
        return literal(at and check_aware(at), TIMESTAMP(timezone=True))
    return at
