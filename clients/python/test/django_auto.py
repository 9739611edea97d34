# The tests of the application of django_test.sh whose models have no keys.

import os
from datetime import timedelta
from tempfile import TemporaryDirectory

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, models
from django.test import TestCase
from django.test.utils import isolate_apps
from django.urls import reverse
from django.utils import timezone

from blog.models import Comment, Post, Tag
from shop.models import Customer
from sno import Sno
from sno.django import SnoAutoField, SnoField


class Keys(TestCase):
    @classmethod
    def setUpTestData(cls):
        cls.ada = Customer.objects.create(name="Ada")
        cls.tags = [Tag.objects.create(name=name) for name in ("one", "two")]
        cls.post = Post.objects.create(author=cls.ada)
        cls.post.tags.set(cls.tags)
        cls.comment = Comment.objects.create(post=cls.post, text="well")

    def test_key(self):
        with self.assertNumQueries(1):
            tag = Tag.objects.create(name="three")
        self.assertEqual((type(tag.id), tag.pk.meta), (Sno, 0))
        self.assertEqual(Tag.objects.get(id=tag.id).name, "three")
        self.assertEqual(Tag.objects.get(pk=str(tag.id)), tag)
        tag.name = "drei"
        tag.save()
        self.assertEqual(Tag.objects.count(), 3)
        with self.assertRaises(ValidationError):
            Tag.objects.filter(id="not an id").count()
        self.assertEqual(Tag.objects.filter(id__in=[tag.id, self.tags[0].id]).count(), 2)
        self.assertEqual(Tag.objects.filter(id__during=(timezone.now() - timedelta(hours=1), None)).count(), 3)
        many = Tag.objects.bulk_create([Tag(name=str(n)) for n in range(9)])
        self.assertEqual({type(each.id) for each in many}, {Sno})

    def test_default_of_the_database(self):
        with connection.cursor() as cursor:
            for table in "blog_tag", "blog_post", "blog_comment", "blog_post_tags":
                cursor.execute(
                    "SELECT format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid)"
                    " FROM pg_attribute JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)"
                    " WHERE attrelid = %s::regclass AND attname = 'id'",
                    [table],
                )
                self.assertEqual(cursor.fetchone(), ("sno", "sno_generate(0)"))

    def test_relations(self):
        self.assertEqual(Post.objects.get(tags__name="two", author__name="Ada"), self.post)
        between = Post.tags.through.objects.first()
        self.assertEqual({type(key) for key in (between.id, between.post_id, between.tag_id)}, {Sno})
        self.assertEqual(Tag.objects.filter(post__comment=self.comment).count(), 2)
        self.post.tags.remove(self.tags[0])
        self.post.tags.add(self.tags[1])
        self.assertEqual(self.post.tags.get(), self.tags[1])
        self.post.delete()
        self.assertEqual((Comment.objects.count(), Tag.objects.count()), (0, 2))

    def test_fixtures(self):
        def everything():
            return [list(each.objects.order_by("pk").values()) for each in (Tag, Post, Comment, Post.tags.through)]

        before = everything()
        with TemporaryDirectory() as folder:
            path = os.path.join(folder, "blog.json")
            call_command("dumpdata", "blog", output=path, verbosity=0)
            Post.objects.all().delete()
            Tag.objects.all().delete()
            call_command("loaddata", path, verbosity=0)
        self.assertEqual([len(rows) for rows in before], [2, 1, 1, 2])
        # Rows of the table in between aren't dumped: their keys are new.
        self.assertEqual(everything()[:3], before[:3])
        self.assertEqual(self.post.tags.count(), 2)

    def test_admin(self):
        User.objects.create_superuser("root", password="secret")
        self.client.login(username="root", password="secret")
        form = {
            "author": self.ada.id,
            "tags": [tag.id for tag in self.tags],
            "comment_set-TOTAL_FORMS": 1,
            "comment_set-INITIAL_FORMS": 0,
            "comment_set-0-text": "first",
        }
        self.assertRedirects(
            self.client.post(reverse("admin:blog_post_add"), form), reverse("admin:blog_post_changelist")
        )
        comment = Comment.objects.get(text="first")
        change = reverse("admin:blog_post_change", args=[comment.post_id])
        self.assertContains(self.client.get(change), comment.id)
        form.update(
            {
                "comment_set-INITIAL_FORMS": 1,
                "comment_set-0-id": comment.id,
                "comment_set-0-post": comment.post_id,
                "comment_set-0-text": "changed",
            }
        )
        self.assertEqual(self.client.post(change, form).status_code, 302)
        comment.refresh_from_db()
        self.assertEqual((comment.text, comment.post.tags.count()), ("changed", 2))

    def test_field(self):
        class Other(SnoAutoField):
            meta = 3

        self.assertEqual(type(Other(primary_key=True)), SnoField)
        self.assertEqual(Other(primary_key=True).deconstruct()[1:], SnoField(primary_key=True, meta=3).deconstruct()[1:])
        self.assertEqual(type(Tag._meta.pk), SnoField)

    def test_setting_of_an_application(self):
        with isolate_apps("blog") as apps, self.settings(DEFAULT_AUTO_FIELD="django.db.models.BigAutoField"):
            apps.get_app_config("blog").default_auto_field = "sno.django.SnoAutoField"

            class Label(models.Model):
                class Meta:
                    app_label = "blog"

            class Page(models.Model):
                labels = models.ManyToManyField(Label)

                class Meta:
                    app_label = "blog"

            self.assertEqual((type(Page._meta.pk), Page._meta.pk.meta), (SnoField, 0))
            self.assertEqual(type(Page.labels.through._meta.pk), models.BigAutoField)
