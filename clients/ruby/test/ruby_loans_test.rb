# frozen_string_literal: true

# Generators, beside sessions of the database that make ids, too.

require "delegate"
require "pg"
require "sno/generator"
require "tap"

SECONDS = 2
# So few partitions that loans come back to those that others have used.
database = PG.connect
database.exec("ALTER DATABASE \"#{ENV["PGDATABASE"]}\" SET sno.partitions = '0-39'")
query = ->(sql) { PG.connect { |connection| connection.exec(sql).values } }

# Remembers what its source gave.
class Noted < SimpleDelegator
  attr_reader :loans

  def take
    super.tap { |loan| (@loans ||= []) << loan }
  end
end

# The texts of ids that threads make until the time is over.
def made_by(threads)
  ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  Array.new(threads) { |n|
    Thread.new {
      made = []
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends
        made.concat(yield(n))
        sleep(0.001)
      end
      made
    }
  }
end

def place(id) = [id.to_i >> 41, id.tick_tock, id.partition, id.sequence]

sources = { "whole partitions" => Sno::Loans.new(duration: 0.1, &query),
            "slices" => Sno::Loans.new(duration: 0.1, sequences: 64, &query),
            "other slices" => Sno::Loans.new(duration: 0.1, sequences: 64, &query),
            "blocks" => Sno::Blocks.new(count: 200, &query) }.transform_values { |source| Noted.new(source) }
generators = sources.transform_values { |source| Sno::Generator.new(source) }
threads = generators.transform_values do |ids|
  made_by(2) do
    Array.new(20) { ids.next }
  rescue Sno::OutOfIds
    [] # so busy is the machine that the new loan is over already
  end
end
sessions = made_by(2) { query["SELECT id::text FROM sno_generate_many(100, 5) AS id"].map { |(id)| Sno.new(id) } }
made = threads.transform_values { |some| some.flat_map(&:value) }
generators.each_value(&:close)

all = made.values.flatten + sessions.flat_map(&:value)
same([all.uniq.size, all.size > 1000], [all.size, true], "all ids differ")
made.each do |name, ids|
  taken = sources[name].loans
  same([ids.size > 100, taken.size > 10 || taken.size], [true, true], "#{name}: many are taken")
  next if name == "blocks"

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
  LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT * FROM sno_borrow_partition('1 minute', 64); END;
SQL
service = lambda { |sql|
  PG.connect { |connection|
    connection.exec("SET ROLE ruby_service")
    connection.exec(sql).values
  }
}
begin
  Sno::Generator.new(Sno::Loans.new(&service)).next
rescue Sno::OutOfIds => e
  same([e.reason, e.cause.class], [:over, PG::InsufficientPrivilege], "a role that may not borrow (42501)")
end
ids = Sno::Generator.new(Sno::Loans.new(call: "service_loan()", &service))
ids.ready(until: Time.now + 30)
same([ids.next(9).meta, (ids.stats[:until] - Time.now).between?(30, 61)], [9, true], "a function for it")
same(Sno::Generator.new(Sno::Blocks.new(meta: 4, &service)).next.meta, 4, "blocks need no right")
database.exec("DROP ROLE ruby_service")

Tap.done
