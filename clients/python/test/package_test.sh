# shellcheck shell=bash
#
# The package as pip installs it, from a copy of the folder (clients/python/README.md).

/usr/bin/python3 -c 'import setuptools, pip' 2>/dev/null || skip_all 'no pip'

cp -r "$CLIENTS/python" source
works 'pip install' /usr/bin/python3 -m pip install --no-input --no-index --no-deps \
    --no-build-isolation --disable-pip-version-check --target installed ./source
is "$(cd installed && find sno -name '*.py*' ! -name '*.pyc' | sort)" "$(
    cd "$CLIENTS/python" && find sno -name '*.py*' ! -name '*.pyc' | sort)" 'all modules are there'
is "$(find installed -name LICENSE | wc -l)" 1 'so is the license'

cat >application.py <<'PYTHON'
from importlib.metadata import metadata, requires

import sno
import sno.alembic
import sno.asyncpg
import sno.django
import sno.feed
import sno.generator
import sno.psycopg
import sno.psycopg2
import sno.seal
import sno.sqlalchemy

assert "installed" in sno.__file__
assert sno.Sno("brpk4q72xwf2m63l").meta == 255
about = metadata("postgresql-sno")
print(about["Name"], about["Version"], about["Requires-Python"])
print(*sorted(about.get_all("Provides-Extra")))
assert all("extra ==" in need for need in requires("postgresql-sno"))
assert about.get_payload().startswith("# sno for Python")
PYTHON
works 'an application' env PYTHONPATH=installed /usr/bin/python3 -W error application.py
is "$(cat said)" 'postgresql-sno 0.9.0 >=3.9
alembic asyncpg django psycopg psycopg2 seal sqlalchemy' 'metadata'
works 'types, compiled' /usr/bin/python3 -W error -m compileall -q installed/sno
