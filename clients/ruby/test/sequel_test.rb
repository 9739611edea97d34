# frozen_string_literal: true

# Sequel: the example of clients/ruby/README.md.

require "tap"

begin
  require "sequel"
rescue LoadError
  puts "1..0 # SKIP no Sequel"
  exit
end

DB = Sequel.connect("postgres:///")
columns = lambda do
  %i[customers orders].map do |table|
    DB.schema(table).map { |name, column| [name, *column.values_at(:db_type, :default, :primary_key, :allow_null)] }
  end
end
wanted = columns.call
DB.drop_table(:orders, :customers)
here = binding
eval(File.read("#{ENV["CLIENTS"]}/ruby/README.md")[/^```ruby sequel\n(.*?)^```$/m, 1], here)
ada, order, some, recent = %i[ada order some recent].map { |name| here.local_variable_get(name) }

same(columns.call, wanted, "a migration")
same([DB["SELECT sno_meta(id) FROM customers"].get, ada.refresh.name], [1, "Ada"], "a key of the database")
same([some, recent, Customer[ada.id]], [[ada], [ada], ada], "a list, a range of time, find")
same([order.refresh.related, Order.where(Sequel.lit("? = ANY (related)", ada.id)).all], [[ada.id, nil], [order]], "an array")
same([order.customer, ada.orders, Customer.eager(:orders).all[0].orders, Customer.association_join(:orders).count],
     [ada, [order], [order], 1], "relations")
ada.update(name: "Ada Lovelace")
same(Customer[ada.id].name, "Ada Lovelace", "a row that is changed")
same(DB[:customers].insert(name: "Bob"), DB[:customers].max(:id), "a key of a dataset")
begin
  Customer["not an id"]
  same(true, false, "a wrong id")
rescue Sequel::DatabaseError => e
  same(e.wrapped_exception.result.error_field(PG::Result::PG_DIAG_SQLSTATE), "22P02", "a wrong id")
end
DB.extension :schema_dumper
dump = DB.dump_schema_migration(same_db: true)
same([dump.include?('column :id, "sno", :default=>Sequel::LiteralString.new("sno_generate(1)")') ||
      dump.include?('column :id, "sno", default: Sequel::LiteralString.new("sno_generate(1)")'), DB.tables.sort],
     [true, %i[customers orders]], "introspection")
order.delete
same(Order.count, 0, "a row that is deleted")

Tap.done
