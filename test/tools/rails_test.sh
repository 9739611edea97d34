# shellcheck shell=bash
#
# Rails: schema.rb and structure.sql are made of the database, and loaded into
# others.  This is ActiveRecord as the tasks of db: use it, without an application.

cat >database.rb <<'RUBY'
require "active_record"
require ENV["INITIALIZER"] if ENV["INITIALIZER"]

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

rails() { /usr/bin/ruby -I. -rdatabase -e "$1"; }

models='
ada = Customer.create!(name: "Ada")
bob = Customer.create!(name: "Bob")
raise ada.id unless ada.id.size == 16 && ada.id < bob.id
Order.create!(customer: ada)
raise "no order" unless Customer.find(ada.id).orders.count == 1
raise "no id" unless Customer.where(id: [ada.id, bob.id]).count == 2
'

export INITIALIZER=$PWD/initializer.rb
works 'migrate' rails 'require "migration"; ActiveRecord::Migration.suppress_messages { CreateTables.new.migrate(:up) }'
create_extension
all_is_well 'migrate'
works 'models' rails "$models"

works 'db:schema:dump' rails 'Tasks.dump_schema(Config, :ruby)'
is "$(grep -E '^ *(enable_extension "[^p]|create_schema|create_table|t\.)' schema.rb)" \
'  enable_extension "sno"
  create_table "customers", id: :sno, default: -> { "sno_generate(1)" }, force: :cascade do |t|
    t.text "name", null: false
  create_table "orders", id: :sno, default: -> { "sno_generate(2)" }, force: :cascade do |t|
    t.sno "customer_id", null: false
    t.index ["customer_id"], name: "index_orders_on_customer_id"' 'schema.rb has the extension, and the tables of the user only'
is "$(grep -c 'Could not dump' schema.rb)" 0 'and all of them'

works 'db:structure:dump' rails 'Tasks.dump_schema(Config, :sql)'
is "$(grep -E '^CREATE (SCHEMA|EXTENSION|TABLE|VIEW|FUNCTION|TYPE)' structure.sql)" \
'CREATE EXTENSION IF NOT EXISTS sno WITH SCHEMA public;
CREATE TABLE public.customers (
CREATE TABLE public.orders (' 'so has structure.sql'

use_new_database rails_schema
works 'db:schema:load' rails 'Tasks.load_schema(Config, :ruby, "schema.rb")'
create_extension
all_is_well 'db:schema:load'
works 'db:schema:load: models' rails "$models"
works 'db:schema:load again' rails 'Tasks.load_schema(Config, :ruby, "schema.rb")'
extension_is_kept 'db:schema:load again'

use_new_database rails_structure
works 'db:structure:load' rails 'Tasks.load_schema(Config, :sql, "structure.sql")'
create_extension
all_is_well 'db:structure:load'
works 'db:structure:load: models' rails "$models"

unset INITIALIZER
works 'db:schema:dump without the initializer' rails 'Tasks.dump_schema(Config, :ruby)'
is "$(grep -c 'Could not dump table' schema.rb)" 2 'says that it has no tables of ids'
