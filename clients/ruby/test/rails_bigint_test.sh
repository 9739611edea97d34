# shellcheck shell=bash
#
# Rails' keys of type bigint, by a generator: doc/drivers.md, "Keys of type bigint".  This is
# ActiveRecord as the tasks of db: use it, without an adapter.

create_bigint_generators

cat >database.rb <<'RUBY'
require "active_record"

ActiveRecord::Base.configurations = {
  "development" => { "adapter" => "postgresql", "database" => ENV["PGDATABASE"] }
}
Config = ActiveRecord::Base.configurations.configs_for(env_name: "development").first
Tasks = ActiveRecord::Tasks::DatabaseTasks
Tasks.env = "development"
Tasks.root = Tasks.db_dir = "."
ActiveRecord::Base.establish_connection(Config)
ActiveRecord::Base.connection
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(Module.new { def schema_names = super - ["sno_catalog"] })
ActiveRecord::Migration.verbose = false

class Person < ActiveRecord::Base
  has_many :letters
end

class Letter < ActiveRecord::Base
  belongs_to :person
end

class CreateTables < ActiveRecord::Migration[6.1]
  def change
    create_table :people, id: :bigint, default: -> { "sno_flake_generate('people'::text)" } do |t|
      t.text :name, null: false
    end
    create_table :letters, id: :bigint, default: -> { "sno_flake_generate('letters'::text)" } do |t|
      t.references :person, null: false, foreign_key: true
    end
  end
end
RUBY
rails() { /usr/bin/ruby -I. -rdatabase -e "$1"; }

works 'migrate' rails 'CreateTables.new.migrate(:up)'
bigint_tables_are_well 'migrate'
works 'db:schema:dump' rails 'Tasks.dump_schema(Config, :ruby)'
is "$(grep -E 'create_table' schema.rb)" \
'  create_table "letters", id: :bigint, default: -> { "sno_flake_generate('"'letters'::text"')" }, force: :cascade do |t|
  create_table "people", id: :bigint, default: -> { "sno_flake_generate('"'people'::text"')" }, force: :cascade do |t|' 'schema.rb has the defaults'
mv schema.rb first.rb
works 'db:schema:load' rails 'Tasks.load_schema(Config, :ruby, "first.rb")'
bigint_tables_are_well 'db:schema:load'
works 'db:schema:dump again' rails 'Tasks.dump_schema(Config, :ruby)'
is "$(cat schema.rb)" "$(cat first.rb)" 'schema.rb is the same'

works 'models' rails '
def same(seen, wanted) = seen == wanted || raise("#{seen.inspect}, not #{wanted.inspect}")

ada = Person.create!(name: "Bob")
same([ada.id.class, ada.id > 2**60, Person.find(ada.id), Person.find(ada.id.to_s)], [Integer, true, ada, ada])
same(Person.find_by(name: "Bob").id, ada.id)
many = Person.insert_all((1..100).map { |n| { name: n.to_s } }, returning: :id).rows.flatten
same([many.uniq.size, Person.find(many[36]).name], [100, "37"])
same(Person.where(id: [ada.id, many[6]]).order(:id).pluck(:name), %w[Bob 7])
same(Person.where(id: ada.id.succ..).order(:id).ids, many)
letter = Letter.create!(person: ada)
same([letter.person_id, Letter.joins(:person).where(people: { name: "Bob" }).to_a], [ada.id, [letter]])
same(Person.includes(:letters).find(ada.id).letters.to_a, [letter])
[2**53 + 1, 2**63 - 1].each { |id| same(Person.find(Person.create!(id: id, name: "given").id).id, id) }
Person.connection.reset_pk_sequence!("people")
same(Person.create!(name: "Cy").id > many.last, true)
'
works 'migrate back' rails 'CreateTables.new.migrate(:down)'
is "$(columns)" '' 'the tables are gone'
