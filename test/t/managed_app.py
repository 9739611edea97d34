"""The application of tool_managed.pl, which writes the modules of the models.

    managed_app.py SQLAlchemy|Django STEP DSN

Each step is a process of the application, and prints one value a line.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

orm, step, dsn = sys.argv[1:]
now, hour = datetime.now(timezone.utc), timedelta(hours=1)


class WithSqlalchemy:
    def __init__(self):
        import sqlalchemy
        from sqlalchemy.orm import Session
        from sqlalchemy.pool import NullPool

        import shop_models

        self.models, self.sqlalchemy = shop_models, sqlalchemy
        self.engine = sqlalchemy.create_engine("postgresql+psycopg2://?" + dsn, poolclass=NullPool)
        self.session = lambda: Session(self.engine)

    def create(self):
        self.models.Base.metadata.create_all(self.engine)

    def tables(self):
        """The tables that a migration tool might take for its own."""
        return self.sqlalchemy.inspect(self.engine).get_table_names(schema="sno")

    def run(self, script):
        with self.engine.begin() as connection:
            connection.execution_options(no_parameters=True).exec_driver_sql(script)

    def insert(self, names):
        with self.session() as session:
            new = [self.models.Document(name=name) for name in names]
            for document in new:
                session.add(document)
                session.commit()
            return [document.id for document in new]

    def insert_at_once(self, names):
        with self.session() as session:
            new = [self.models.Document(name=name) for name in names]
            session.add_all(new)
            session.commit()
            return [document.id for document in new]

    def get(self, id):
        with self.session() as session:
            return session.get(self.models.Document, id).name

    def between(self, start, end):
        func, Document = self.sqlalchemy.func, self.models.Document
        with self.session() as session:
            found = session.query(Document.name).filter(func.sno.sno_during(Document.id, func.tstzrange(start, end)))
            return [name for (name,) in found.order_by(Document.id)]

    def times(self):
        functions = self.sqlalchemy.func.sno
        with self.session() as session:
            found = session.query(functions.sno_timestamp(functions.sno_from_uuidv8(self.models.Document.id)))
            return [time for (time,) in found]


class WithDjango:
    def __init__(self):
        import django
        from django.conf import settings

        words = dict(word.split("=") for word in dsn.split("&"))
        settings.configure(
            DATABASES={
                "default": {
                    "ENGINE": "django.db.backends.postgresql",
                    "NAME": words["dbname"],
                    "USER": words["user"],
                    "HOST": words["host"],
                    "PORT": words["port"],
                    # as Django's manual says for pools of transactions
                    "DISABLE_SERVER_SIDE_CURSORS": True,
                }
            },
            INSTALLED_APPS=["shop"],
            USE_TZ=True,
        )
        django.setup()
        import shop.models

        self.models = shop.models

    def create(self):
        from django.db import connection

        with connection.schema_editor() as editor:
            editor.create_model(self.models.Document)

    def insert(self, names):
        return [self.models.Document.objects.create(name=name).id for name in names]

    def insert_at_once(self, names):
        new = [self.models.Document(name=name) for name in names]
        return [document.id for document in self.models.Document.objects.bulk_create(new)]

    def get(self, id):
        return self.models.Document.objects.get(id=id).name

    def between(self, start, end):
        found = self.models.Document.objects.filter(self.models.during("id", start, end))
        return [document.name for document in found.order_by("id")]

    def times(self):
        found = self.models.Document.objects.annotate(time=self.models.time_of("id"))
        return [document.time for document in found]


app = {"SQLAlchemy": WithSqlalchemy, "Django": WithDjango}[orm]()


def attempt(action):
    """The result, or the SQLSTATE of the error."""
    try:
        return action()
    except Exception as error:
        return getattr(error, "orig", error.__cause__).pgcode


shown = ()
if step == "install":
    app.run(sys.stdin.read())
    shown = app.tables()
elif step == "create":
    app.create()
elif step == "write":
    shown = app.insert([f"a{n}" for n in range(100)]) + app.insert_at_once([f"b{n}" for n in range(1000)])
    with ThreadPoolExecutor(8) as threads:
        for ids in threads.map(lambda n: app.insert([f"c{n}.{m}" for m in range(50)]), range(8)):
            shown += ids
elif step == "read":
    shown = (
        len(app.between(now - hour, now + hour)),
        len(app.between(now - 2 * hour, now - hour)),
        app.between(None, None)[0],
        all(timedelta() <= now - time < hour for time in app.times()),
        attempt(lambda: app.insert(["late"])),
    )
elif step == "get":
    shown = map(app.get, sys.stdin.read().split())
print(*shown, sep="\n")
