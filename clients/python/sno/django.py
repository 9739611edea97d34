"""Django has a field for ids."""

from datetime import datetime
from importlib import import_module
from typing import Any, Optional

import django
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connections, models
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.module_loading import import_string

from sno import Sno, _types

__all__ = ["SnoAutoField", "SnoField"]

_HAS_DB_DEFAULT = django.VERSION >= (5,)


class SnoFormField(forms.CharField):
    default_error_messages = {"invalid": "Enter a valid id."}

    def __init__(self, **options: Any):
        super().__init__(**{"empty_value": None, **options})

    def to_python(self, value: Any) -> Any:
        value = super().to_python(value)
        if value is None:
            return None
        try:
            return Sno(value)
        except ValueError:
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None


class SnoField(models.Field):
    """An id. With meta=N, the database makes it by sno_generate(N)."""

    description = "Id of the type sno"
    default_error_messages = {"invalid": "“%(value)s” is not a valid id."}
    empty_strings_allowed = False

    def __init__(self, *args: Any, meta: Optional[int] = None, **options: Any):
        self.meta = meta
        if meta is not None:
            options.setdefault("editable", False)
            if _HAS_DB_DEFAULT:
                options["db_default"] = _generate(meta)
        super().__init__(*args, **options)

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        if self.meta is not None:
            options.pop("db_default", None)
            options["meta"] = self.meta
        return name, path, args, options

    def contribute_to_class(self, cls: Any, name: str, **options: Any) -> None:
        # As the key that SnoAutoField makes. Django's table of migrations is there before the
        # extension. Migrations make tables in between by the setting, whatever an AppConfig says.
        kind: Any = None
        if self.auto_created and cls.__module__ == "django.db.migrations.recorder":
            kind = models.AutoField
        elif self.auto_created and cls._meta.auto_created:
            kind = import_string(settings.DEFAULT_AUTO_FIELD)
        # To issubclass(), BigAutoField is a subclass of each class of AutoField.
        if kind is None or SnoAutoField in kind.__mro__:
            super().contribute_to_class(cls, name, **options)
        else:
            key = kind(verbose_name=self.verbose_name, primary_key=True, auto_created=True)
            key.contribute_to_class(cls, name, **options)

    def db_type(self, connection: Any) -> str:
        return "sno"

    def to_python(self, value: Any) -> Any:
        if value is None:
            return None
        try:
            return Sno(value)
        except (TypeError, ValueError):
            raise ValidationError(
                self.error_messages["invalid"], code="invalid", params={"value": value}
            ) from None

    def get_prep_value(self, value: Any) -> Any:
        return self.to_python(super().get_prep_value(value))

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return self.to_python(value)

    def formfield(self, **options: Any) -> Any:
        return super().formfield(**{"form_class": SnoFormField, **options})

    # The key of a new object is None until the database has made it. So Django sends
    # the expression itself, and reads what comes back. The default of the column is
    # for others.

    @property
    def db_returning(self) -> bool:
        return self.meta is not None

    def get_default(self) -> Any:
        if self.meta is not None and not self.has_default():
            return None
        return super().get_default()

    def pre_save(self, instance: Any, add: bool) -> Any:
        value = super().pre_save(instance, add)
        if add and value is None and self.meta is not None:
            return _generate(self.meta)
        return value

    def db_type_suffix(self, connection: Any) -> Any:
        if self.meta is None or _HAS_DB_DEFAULT:
            return None
        return f"DEFAULT sno_generate({self.meta})"


class SnoAutoField(models.AutoField):
    """For DEFAULT_AUTO_FIELD: a model without a key gets SnoField(primary_key=True, meta=0).

    Django takes only a class of AutoField there. But it takes a field of such a class for a
    number of a sequence. So this class makes a SnoField. A subclass may have another meta.
    """

    meta = 0

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return SnoField(*args, **{"meta": cls.meta, **options})


@SnoField.register_lookup
class During(models.Lookup):
    """id__during=(start, end): the id was made from start on, and before end.

    Both are times, or expressions; None leaves this side open.
    """

    lookup_name = "during"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        start, end = self.rhs
        range_ = models.Func(_time(start), _time(end), function="tstzrange")
        lhs, lhs_params = self.process_lhs(compiler, connection)
        rhs, rhs_params = compiler.compile(range_)
        return f"{lhs} <@ {rhs}", [*lhs_params, *rhs_params]


def _generate(meta: int) -> Any:
    return models.Func(models.Value(meta), function="sno_generate")


def _time(at: Any) -> Any:
    if at is None or isinstance(at, datetime):
        return models.Value(at, models.DateTimeField())
    return at


def _teach(connection: Any, **signal: Any) -> None:
    """Teach the driver of a connection the type, which arrays of ids need."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(_types.QUERY)
        rows = cursor.fetchall()
    if not rows:
        return
    types = _types.read(rows)
    import_module("sno." + connection.Database.__name__).adapt(connection.connection, types)
    # inspectdb asks it.
    connection.introspection.data_types_reverse = {
        **connection.introspection.data_types_reverse,
        types[0].oid: "sno.django.SnoField",
    }


def _teach_again(using: str, **signal: Any) -> None:
    """The migrations may have created the extension."""
    _teach(connections[using])


connection_created.connect(_teach)
post_migrate.connect(_teach_again)
