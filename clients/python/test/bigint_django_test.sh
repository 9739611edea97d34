# shellcheck shell=bash
#
# Django's BigAutoField with keys of a generator: doc/drivers.md, "Keys of type bigint".

export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=yes DJANGO_SETTINGS_MODULE=settings
create_bigint_generators
use_new_database bigint_django_application

mkdir -p mail/migrations
touch mail/__init__.py mail/migrations/__init__.py
cat >mail/models.py <<'PYTHON'
from django.db import models


class Person(models.Model):
    name = models.TextField()

    class Meta:
        db_table = "people"


class Letter(models.Model):
    person = models.ForeignKey(Person, models.PROTECT)

    class Meta:
        db_table = "letters"
PYTHON
cat >settings.py <<'PYTHON'
import os

SECRET_KEY = "secret"
INSTALLED_APPS = ["mail"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
PYTHON
django() { /usr/bin/python3 -B -m django "$@"; }

works 'makemigrations' django makemigrations mail
cat >mail/migrations/0002_generators.py <<'PYTHON'
from django.db import migrations

GENERATOR = """SELECT sno_flake_create_generator('{0}', 'snowflake');
    ALTER TABLE {0} ALTER id DROP IDENTITY IF EXISTS, ALTER id SET DEFAULT sno_flake_generate('{0}');
    DROP SEQUENCE IF EXISTS {0}_id_seq"""


class Migration(migrations.Migration):
    dependencies = [("mail", "0001_initial")]
    operations = [
        migrations.RunSQL("CREATE EXTENSION sno_flakes CASCADE"),
        *[migrations.RunSQL(GENERATOR.format(table)) for table in ("people", "letters")],
    ]
PYTHON
works 'migrate' django migrate
bigint_tables_are_well 'migrate'
works 'the models are as migrated' django makemigrations --check

cat >mail/tests.py <<'PYTHON'
from django.core import serializers
from django.core.management.color import no_style
from django.db import connection
from django.db.models import ProtectedError
from django.test import TransactionTestCase

from mail.models import Letter, Person

# No float is this number.
ODD = 2**53 + 1


class Keys(TransactionTestCase):
    def test_keys(self):
        ada = Person.objects.create(name="Ada")
        self.assertGreater(ada.id, ODD)
        self.assertEqual(Person.objects.get(id=ada.id), ada)
        many = Person.objects.bulk_create([Person(name=str(n)) for n in range(100)])
        self.assertEqual(len({person.id for person in many}), 100)
        self.assertEqual(Person.objects.get(id=many[37].id).name, "37")
        self.assertEqual(Person.objects.filter(id__in=[ada.id, many[7].id]).count(), 2)
        self.assertEqual(list(Person.objects.filter(id__gt=ada.id).order_by("id")), many)
        letter = Letter.objects.create(person=ada)
        self.assertEqual(Letter.objects.get(person__name="Ada").person_id, ada.id)
        self.assertEqual(ada.letter_set.get(), letter)
        with self.assertRaises(ProtectedError):
            ada.delete()
        for key in ODD, 2**63 - 1:
            Person.objects.create(id=key, name="given")
            self.assertEqual(Person.objects.get(id=key).id, key)

    def test_fixtures(self):
        Person.objects.create(name="Ada")
        text = serializers.serialize("json", Person.objects.all())
        (ada,) = serializers.deserialize("json", text)
        self.assertEqual(ada.object, Person.objects.get())
        with connection.cursor() as cursor:
            for sql in connection.ops.sequence_reset_sql(no_style(), [Person, Letter]):
                cursor.execute(sql)
        self.assertGreater(Person.objects.create(name="Bob").id, ada.object.id)
PYTHON
works 'an application' django test mail
is "$(grep -c '^OK' said)" 1 'its tests pass'
