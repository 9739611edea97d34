# shellcheck shell=bash
#
# Alembic with keys of type bigint: doc/drivers.md, "Keys of type bigint".

export PYTHONDONTWRITEBYTECODE=yes
create_bigint_generators

cat >models.py <<'PYTHON'
from sqlalchemy import BigInteger, Column, ForeignKey, Text, text
from sqlalchemy.orm import declarative_base

Base = declarative_base()


class Person(Base):
    __tablename__ = "people"
    id = Column(BigInteger, primary_key=True, server_default=text("sno_flake_generate('people'::text)"))
    name = Column(Text, nullable=False)


class Letter(Base):
    __tablename__ = "letters"
    id = Column(BigInteger, primary_key=True, server_default=text("sno_flake_generate('letters'::text)"))
    person_id = Column(BigInteger, ForeignKey("people.id"), nullable=False)
PYTHON
/usr/bin/alembic init migrations >/dev/null
cat >migrations/env.py <<'PYTHON'
from alembic import context
from sqlalchemy import create_engine
from models import Base

with create_engine("postgresql+psycopg2://").connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()
PYTHON
export PYTHONPATH=.
works 'the revision of the models' /usr/bin/alembic revision --autogenerate -m models
works 'upgrade' /usr/bin/alembic upgrade head
works 'the next revision' /usr/bin/alembic revision --autogenerate -m next
is "$(grep -hoE '\bop\.\w+\([^,)]*' migrations/versions/*_next.py)" '' 'it is empty'
bigint_tables_are_well 'upgrade'
