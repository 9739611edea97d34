# shellcheck shell=bash
#
# Django: migrations come from the models alone, inspectdb reads the database.

export PYTHONPATH=$CLIENTS/python:$CLIENTS/python/test:. PYTHONDONTWRITEBYTECODE=yes
export DJANGO_SETTINGS_MODULE=settings
readme() { /usr/bin/python3 "$CLIENTS/python/test/readme.py" "$@"; }

mkdir -p shop/migrations
touch shop/__init__.py shop/migrations/__init__.py
readme django >shop/models.py
cat >shop/migrations/0001_extension.py <<'PYTHON'
from django.contrib.postgres.operations import CreateExtension
from django.db import migrations


class Migration(migrations.Migration):
    run_before = [("auth", "0001_initial")]
    operations = [CreateExtension("sno")]
PYTHON
cat >shop/admin.py <<'PYTHON'
from django.contrib import admin
from shop.models import Customer, Order

admin.site.register(Customer)


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    list_display = ["id", "customer"]
    search_fields = ["id"]
PYTHON
cat >urls.py <<'PYTHON'
from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
PYTHON
cat >settings.py <<'PYTHON'
import os

SECRET_KEY = "secret"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "sno.django",
    "shop",
    "blog",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["*"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
}
USE_TZ = True
PYTHON
readme django-auto >>settings.py

# An application whose models have no keys.
mkdir -p blog/migrations
touch blog/__init__.py blog/migrations/__init__.py
cat >blog/models.py <<'PYTHON'
from django.db import models


class Tag(models.Model):
    name = models.TextField()


class Post(models.Model):
    author = models.ForeignKey("shop.Customer", on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag)


class Comment(models.Model):
    post = models.ForeignKey(Post, on_delete=models.CASCADE)
    text = models.TextField()
PYTHON
cat >blog/admin.py <<'PYTHON'
from django.contrib import admin
from blog.models import Comment, Post


class Comments(admin.TabularInline):
    model = Comment


@admin.register(Post)
class PostAdmin(admin.ModelAdmin):
    inlines = [Comments]
PYTHON

django_is() { /usr/bin/python3 -c "import django, sys; sys.exit(django.VERSION < ($1))"; }

django() { /usr/bin/python3 -B -m django "$@"; }

works 'check' django check
works 'makemigrations' django makemigrations shop blog
works 'migrate to the extension' django migrate shop 0001
create_extension
works 'migrate' django migrate
all_is_well 'migrate'
works 'the models are as migrated' django makemigrations --check
works 'migrate does nothing more' django migrate
is "$(grep -c 'No migrations to apply' said)" 1 'and says so'

# The tests of applications: they make a database by the migrations.
cp "$CLIENTS/python/test/django_models.py" shop/tests.py
cp "$CLIENTS/python/test/django_auto.py" blog/tests.py
works 'applications' django test shop blog
is "$(grep -c '^OK' said)" 1 'its tests pass'

# The driver that Django prefers is psycopg 3, if it can use that.
if django_is 4,2; then
    mkdir without
    echo 'raise ImportError' >without/psycopg.py
    works 'applications, by psycopg 2' env PYTHONPATH="without:$PYTHONPATH" \
        /usr/bin/python3 -B -m django test shop blog
fi

works 'inspectdb' django inspectdb customers orders
is "$(grep -E '^class|sno|models.ForeignKey' said)" "class Customers(models.Model):
    id = sno.django.SnoField(primary_key=True)
class Orders(models.Model):
    id = sno.django.SnoField(primary_key=True)
    customer = models.ForeignKey(Customers, models.DO_NOTHING)" 'it knows the type'
works 'inspectdb of all' django inspectdb --include-views --include-partitions
is "$(sed -n 's/^class \(.*\)(.*/\1/p' said | grep -vE '^(Auth|Blog|Django)')" 'Customers
Orders' 'it makes models of the tables of the user only'

works 'inspectdb of keys that no model declares' django inspectdb blog_post_tags
is "$(grep -cE 'id = sno.django.SnoField\(primary_key=True\)' said)" 1 'it knows their type'

# Keys that the application makes: only Django knows of that.
cp shop/models.py models.old
readme django-ids >shop/ids.py
sed -i -e 's/meta=1/&, default=customer_id/' -e 's/meta=2/&, default=order_id/' \
    -e '1i from shop.ids import customer_id, order_id' shop/models.py
works 'makemigrations of keys that the application makes' django makemigrations shop
works 'migrate to them' django migrate
all_is_well 'migrate to them'
works 'the models are as migrated' django makemigrations --check
cat >shop/tests.py <<'PYTHON'
from django.test import TestCase

from shop.ids import ids
from shop.models import Customer, Order


class Own(TestCase):
    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        ids.close()

    def test_many(self):
        with self.assertNumQueries(2):
            customers = [Customer(name=str(n)) for n in range(100)]
            orders = [Order(customer=one, related=[one.id]) for one in customers]
            Customer.objects.bulk_create(customers)
            Order.objects.bulk_create(orders)
        self.assertEqual(
            sorted(Order.objects.values_list("id", "customer__id", "customer__name", "related")),
            sorted((one.id, one.customer.id, one.customer.name, one.related) for one in orders),
        )
        self.assertEqual({(one.id.meta, one.customer.id.meta) for one in orders}, {(2, 1)})
        self.assertEqual(ids.stats().taken, 1)

    def test_one(self):
        ada = Customer(name="Ada")
        key = ada.id
        with self.assertNumQueries(1):
            ada.save()
        ada.name = "Ada Lovelace"
        ada.save()
        self.assertEqual(list(Customer.objects.values_list("id", "name")), [(key, "Ada Lovelace")])
PYTHON
works 'an application that makes its keys' django test shop
is "$(grep -c '^OK' said)" 1 'its tests pass'
works 'migrate back from them' django migrate shop 0002
mv models.old shop/models.py
rm shop/migrations/0003_*.py

sed -i 's/    name = .*/&\n    referrer = SnoField(null=True)\n    number = SnoField(meta=3, null=True)/' shop/models.py
works 'makemigrations of new fields' django makemigrations shop
works 'migrate the new fields' django migrate
django_is 5,0 && is "$(sql -c "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'customers'::regclass
    ORDER BY adnum")" 'sno_generate(1)
sno_generate(3)' 'a field that is no key can have a default'
works 'no change is left' django makemigrations --check
works 'migrate back' django migrate shop 0002
all_is_well 'migrate back'
works 'migrate back to the extension' django migrate shop 0001
extension_is_kept 'migrate back to the extension'
