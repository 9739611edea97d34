# The tests of the application of django_test.sh.

import json
from datetime import datetime, timedelta, timezone as utc

from django.contrib.auth.models import User
from django.core import serializers
from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DataError, connection, models
from django.db.models.functions import Now
from django.forms import modelform_factory
from django.http import JsonResponse
from django.test import TestCase
from django.urls import reverse
from django.utils import timezone

import readme
from sno import Sno
from sno.django import SnoField
from shop.models import Customer, Order


class Ids(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.ada = Customer.objects.create(name="Ada")
        cls.bob = Customer(name="Bob")
        cls.bob.save()
        cls.order = Order.objects.create(customer=cls.bob, related=[cls.ada.id, None])

    def test_key(self):
        self.assertEqual((type(self.ada.id), self.ada.id.meta), (Sno, 1))
        self.assertEqual((type(self.bob.id), self.bob.pk.meta), (Sno, 1))
        self.assertEqual(self.order.id.meta, 2)
        self.assertIsNone(Customer().pk)
        self.bob.name = "Robert"
        self.bob.save()
        self.assertEqual(Customer.objects.get(pk=self.bob.pk).name, "Robert")
        self.assertEqual(Customer.objects.count(), 2)
        given = Sno.min(timezone.now(), 9)
        Customer.objects.create(id=given, name="Cy")
        self.assertEqual(Customer.objects.get(name="Cy").id, given)
        _, created = Customer.objects.get_or_create(id=given, defaults={"name": "Dan"})
        self.assertFalse(created)
        found, created = Customer.objects.update_or_create(name="Eve")
        self.assertEqual((type(found.id), created), (Sno, True))

    def test_many(self):
        many = Customer.objects.bulk_create([Customer(name=str(n)) for n in range(9)])
        self.assertEqual({type(customer.id) for customer in many}, {Sno})
        self.assertEqual(Customer.objects.get(id=many[7].id).name, "7")
        given = Customer(id=Sno.min(timezone.now(), 9), name="Cy")
        Customer.objects.bulk_create([given, Customer(name="Dan")])
        self.assertEqual(Customer.objects.get(name="Cy").id, given.id)
        self.assertEqual(len(Customer.objects.in_bulk([given.id, str(self.ada.id)])), 2)

    def test_reference(self):
        order = Order.objects.get(id=str(self.order.id))
        self.assertEqual((order.customer_id, type(order.customer_id)), (self.bob.id, Sno))
        self.assertEqual(order.customer, self.bob)
        self.assertEqual(self.bob.order_set.get(), order)
        self.assertEqual(Order.objects.select_related("customer").get().customer.id, self.bob.id)
        self.assertEqual(Customer.objects.prefetch_related("order_set")[1].order_set.count(), 1)
        self.assertEqual(Order.objects.filter(customer__name="Bob").count(), 1)
        with self.assertRaises(models.ProtectedError):
            self.bob.delete()
        self.assertEqual(Customer.objects.latest("id"), self.bob)

    def test_lookups(self):
        ids = [self.bob.id, self.ada.id]
        for form in str, bytes, lambda id: id.uuid, lambda id: id.uuid8:
            self.assertEqual(Customer.objects.filter(id__in=map(form, ids)).count(), 2)
        self.assertEqual(Customer.objects.get(id__gt=self.ada.id), self.bob)
        self.assertEqual(Customer.objects.filter(id__range=sorted(ids)).count(), 2)
        self.assertEqual(Customer.objects.filter(id__in=[]).count(), 0)
        customers = Order.objects.values("customer")
        self.assertEqual(Customer.objects.filter(id__in=customers).get(), self.bob)
        self.assertEqual(list(Customer.objects.values_list("id", flat=True).order_by("-id")), ids)
        self.assertEqual(Customer.objects.filter(id=models.F("order__customer")).get(), self.bob)
        raw = Customer.objects.raw("SELECT * FROM customers WHERE id = ANY (%s)", [ids])
        self.assertEqual({one.id for one in raw}, set(ids))
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_typeof(%s)::text, %s", [ids[0], ids])
            self.assertEqual(cursor.fetchone(), ("sno", ids))
        by_id = Customer.objects.order_by("id")
        self.assertEqual([one.id for one in by_id.iterator()], sorted(ids))

    def test_arrays(self):
        id = self.ada.id
        self.assertEqual(Order.objects.get().related, [id, None])
        self.assertEqual(Order.objects.filter(related__contains=[id]).count(), 1)
        self.assertEqual(Order.objects.filter(related__overlap=[id]).count(), 1)
        self.assertEqual(Order.objects.filter(related__0=id).count(), 1)
        for related in [], [None], [None, id], None:
            Order.objects.update(related=related)
            self.assertEqual(Order.objects.get().related, related)

    def test_times(self):
        now, hour = timezone.now(), timedelta(hours=1)
        for during, count in (
            ((now - hour, now + hour), 2),
            ((now - hour, None), 2),
            ((None, now - hour), 0),
            ([Now() - hour, Now() + hour], 2),
            ((now + hour, None), 0),
        ):
            self.assertEqual(Customer.objects.filter(id__during=during).count(), count)
        self.assertEqual(Order.objects.filter(customer__id__during=(now - hour, None)).count(), 1)
        self.assertEqual(Order.objects.exclude(customer__id__during=(now - hour, None)).count(), 0)
        with self.assertRaises(ValueError):
            Customer.objects.filter(id__during=(now,)).count()
        self.assertLess(abs(self.ada.id.timestamp - now), hour)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            self.assertIn("Index Cond", Customer.objects.filter(id__during=(now, None)).explain())

    def test_no_id(self):
        for wrong in "not an id", str(self.ada.id).upper(), b"", 5:
            for lookup in "id", "id__gt", "order__customer":
                with self.assertRaises(ValidationError):
                    Customer.objects.filter(**{lookup: wrong}).count()
        with self.assertRaises(ValidationError):
            Customer(id="not an id", name="Cy").full_clean()
        with self.assertRaises(DataError) as raised, connection.cursor() as cursor:
            cursor.execute("SELECT 'not an id'::sno")
        cause = raised.exception.__cause__
        self.assertEqual(getattr(cause, "sqlstate", None) or cause.pgcode, "22P02")

    def test_serialisation(self):
        self.assertEqual(json.loads(JsonResponse({"id": self.ada.id}).content), {"id": self.ada.id})
        json.dumps([self.ada.id], cls=DjangoJSONEncoder)
        for form in "json", "xml":
            text = serializers.serialize(form, Order.objects.all())
            (again,) = serializers.deserialize(form, text)
            self.assertEqual((again.object.id, type(again.object.id)), (self.order.id, Sno))
            self.assertEqual(again.object.related, self.order.related)
            self.assertEqual(again.object.customer_id, self.bob.id)

    def test_forms(self):
        self.assertEqual(list(modelform_factory(Customer, fields="__all__")().fields), ["name"])
        form = modelform_factory(Order, fields=["customer", "related"])
        valid = form({"customer": str(self.ada.id), "related": str(self.bob.id)})
        self.assertTrue(valid.is_valid(), valid.errors)
        self.assertEqual(valid.save().related, [self.bob.id])
        for wrong in {"customer": "not an id"}, {"customer": str(self.ada.id), "related": "no id"}:
            self.assertFalse(form(wrong).is_valid())
        field = SnoField(null=True, blank=True).formfield()
        self.assertEqual((field.clean(""), field.clean(str(self.ada.id))), (None, self.ada.id))

    def test_admin(self):
        User.objects.create_superuser("root", password="secret")
        self.client.login(username="root", password="secret")
        page = self.client.get(reverse("admin:shop_order_changelist") + f"?q={self.order.id}")
        self.assertContains(page, str(self.order.id))
        change = reverse("admin:shop_order_change", args=[self.order.id])
        self.assertContains(self.client.get(change), str(self.bob.id))
        wrong = self.client.get(reverse("admin:shop_order_change", args=["nothing"]))
        self.assertEqual(wrong.status_code, 302)
        added = self.client.post(reverse("admin:shop_customer_add"), {"name": "Cy"})
        self.assertEqual(added.status_code, 302)
        self.assertEqual(type(Customer.objects.get(name="Cy").id), Sno)
        delete = reverse("admin:shop_customer_delete", args=[self.ada.id])
        page = self.client.post(delete, {"post": "yes"})
        self.assertEqual(page.status_code, 302)
        self.assertFalse(Customer.objects.filter(id=self.ada.id).exists())

    def test_fields(self):
        field = SnoField(primary_key=True, meta=3)
        _, path, args, options = field.deconstruct()
        self.assertEqual(
            (path, args, options),
            ("sno.django.SnoField", [], {"primary_key": True, "meta": 3, "editable": False}),
        )
        self.assertEqual(SnoField(**options).deconstruct()[1:], (path, args, options))
        self.assertEqual(SnoField(null=True).deconstruct()[3], {"null": True})

    def test_example(self):
        self.assertEqual(readme.run("django-use")["recent"].count(), 2)


class Naive(TestCase):
    def test_a_time_without_a_zone(self):
        with self.settings(USE_TZ=True), self.assertWarns(RuntimeWarning):
            Customer.objects.filter(id__during=(datetime(2026, 7, 1), None)).count()
        late = datetime(9999, 1, 1, tzinfo=utc.utc)
        self.assertEqual(Customer.objects.filter(id__during=(late, None)).count(), 0)
