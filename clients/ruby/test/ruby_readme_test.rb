# frozen_string_literal: true

# The examples of clients/ruby/README.md.

require "active_record"
require "active_support/core_ext/date"
require "activerecord-sno"
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

CreateTables.new.migrate(:down)
same([connection.tables, connection.extension_enabled?("sno")], [[], false], "the migration back")

Tap.done
