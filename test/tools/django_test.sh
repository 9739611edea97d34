# shellcheck shell=bash
#
# Django: migrations come from the models alone, inspectdb reads the database.

create_extension
mkdir shop
mv models.py shop
cat >settings.py <<'PYTHON'
import os

INSTALLED_APPS = ["shop"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"]}
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
PYTHON

django() {
    PYTHONPATH=. DJANGO_SETTINGS_MODULE=settings /usr/bin/python3 -B -m django "$@"
}

works 'makemigrations' django makemigrations shop
works 'migrate' django migrate
all_is_well 'migrate'
works 'the models are as migrated' django makemigrations --check
works 'migrate does nothing more' django migrate
is "$(grep -c 'No migrations to apply' said)" 1 'and says so'

works 'models' django shell -c '
from shop.models import Customer, Order
ada = Customer.objects.create(name="Ada")
assert len(ada.id) == 16
Order.objects.create(customer=ada)
assert Customer.objects.get(id=ada.id).order_set.count() == 1
bob, cy = Customer.objects.bulk_create([Customer(name="Bob"), Customer(name="Cy")])
assert Customer.objects.get(id__gt=bob.id).name == "Cy"
'

works 'inspectdb' django inspectdb --include-views --include-partitions
is "$(sed -n 's/^class \(.*\)(.*/\1/p' said)" 'Customers
DjangoMigrations
Orders' 'it makes models of the tables of the user only'

works 'migrate to nothing' django migrate shop zero
extension_is_kept 'migrate to nothing'
