# shellcheck shell=bash
#
# Alembic: autogenerate compares the models with the database.

export PYTHONPATH=$CLIENTS/python:$CLIENTS/python/test:. PYTHONDONTWRITEBYTECODE=yes
readme() { /usr/bin/python3 "$CLIENTS/python/test/readme.py" "$@"; }

readme sqlalchemy >models.py
readme alembic >hooks.py
/usr/bin/alembic init migrations >/dev/null
cat >migrations/env.py <<'PYTHON'
import os

from alembic import context
from sqlalchemy import create_engine
from hooks import hooks
from models import Base

with create_engine("postgresql+psycopg2://").connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        compare_server_default=True,
        include_schemas="ALL_SCHEMAS" in os.environ,
        **hooks,
    )
    with context.begin_transaction():
        context.run_migrations()
PYTHON

alembic() { /usr/bin/alembic "$@"; }

# What the revision of that name does.
operations() { grep -hoE '\bop\.\w+\([^,)]*' migrations/versions/*_"$1".py; }

works 'a revision by hand' alembic revision -m extension
sed -i "0,/    pass/s//    op.execute('CREATE EXTENSION sno')/" migrations/versions/*_extension.py
works 'upgrade' alembic upgrade head
create_extension
works 'the revision of the models' alembic revision --autogenerate -m models
is "$(operations models)" "op.create_table('customers'
op.create_table('orders'
op.drop_table('orders'
op.drop_table('customers'" 'it is about the models only'
is "$(grep -c 'SNO' migrations/versions/*_models.py)" 5 'it has the type'
works 'upgrade to the models' alembic upgrade head
all_is_well 'upgrade'

works 'the next revision' alembic revision --autogenerate -m next
is "$(operations next)" '' 'it is empty'
is "$(grep -c 'Did not recognize' said)" 0 'the type is known'
is "$(grep -c 'SNO' migrations/versions/*_next.py)" 0 'it imports nothing that it does not need'

works 'upgrade again' alembic upgrade head
mv models.py models.old
readme sqlalchemy-ids >models.py
works 'a revision of models that make their keys' alembic revision --autogenerate -m own
is "$(operations own)" '' 'it is empty, too'
mv models.old models.py
works 'upgrade to that' alembic upgrade head
export ALL_SCHEMAS=yes
works 'a revision of all schemas' alembic revision --autogenerate -m all
is "$(operations all)" '' 'and it is empty'
unset ALL_SCHEMAS
works 'upgrade to that' alembic upgrade head

cat >>models.py <<'PYTHON'


class Visit(Base):
    __tablename__ = "visits"
    id = Column(SNO, primary_key=True)
    seen = Column(ARRAY(SNO), nullable=False)


Customer.referrer = Column(SNO)
Order.related.property.columns[0].nullable = False
PYTHON
sql -c "UPDATE orders SET related = '{}'"
works 'a revision of a change' alembic revision --autogenerate -m change
is "$(operations change | head -n 3 | sort)" "op.add_column('customers'
op.alter_column('orders'
op.create_table('visits'" 'it has the change'
works 'upgrade to the change' alembic upgrade head
works 'no change is left' alembic revision --autogenerate -m nothing
is "$(operations nothing)" '' 'so the revision is empty'

works 'downgrade' alembic downgrade -2
all_is_well 'downgrade'
works 'downgrade to the extension' alembic downgrade "$(
    sed -n "s/^revision.* = '\(.*\)'/\1/p" migrations/versions/*_extension.py)"
extension_is_kept 'downgrade to the extension'
