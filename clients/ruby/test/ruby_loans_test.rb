# frozen_string_literal: true

# Generators, beside sessions of the database that make ids, too.

require "delegate"
require "pg"
require "sno/generator"
require "tap"

# So few partitions that loans come back to those that others have used.
database = PG.connect
database.exec("ALTER DATABASE \"#{ENV["PGDATABASE"]}\" SET sno.partitions = '0-39'")
query = ->(sql) { PG.connect { |connection| connection.exec(sql).values } }

# Remembers what its source gave.
class Noted < SimpleDelegator
  def loans = @loans ||= []

  def take
    super.tap { |loan| loans << loan }
  end
end

# Ids that threads make until there are enough.
def made_by(threads, enough)
  Array.new(threads) { |n|
    Thread.new {
      made = []
      until made.size > 500 && enough[]
        made.concat(yield(n))
        sleep(0.001)
      end
      made
    }
  }
end

def place(id) = [id.to_i >> 41, id.tick_tock, id.partition, id.sequence]

# Loans last for 100 ms, or longer if the machine is so busy that others came too late.
generators = {}
lend = lambda { |name|
  ->(sql) { query[sql.sub("'100 ") { "'#{100 << [generators[name].stats[:failed], 20].min} " }] }
}
sources = { "whole partitions" => Sno::Loans.new(duration: 0.1, &lend["whole partitions"]),
            "slices" => Sno::Loans.new(duration: 0.1, sequences: 64, &lend["slices"]),
            "other slices" => Sno::Loans.new(duration: 0.1, sequences: 64, &lend["other slices"]),
            "blocks" => Sno::Blocks.new(count: 200, &query) }.transform_values { |source| Noted.new(source) }
sources.each { |name, source| generators[name] = Sno::Generator.new(source, wait: 180) }
threads = generators.to_h do |name, ids|
  [name, made_by(2, -> { sources[name].loans.size > 10 }) do
    Array.new(20) { ids.next }
  rescue Sno::OutOfIds
    []
  end]
end
sessions = made_by(2, -> { true }) { query["SELECT id::text FROM sno_generate_many(100, 5) AS id"].map { |(id)| Sno.new(id) } }
made = threads.transform_values { |some| some.flat_map(&:value) }
generators.each_value(&:close)

all = made.values.flatten + sessions.flat_map(&:value)
same(all.uniq.size, all.size, "all ids differ")
made.each do |name, ids|
  next if name == "blocks"

  taken = sources[name].loans
  ranges = taken.group_by(&:partition)
  same(ids.reject { |id|
    unit, _, partition, sequence = place(id)
    ranges[partition]&.any? { |loan| unit > loan.floor && unit <= loan.until && sequence.between?(loan.first, loan.last) }
  }, [], "#{name}: ids are within a loan")
  same(taken.map { |loan| loan.last - loan.first + 1 }.uniq, [name == "whole partitions" ? 65_536 : 64], "#{name}: sequences")
end

# A role that may not, and a function for it.
database.exec(<<~SQL)
  CREATE ROLE ruby_service;
  CREATE FUNCTION service_loan(OUT snapshot jsonb, OUT until timestamptz)
  LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT * FROM sno_borrow_partition('1 hour', 64); END;
SQL
service = lambda { |sql|
  PG.connect { |connection|
    connection.exec("SET ROLE ruby_service")
    connection.exec(sql).values
  }
}
begin
  Sno::Generator.new(Sno::Loans.new(&service), wait: 180).next
rescue Sno::OutOfIds => e
  same([e.reason, e.cause.class], [:over, PG::InsufficientPrivilege], "a role that may not borrow (42501)")
end
ids = Sno::Generator.new(Sno::Loans.new(call: "service_loan()", &service), wait: 180)
before = Time.now
ids.ready
same([ids.next(9).meta, (ids.stats[:until] - Time.now) <= 3600, ids.stats[:until] - before > 3599], [9, true, true], "a function for it")
same(Sno::Generator.new(Sno::Blocks.new(meta: 4, &service), wait: 180).next.meta, 4, "blocks need no right")
database.exec("DROP ROLE ruby_service")

Tap.done
