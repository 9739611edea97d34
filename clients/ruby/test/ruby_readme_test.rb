# frozen_string_literal: true

# The examples of clients/ruby/README.md.

require "active_record"
require "active_support/core_ext/date"
require "activerecord-sno"
require "sno/seals"
require "tap"

def example(name)
  File.read("#{ENV["CLIENTS"]}/ruby/README.md")[/^```ruby #{name}\n(.*?)^```$/m, 1]
end

ActiveRecord::Base.establish_connection(adapter: "postgresql")
ActiveRecord::Migration.verbose = false
connection = ActiveRecord::Base.connection
connection.execute("DROP TABLE customers, orders; DROP EXTENSION sno")

class Customer < ActiveRecord::Base
end

class Order < ActiveRecord::Base
  belongs_to :customer
end

eval(example("migration"))
CreateTables.new.migrate(:up)
same(connection.tables.sort, %w[customers orders], "migration")
same(Order.columns.map { |column| [column.name, column.type, column.array] },
     [["id", :sno, false], ["customer_id", :sno, false], ["related", :sno, true]], "its columns")

# Each line gives a value.
here = binding
values = example("models").lines.map { |line| eval(line, here) }
ada, id, time, order, *found = values
same([id.class, id, time], [Sno, ada.reload.id, id.time], "an id")
same(order.reload.related, [id, nil], "an array")
same(found, [[ada], [order], [ada], [order]], "conditions")

# Ids that the application makes.
id = eval(example("generator"))
same([id.class, id.meta, IDS.stats.values_at(:issued, :taken, :failed)], [Sno, 1, [1, 1, 0]], "a generator")
eval(example("generator models"))
eve = Customer.new(name: "Eve")
made = eve.id
order = Order.new(customer: eve)
same([eve.save!, order.save!, order.reload.customer.id, eve.reload.name, order.id.meta],
     [true, true, made, "Eve", 2], "keys of models")
eval(example("generator batch"))
same(Order.last(2).map { |one| one.customer.name }, %w[Ada Bob], "a batch")
same(Sno::Generator.new(eval(example("generator rails"))).next.class, Sno, "with the pool")

CreateTables.new.migrate(:down)
same([connection.tables, connection.extension_enabled?("sno")], [[], false], "the migration back")

# Each line but the first says what it gives.
setting, *calls = example("seals").lines
eval(setting)
same(calls.map { |call| eval(call) }, calls.map { |call| eval(call[/(?<=# )("[^"]*"|nil)/]) }, "sealed ids")

Tap.done
