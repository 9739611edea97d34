# frozen_string_literal: true

# Models over the tables of tables.sql.

require "active_record"
require "activerecord-sno"
require "sno/generator"
require "tap"

ActiveRecord::Base.establish_connection(adapter: "postgresql", pool: 3)

class Customer < ActiveRecord::Base
  has_many :orders
end

class Order < ActiveRecord::Base
  belongs_to :customer
end

def value(sql) = ActiveRecord::Base.connection.select_value(sql)

def execute(sql) = ActiveRecord::Base.connection.execute(sql)

def names(relation) = relation.order(:id).pluck(:name)

def invalid(state, name)
  yield
  Tap.report(false, name, nil)
rescue ActiveRecord::StatementInvalid => e
  same(e.cause.result.error_field(PG::PG_DIAG_SQLSTATE), state, name)
end

ada = Customer.create!(name: "Ada")
bob = Customer.create!(name: "Bob")
same([ada.id.class, ada.id], [Sno, value("SELECT min(id)::text FROM customers")], "RETURNING")
same([ada.id.meta, ada.id.time], [1, Time.at(value("SELECT min(id)::timestamptz FROM customers").to_r)], "fields")
same([Customer.find(ada.id), Customer.find(ada.id.to_s), Customer.find_by(id: bob.id)], [ada, ada, bob], "find")
same([ada.to_param, ada.id.to_json, ada.as_json["id"]], [ada.id, "\"#{ada.id}\"", ada.id], "URLs and JSON")
same(names(Customer.where(id: [bob.id, ada.id.to_s, nil])), %w[Ada Bob], "IN")
same(names(Customer.where("id = ANY (ARRAY[?]::sno[])", [ada.id, bob.id])), %w[Ada Bob], "= ANY")
same(names(Customer.where(id: ada.id).or(Customer.where("id > ?", ada.id))), %w[Ada Bob], "a condition in SQL")
same(names(Customer.where(id: bob.id..)), %w[Bob], "a range of ids")

first = Order.create!(customer: ada, related: [ada.id, nil, bob.id.to_s])
second = Order.create!(customer_id: bob.id.to_s, related: [[ada.id, nil], [bob.id, first.id]])
third = Order.create!(customer: ada)
Order.create!(customer: ada, related: [])
same(Order.order(:id).map { |order| [order.customer_id, order.related] },
     [[ada.id, [ada.id, nil, bob.id]], [bob.id, [[ada.id, nil], [bob.id, first.id]]], [ada.id, nil], [ada.id, []]],
     "arrays with nulls, of two dimensions, null and empty")
same(first.reload.related.first.class, Sno, "their elements are ids")
same(Order.where(related: [ada.id, nil, bob.id]).ids, [first.id], "an array as a parameter")
same(Order.where("? = ANY (related)", ada.id).order(:id).ids, [first.id, second.id], "an element of an array")
first.related << ada.id
same([first.changed, first.save!, first.reload.related.last], [["related"], true, ada.id], "an array that changes")
third.update!(customer_id: ada.id.to_s)
same(third.saved_changes, {}, "the text of an id is the id")

same(names(Customer.joins(:orders).where(orders: { id: second.id })), %w[Bob], "joins")
same(Customer.includes(:orders).order(:id).map { |customer| customer.orders.size }, [3, 1], "includes")

hour = 3600
now = Time.now
[now - hour.., (now - hour)..(now + hour), ..now + hour, (now - hour).to_datetime..., Date.today - 2..].each do |range|
  same([names(Customer.where(id: range)), names(Customer.where.not(id: range))], [%w[Ada Bob], []], "id: #{range}")
end
same(names(Customer.where(id: ..now - hour)), [], "a range of time before")
start = ada.id.time
same([start..start, start...start, start + Rational(1, 1000)...start + Rational(1, 250), nil..start].map { |range|
  names(Customer.where(id: ada.id, name: "Ada").where(id: range)) }, [["Ada"], [], [], ["Ada"]], "bounds of a range are exact")
same(names(Customer.where(id: Time.utc(1960)..Time.utc(2200))), %w[Ada Bob], "a range of time beyond all ids")
same(names(Customer.joins(:orders).where(orders: { id: now - hour.. }).or(
  Customer.joins(:orders).where(orders: { id: ..now - hour }))).uniq, %w[Ada Bob], "a range of time in a join")
same(names(Customer.where(id: now - hour..Float::INFINITY)), %w[Ada Bob], "a range of time that ends never")
same(Customer.where(id: now - hour..).to_sql[/<@.*/], "<@ tstzrange('#{(now - hour).utc.iso8601(6)}', NULL, '[]')", "its SQL")
Time.use_zone("Asia/Tokyo") do
  same(names(Customer.where(id: 1.hour.ago..)), %w[Ada Bob], "a time with a zone")
end
execute("SET enable_seqscan = off")
same(Customer.where(id: now - hour..).explain.inspect[/Index Cond|Filter/] ||
     Customer.where(id: now - hour..).explain.to_s[/Index Cond|Filter/], "Index Cond", "a range of time uses the index")

wrong = ["not an id", ada.id.upcase, "#{ada.id}2", 5]
same(wrong.map { |id| names(Customer.where(id: id)) }, [[]] * wrong.size, "nobody has a wrong id")
same(names(Customer.where(id: "x").or(Customer.where(id: ada.id))), %w[Ada], "or")
same(names(Customer.where.not(id: "x")), %w[Ada Bob], "not")
same(names(Customer.where(id: [ada.id, "x"])), %w[Ada], "in a list")
raises(ActiveRecord::RecordNotFound, "find a wrong id") { Customer.find("not an id") }
raises(ActiveModel::RangeError, "save a wrong key") { Customer.create!(id: "not an id", name: "Eve") }
raises(ActiveModel::RangeError, "save a wrong reference") { third.update_column(:customer_id, ada.id.upcase) }
raises(ActiveModel::RangeError, "save a wrong element") { Order.create!(customer: ada, related: ["x"]) }
invalid("22P02", "the server finds a wrong id") { Customer.where("id = ?", "not an id").load }
invalid("22P02", "the server finds a wrong element") { Order.where("related = ?", "{x}").load }

key = Sno.new(value("SELECT sno_generate(1)::text"))
Customer.create!(id: key, name: "Cy")
same(Customer.insert_all([{ name: "Di" }], returning: :id).rows[0][0].class, String, "insert_all returns the text")
same(names(Customer.where(id: key..)), %w[Cy Di], "a key of the application")
same(Customer.maximum(:id), Customer.find_by(name: "Di").id, "max")
same(Customer.group(:id).count.keys.map(&:class).uniq, [Sno], "group")
same(Customer.find_each(batch_size: 1).map(&:name), %w[Ada Bob Cy Di], "find_each")

same([1, 2, 3].map { Thread.new { ActiveRecord::Base.connection_pool.with_connection { Customer.find(ada.id).name } } }
              .map(&:value).uniq, ["Ada"], "a pool")
connection = ActiveRecord::Base.connection.raw_connection
data = +""
connection.copy_data("COPY customers (id) TO STDOUT (FORMAT binary)") do
  while (row = connection.get_copy_data) do data << row end
end
same(data.include?(ada.id.to_bytes), true, "COPY in binary has the bytes")

# A domain, also in a model, and in the database before the connection.
execute("CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1);
  CREATE TABLE users (id user_id PRIMARY KEY DEFAULT sno_generate(1), ids user_id[])")
class User < ActiveRecord::Base
end
user = User.create!(ids: [ada.id])
same([User.columns_hash["id"].type, user.id.class, user.reload.ids, User.find(user.id), User.where(id: now - hour..).to_a],
     [:sno, Sno, [ada.id], user, [user]], "a domain")
invalid("23514", "its check") { User.create!(id: first.id) }

# The extension comes after the connection.
database = "#{ENV["PGDATABASE"]}_later"
execute("CREATE DATABASE #{database} TEMPLATE template0")
ActiveRecord::Base.establish_connection(adapter: "postgresql", database: database)
execute("CREATE EXTENSION sno;
  CREATE TABLE customers (id sno PRIMARY KEY DEFAULT sno_generate(1), name text, friends sno[])")
ActiveRecord::Base.connection.send(:reload_type_map)
Customer.reset_column_information
eve = Customer.create!(name: "Eve", friends: [ada.id])
same([eve.id.class, Customer.find(eve.id).friends, names(Customer.where(id: now - hour..))], [Sno, [ada.id], %w[Eve]],
     "the extension comes later")

# Keys that the application makes.  A transaction that ends with an error doesn't take the loan along.
ActiveRecord::Base.establish_connection(adapter: "postgresql", pool: 3)
ids = Sno::Generator.new(Sno::Loans.new { |sql|
  ActiveRecord::Base.connection_pool.with_connection { |pooled| pooled.execute(sql).values }
})
class Made < ActiveRecord::Base
  self.table_name = "customers"
  has_many :orders, class_name: "MadeOrder", foreign_key: :customer_id
end

class MadeOrder < ActiveRecord::Base
  self.table_name = "orders"
  belongs_to :customer, class_name: "Made"
end
Made.attribute(:id, default: -> { ids.next(1) })
MadeOrder.attribute(:id, default: -> { ids.next(2) })
Made.transaction do
  Made.create!(name: "Fay")
  raise ActiveRecord::Rollback
end
same([Made.where(name: "Fay").count, ids.stats[:taken]], [0, 1], "a transaction that is rolled back")
Made.column_defaults
news = Array.new(3) { Made.new }
same([Made.type_for_attribute(:id).type, news.map(&:id).uniq.size, news.map { |made| made.id.class }.uniq],
     [:sno, 3, [Sno]], "each new object has a key")
fay = Made.new(name: "Fay", orders: [MadeOrder.new, MadeOrder.new])
keys = fay.orders.map(&:id)
fay.save!
same([Made.find(fay.id).orders.order(:id).ids, keys.map(&:meta)], [keys, [2, 2]], "a row and rows that refer to it")
key = ids.next(1)
same(Made.create!(id: key, name: "Gus").id, key, "a key that is given")
same([Made.select(:name).find_by(name: "Gus").id, nil, key].uniq.size, 3, "a row read without its key shows a new one")
statements = []
ActiveSupport::Notifications.subscribe("sql.active_record") { |*, payload| statements << payload[:sql] }
rows = Array.new(1000) { |n| { id: ids.next(1), name: "row #{n}" } }
children = rows.map { |row| { id: ids.next(2), customer_id: row[:id], related: [row[:id], nil] } }
Made.insert_all!(rows)
MadeOrder.insert_all!(children)
same(statements.grep(/\AINSERT/).size, 2, "a batch of 2 x 1000 rows in two statements")
same(MadeOrder.joins(:customer).where("name LIKE 'row %'").order(:id).pluck(:id, :customer_id, :related, :name),
     rows.zip(children).map { |row, child| [child[:id], row[:id], child[:related], row[:name]] }, "read back")

# A model without the database's type.
class Form
  include ActiveModel::Model
  include ActiveModel::Attributes
  attribute :id, Sno::Type.new
end
same([Form.new(id: ada.id.to_s).id.class, Form.new(id: "x").id, Form.new(id: nil).id], [Sno, "x", nil], "an attribute")

Tap.done
