"""Hooks for Alembic's env.py: context.configure(render_item=..., include_name=...)."""

from typing import Any

from sno.sqlalchemy import SNO

__all__ = ["include_name", "render_item"]


def render_item(kind: str, item: Any, context: Any) -> Any:
    """Revisions import what they need for the type SNO."""
    if kind == "type" and isinstance(item, SNO):
        context.imports.add("from sno.sqlalchemy import SNO")
        return "SNO()"
    return False


def include_name(name: Any, kind: str, parents: Any) -> bool:
    """Leave out the schemas of the extensions, which include_schemas=True would compare."""
    return kind != "schema" or name not in ("sno_catalog", "sno_registry")
