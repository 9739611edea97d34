# shellcheck shell=bash
#
# Alembic: autogenerate compares the models with the database.

create_extension
/usr/bin/alembic init migrations >/dev/null
sed -i 's/^import sqlalchemy as sa$/&\nimport models/' migrations/script.py.mako
cat >migrations/env.py <<'PYTHON'
import os

from alembic import context
from sqlalchemy import create_engine
from models import Base
from schemas import include_name

options = {}
if "ALL_SCHEMAS" in os.environ:
    options = {"include_schemas": True, "include_name": include_name}

with create_engine("postgresql+psycopg2://").connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        compare_type=True,
        compare_server_default=True,
        **options,
    )
    with context.begin_transaction():
        context.run_migrations()
PYTHON

# alembic COMMAND...: Debian's, with the models in reach.
alembic() { PYTHONPATH=. /usr/bin/alembic "$@"; }

# What the revision of that name does.
operations() { grep -hoE '\bop\.\w+\([^,)]*' migrations/versions/*_"$1".py; }

works 'the first revision' alembic revision --autogenerate -m first
is "$(operations first)" "op.create_table('customers'
op.create_table('orders'
op.drop_table('orders'
op.drop_table('customers'" 'it is about the models only'
works 'upgrade' alembic upgrade head
all_is_well 'upgrade'

works 'the next revision' alembic revision --autogenerate -m next
is "$(operations next)" '' 'it is empty'
is "$(grep -c 'Did not recognize' said)" 0 'the type is known'

works 'upgrade again' alembic upgrade head
export ALL_SCHEMAS=yes
works 'a revision of all schemas' alembic revision --autogenerate -m all
is "$(operations all)" '' 'it is empty, too'

works 'models' env PYTHONPATH=. /usr/bin/python3 - <<'PYTHON'
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from models import Customer, Order

with Session(create_engine("postgresql+psycopg2://")) as session:
    ada = Customer(name="Ada")
    session.add(ada)
    session.flush()
    session.add(Order(customer_id=ada.id))
    session.commit()
    assert session.query(Order).filter_by(customer_id=ada.id).count() == 1
PYTHON

works 'downgrade' alembic downgrade base
extension_is_kept 'downgrade'
