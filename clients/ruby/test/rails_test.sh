# shellcheck shell=bash
#
# Rails: migrations there and back; schema.rb and structure.sql are made of the
# database, and loaded into others.  This is ActiveRecord as the tasks of db: use it,
# without an application.

ruby_home=$CLIENTS/ruby

# The gem, as it is installed.
cp -r "$ruby_home" source
works 'gem build' env -C source gem build --output "$PWD/sno.gem" activerecord-sno.gemspec
works 'gem install' gem install --local --ignore-dependencies --no-document --install-dir "$PWD/gems" sno.gem
is "$(cd gems/gems/activerecord-sno-* && find . -type f | sort)" \
'./README.md
./lib/activerecord-sno.rb
./lib/sno.rb
./lib/sno/active_record.rb
./lib/sno/feed.rb
./lib/sno/generator.rb
./lib/sno/loan.rb
./lib/sno/prefixes.rb
./lib/sno/seals.rb
./lib/sno/sources.rb' 'the gem has what is needed'

# The line of clients/ruby/README.md for Rails, which requires what the Gemfile names.
example 'ruby Gemfile' >Gemfile
works 'Gemfile' env GEM_PATH="$PWD/gems:$(gem env path)" /usr/bin/ruby -rbundler/setup \
    -e 'Bundler.require; require "active_record"; ActiveRecord::Base
        ActiveRecord::Type.lookup(:sno, adapter: :postgresql)'

cat >database.rb <<'RUBY'
require ENV["ADAPTER"] if ENV["ADAPTER"]
require "active_record"

ActiveRecord::Base.configurations = {
  "development" => { "adapter" => "postgresql", "database" => ENV["PGDATABASE"] }
}
Config = ActiveRecord::Base.configurations.configs_for(env_name: "development").first
Tasks = ActiveRecord::Tasks::DatabaseTasks
Tasks.env = "development"
Tasks.root = Tasks.db_dir = "."
ActiveRecord::Base.establish_connection(Config)

class Customer < ActiveRecord::Base
  has_many :orders
end

class Order < ActiveRecord::Base
  belongs_to :customer
end
RUBY

cat >migration.rb <<'RUBY'
ActiveRecord::Migration.verbose = false

class CreateTables < ActiveRecord::Migration[6.1]
  def change
    enable_extension "sno" unless extension_enabled?("sno")
    create_table :customers, id: :sno, default: -> { "sno_generate(1)" } do |t|
      t.text :name, null: false
    end
    create_table :orders, id: :sno, default: -> { "sno_generate(2)" } do |t|
      t.references :customer, type: :sno, null: false, foreign_key: true
      t.sno :related, array: true
    end
  end
end

class AddColumns < ActiveRecord::Migration[6.1]
  def change
    change_table :customers, bulk: true do |t|
      t.sno :invited_by
      t.sno :tags, array: true, null: false, default: []
    end
    add_column :orders, :first_id, :sno, default: "2222222222222222"
    change_column_default :orders, :related, from: nil, to: []
  end
end
RUBY

rails() { GEM_PATH="$PWD/gems:$(gem env path)" /usr/bin/ruby -I. -rdatabase -e "$1"; }
migrate() { rails "require 'migration'; $1.new.migrate(:$2)"; }

models='
ada = Customer.create!(name: "Ada")
bob = Customer.create!(name: "Bob")
raise ada.id unless ada.id.meta == 1 && ada.id < bob.id
Order.create!(customer: ada, related: [bob.id])
raise "no order" unless Customer.find(ada.id).orders.first.related == [bob.id]
raise "no id" unless Customer.where(id: [ada.id, bob.id]).count == 2
'

# dumped TABLE: what schema.rb says of it.
dumped() { sed -n "/create_table \"$1\"/,/^  end/p" schema.rb; }
dump() { works "$1: db:schema:dump" rails 'Tasks.dump_schema(Config, :ruby)'; }

export ADAPTER=activerecord-sno
works 'migrate' migrate CreateTables up
create_extension
all_is_well 'migrate'
works 'models' rails "$models"

dump 'migrated'
is "$(grep -E '^ *(enable_extension "[^p]|create_schema|create_table|t\.)' schema.rb | sed 's/"public\./"/')" \
'  enable_extension "sno"
  create_table "customers", id: :sno, default: -> { "sno_generate(1)" }, force: :cascade do |t|
    t.text "name", null: false
  create_table "orders", id: :sno, default: -> { "sno_generate(2)" }, force: :cascade do |t|
    t.sno "customer_id", null: false
    t.sno "related", array: true
    t.index ["customer_id"], name: "index_orders_on_customer_id"' 'schema.rb has the extension, and the tables of the user only'
is "$(grep -cE 'Could not dump|Unknown type' schema.rb)" 0 'and all of them'
cp schema.rb first.rb

works 'db:structure:dump' rails 'Tasks.dump_schema(Config, :sql)'
mkdir -p db && mv structure.sql db
{ echo 'task "db:schema:dump"'; example 'ruby rake'; echo 'Rake::Task["db:schema:dump"].invoke'; } >tasks.rb
works 'a task that adds definitions' rails 'require "rake"; include Rake::DSL; load "tasks.rb"'
mv db/structure.sql .
is "$(grep -E '^CREATE (SCHEMA|EXTENSION|TABLE|VIEW|FUNCTION|TYPE)' structure.sql)" \
'CREATE EXTENSION IF NOT EXISTS sno WITH SCHEMA pg_catalog;
CREATE TABLE public.customers (
CREATE TABLE public.orders (' 'so has structure.sql'

# There and back.
works 'another migration' migrate AddColumns up
works 'models after it' rails "$models"
dump 'another migration'
is "$(dumped customers; dumped orders)" \
'  create_table "customers", id: :sno, default: -> { "sno_generate(1)" }, force: :cascade do |t|
    t.text "name", null: false
    t.sno "invited_by"
    t.sno "tags", default: [], null: false, array: true
  end
  create_table "orders", id: :sno, default: -> { "sno_generate(2)" }, force: :cascade do |t|
    t.sno "customer_id", null: false
    t.sno "related", default: [], array: true
    t.sno "first_id", default: "2222222222222222"
    t.index ["customer_id"], name: "index_orders_on_customer_id"
  end' 'schema.rb has its columns, with their defaults'
use_new_database rails_more
works 'db:schema:load of it' rails 'Tasks.load_schema(Config, :ruby, "schema.rb")'
cp schema.rb wanted.rb
dump 'loaded'
is "$(cat schema.rb)" "$(cat wanted.rb)" 'loaded and dumped, it is the same'
export PGDATABASE=rails
works 'that migration back' migrate AddColumns down
dump 'that migration back'
is "$(cat schema.rb)" "$(cat first.rb)" 'schema.rb is as before'
all_is_well 'that migration back'
works 'all back' migrate CreateTables down
is "$(columns)$(sql -c "SELECT extname FROM pg_extension WHERE extname = 'sno'")" sno 'only the extension is left'
extension_is_kept 'all back'

use_new_database rails_schema
works 'db:schema:load' rails 'Tasks.load_schema(Config, :ruby, "first.rb")'
create_extension
all_is_well 'db:schema:load'
works 'db:schema:load: models' rails "$models"
works 'db:schema:load again' rails 'Tasks.load_schema(Config, :ruby, "first.rb")'
extension_is_kept 'db:schema:load again'

use_new_database rails_structure
works 'db:structure:load' rails 'Tasks.load_schema(Config, :sql, "structure.sql")'
all_is_well 'db:structure:load'
works 'db:structure:load: models' rails "$models"

unset ADAPTER
dump 'without the adapter'
is "$(grep -c 'Could not dump table' schema.rb)" 2 'without the adapter it has no tables of ids'
