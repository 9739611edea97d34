# Names before ids: the cases of test/vectors/prefixes.tsv, by the package and by the database.

import os

import psycopg2
from readme import run
from sno import Sno
from sno.prefixes import Prefixes
from tap import done, ok, raises, same

with open(os.environ["CLIENTS"] + "/../test/vectors/prefixes.tsv", encoding="utf-8") as file:
    rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def cases(kind):
    found = [rest for first, *rest in rows if first == kind]
    ok(found, f"there are cases: {kind}")
    return found


table = {int(meta): prefix for meta, prefix in cases("prefix")}
prefixes = Prefixes(table)
connection = psycopg2.connect("")
connection.autocommit = True
cursor = connection.cursor()
cursor.executemany("INSERT INTO sno_catalog.sno_prefix VALUES (%s, %s)", table.items())


def ask(query, *values):
    cursor.execute("SELECT " + query, values)
    return cursor.fetchone()[0]


for meta, prefix in cases("badprefix"):
    raises(ValueError, lambda: Prefixes({**table, int(meta): prefix}), f"row {meta} {prefix!r}")
    raises(
        psycopg2.IntegrityError,
        lambda: cursor.execute("INSERT INTO sno_catalog.sno_prefix VALUES (%s, %s)", [meta, prefix]),
        "the table refuses it, too",
    )
for text, id in cases("id"):
    same(prefixes.read(text), Sno(id), f"read {text}")
    same(prefixes.write(id), text, "and write it")
    same(prefixes.prefix(id), ask("sno_prefix(%s)", id), "its prefix")
    same((ask("sno_from_prefixed(%s)", text), ask("sno_prefixed(%s)", id)), (id, text), "the database does the same")
for (text,) in cases("badid"):
    raises(ValueError, lambda: prefixes.read(text), f"text {text!r}")
    raises(psycopg2.DataError, lambda: ask("sno_from_prefixed(%s)", text), "the database refuses it, too")
for (id,) in cases("noprefix"):
    same(prefixes.prefix(id), None, "no prefix")
    raises(LookupError, lambda: prefixes.write(id), "so it can't be written")
    raises(psycopg2.errors.UndefinedObject, lambda: ask("sno_prefixed(%s)", id), "nor by the database")

for wrong in "user_brpk4q725cf2m63l\n", "user\n_brpk4q725cf2m63l", "user_\0rpk4q725cf2m63l":
    raises(ValueError, lambda: prefixes.read(wrong), f"text {wrong!r}")
raises(ValueError, lambda: Prefixes({2: "user\n"}), "a prefix with a line feed")
for wrong in None, 5, b"user_brpk4q725cf2m63l":
    raises(TypeError, lambda: prefixes.read(wrong), f"no text: {wrong!r}")
    raises(TypeError, lambda: Prefixes({2: wrong}), f"no prefix: {wrong!r}")

# README's query, which any role may run.
cursor.execute("CREATE ROLE prefixes_nobody; SET ROLE prefixes_nobody")
example = run("prefixes", cursor=cursor, id=Sno("brpk4q725cf2m63l"))
cursor.execute("RESET ROLE; DROP ROLE prefixes_nobody")
same((example["text"], example["again"]), ("user_brpk4q725cf2m63l", "brpk4q725cf2m63l"), "README's example")
same(example["prefixes"]._prefixes, table, "it reads all prefixes")

done()
