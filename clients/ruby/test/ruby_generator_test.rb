# frozen_string_literal: true

# Generators with a clock, and a database, that do as they are told.

require "sno/generator"
require "tap"
require "timeout"

UNIT = 4
EPOCH = 315_576_000_000
HOUR = 900_000
NOON = 148_146_200 * HOUR / 1000 # a unit

# What the clocks show, and what the database lends next.
class World
  attr_accessor :ms, :seconds, :floor, :length, :slow, :sequences, :meta, :error, :asked, :partition, :gate

  def initialize
    @ms = (NOON + EPOCH) * UNIT
    @seconds = 1000.0
    @floor = -1
    @length = HOUR
    @slow = 0
    @sequences = [0, 65_535]
    @asked = []
    @partition = 0
    @meta = 0
  end

  def unit = ms / UNIT - EPOCH

  def later(units)
    @ms += units * UNIT
    @seconds += units * UNIT / 1000.0 if units.positive?
  end

  def run(sql)
    @asked << sql
    @gate&.pop
    raise @error if @error

    @partition += 1
    number = sql[/generate_many\((\d+)/, 1]
    return (1..number.to_i).map { |n| [Sno.from_i(NOON << 41 | @meta << 32 | @partition << 16 | n).to_s] } if number

    first, last = @sequences
    snapshot = { partition: [@partition >> 8, @partition & 255], wallHi: unit + @floor, wallSafe: unit + @floor,
                 sequenceMin: first, sequenceMax: last, sequence: last }
    [[JSON.generate(snapshot), (unit + @length).to_s]].tap { later(@slow) }
  end
end

class Timed < Sno::Generator
  attr_writer :world

  private

  def milliseconds = @world.ms

  def monotonic = @world.seconds

  def rest(seconds)
    @world.ms += (seconds * 1000).ceil
  end
end

def timed(world, source = Sno::Loans.new { |sql| world.run(sql) }, **options)
  Timed.new(source, **options).tap { |ids| ids.world = world }
end

# What becomes true because of a thread.
def eventually
  Timeout.timeout(180) { Thread.pass until yield }
end

# Let the attempts end that were begun.
def settled(ids)
  eventually { !ids.instance_variable_get(:@attempt) }
end

def out_of_ids
  yield
  "no error"
rescue Sno::OutOfIds => e
  [e.reason, e.cause&.message]
end

def place(id) = [(id.to_i >> 41) - NOON, id.tick_tock, id.partition, id.sequence]

# A loan, its half and its end.
world = World.new
ids = timed(world)
same([world.asked, ids.stats], [[], { issued: 0, taken: 0, failed: 0, until: nil, reason: nil }],
     "a new generator asks for nothing")
same(place(ids.next), [0, false, 1, 0], "the first id")
same([ids.next.meta, ids.next(255).meta], [0, 255], "metabytes")
same(world.asked, ["SELECT snapshot::text, ((extract(epoch FROM until) * 250)::bigint - 315576000000)::text " \
                   "FROM sno_borrow_partition('3600000 milliseconds', 65536)"], "the SQL of a loan")
world.later(HOUR / 2 - 1)
ids.next
same([ids.stats[:taken], ids.instance_variable_get(:@attempt)], [1, nil], "nothing is taken before half of the loan")
world.later(1)
ids.next
eventually { ids.stats[:taken] == 2 }
10.times { ids.next }
world.later(HOUR / 2)
same([place(ids.next), world.asked.size, ids.stats], [[HOUR, false, 1, 0], 2,
     { issued: 16, taken: 2, failed: 0, until: ids.stats[:until], reason: nil }], "at half, the spare is taken once")
world.later(1)
same(place(ids.next), [HOUR + 1, false, 2, 0], "after the end, the spare takes its place")
eventually { ids.stats[:taken] == 3 }
same(ids.stats[:until], Time.at((NOON + HOUR * 3 / 2 + EPOCH) * UNIT / 1000r, in: "UTC"), "the end of the present loan")
world.later(10 * HOUR)
same([place(ids.next)[2], ids.stats[:failed]], [4, 0], "an idle program takes nothing, and then a new loan")

# A database that is away.
world = World.new
ids = timed(world)
ids.next
world.error = IOError.new("no database")
at = []
(1...HOUR).step(250) do |unit|
  count = world.asked.size
  world.later(unit - world.unit + NOON)
  ids.next
  settled(ids)
  at << unit / 250 if world.asked.size > count
end
ends = (HOUR - 1) / 250
same([at.take(8), at.each_cons(2).map { |a, b| b - a }.uniq, ends - at.last <= 60],
     [[1800, 1801, 1803, 1807, 1815, 1831, 1863, 1923], [1, 2, 4, 8, 16, 32, 60], true],
     "the loan lasts while the database is away; pauses grow to a minute")
same(ids.stats.values_at(:failed, :reason), [at.size, "no database"], "failures are told")
world.later(HOUR + 1 - world.unit + NOON)
count = world.asked.size
same([out_of_ids { ids.next }, world.asked.size], [[:over, "no database"], count], "the end, within a pause")
world.seconds += 60
same([out_of_ids { ids.next }, world.asked.size], [[:over, "no database"], count + 1], "after a pause, an attempt")
begin
  ids.next
rescue Sno::OutOfIds => e
  same([e.until, e.message], [Time.at((NOON + HOUR + EPOCH) * UNIT / 1000r, in: "UTC"),
       "no id after the loan until #{e.until}: the source failed: no database"], "what the error tells")
end
world.error = nil
world.seconds += 60
same(place(ids.next)[2], 2, "the database is back")
settled(ids)
world.later(2 * HOUR)
world.error = IOError.new("no database")
same(out_of_ids { ids.next }, [:over, "no database"], "away again")
world.seconds += 1
world.error = nil
same(place(ids.next)[2], 3, "after a success, the pause is 1 s")

# Errors of sources that are no StandardError, and a thread that somebody kills.
world = World.new
ids = timed(world)
world.error = NotImplementedError.new("never")
same(out_of_ids { ids.next }, [:over, "never"], "any exception is a failure")
world.error = nil
world.seconds += 60
world.gate = Queue.new
waiter = Thread.new { out_of_ids { ids.next } }
eventually { world.asked.size == 2 && waiter.stop? }
ids.instance_variable_get(:@attempt).kill
same([waiter.value, ids.stats[:reason]], [[:over, nil], "the thread was killed"], "so is the death of the thread")
world.gate = nil
world.seconds += 60
same(place(ids.next)[2], 1, "and then it goes on")

# The clock.
world = World.new
ids = timed(world)
world.floor = 249
same(place(ids.next), [250, false, 1, 0], "a clock that is a second behind a new loan is waited for")
world = World.new
ids = timed(world)
world.floor = 250
same([out_of_ids { ids.next }, ids.stats.values_at(:taken, :failed), out_of_ids { ids.next }, world.asked.size],
     [[:clock, nil], [0, 1], [:clock, nil], 1], "a clock that is further behind")
same(ids.stats[:reason][/.* is not within a new loan/],
     "the clock, at #{Time.at(world.ms / 1000r, in: "UTC")}, is not within a new loan", "why")
world.seconds += 1
world.floor = -10
world.length = -1
same([out_of_ids { ids.next }, world.asked.size], [[:clock, nil], 2], "a clock that is after the end")
world.seconds += 2
world.floor = -1
world.length = 10
world.slow = 11
same([out_of_ids { ids.next }, ids.stats[:reason][/came too late: it was asked for at/]],
     [[:over, nil], "came too late: it was asked for at"], "a source that is slower than its loans last")
world.seconds += 4
world.slow = 0
world.length = 0
same(place(ids.next)[2], 4, "a loan of this unit only")
settled(ids)
world.later(1)
world.length = HOUR
same([place(ids.next)[2], ids.stats[:failed]], [6, 3], "its spare, which is over, is no failure")
world.later(100)
ids.next
world.later(-50)
same(place(ids.next).take(3), [62, true, 6], "set back: the other side")
world.later(-20)
same(place(ids.next).take(3), [42, false, 7], "set back again: the next loan")
world.later(10 * HOUR)
ids.next
world.later(-20 * HOUR)
same(place(ids.next)[2], 9, "set back by hours")

# Exhausted units.
world = World.new
world.sequences = [64, 65]
ids = timed(world)
seen = Array.new(5) { place(ids.next) }
same(seen.map { |unit, _, _, sequence| [unit, sequence] },
     [[0, 64], [0, 65], [1, 64], [1, 65], [2, 64]], "an exhausted unit is waited for")

# Blocks.
world = World.new
world.meta = 3
ids = timed(world, Sno::Blocks.new(count: 4, meta: 3) { |sql| world.run(sql) })
same([ids.next.meta, ids.next(3).meta, world.asked], [3, 3, ["SELECT id::text FROM sno_generate_many(4, 3) AS id"]], "a block")
eventually { ids.stats[:taken] == 2 }
same(Array.new(6) { settled(ids); ids.next.then { |id| [id.partition, id.sequence] } },
     [[1, 3], [1, 4], [2, 1], [2, 2], [2, 3], [2, 4]], "its spare")
settled(ids)
same([ids.stats.values_at(:issued, :taken, :until), world.asked.size], [[8, 3, nil], 3], "one at a time")
raises(ArgumentError, "another metabyte") { ids.next(4) }
world.error = IOError.new("no database")
4.times { settled(ids); ids.next }
settled(ids)
same([out_of_ids { ids.next }, ids.stats[:failed]], [[:over, "no database"], 1], "it is used up")
world.error = nil
world.seconds += 1
world.meta = 5
same(out_of_ids { ids.next }[1][/\Anot 4 ids/], "not 4 ids", "ids of another metabyte")

# ready()
world = World.new
ids = timed(world)
same([ids.ready.equal?(ids), ids.stats[:taken], place(ids.next)[2]], [true, 1, 1], "ready")
ids.ready(until: Time.at(world.ms / 1000r + 3600))
same(ids.stats[:taken], 1, "a loan that lasts")
world.later(1)
ids.ready(until: Time.at(world.ms / 1000r + 3600))
same([ids.stats[:taken], place(ids.next)[2]], [2, 1], "another loan that lasts longer")
world.later(1)
same(out_of_ids { ids.ready(until: Time.at(world.ms / 1000r + 3601)) }, [:over, nil], "no loan lasts as long")
same([ids.stats[:taken], place(ids.next)[2]], [3, 2], "one attempt was made")
ids.ready(until: Time.at(0))
same(ids.stats[:taken], 3, "until a time that is over")
world.error = IOError.new("no database")
same(out_of_ids { ids.ready(until: Time.at(world.ms / 1000r + 3600 + 1)) }, [:over, "no database"], "without the database")
ids.ready
world.error = nil
same(out_of_ids { ids.ready(until: Time.at(world.ms / 1000r + 3600 + 1)) }, [:over, "no database"], "within a pause")
world = World.new
ids = timed(world)
ids.next
world.later(HOUR / 2)
short = Queue.new
world.gate = short
ids.next
eventually { world.asked.size == 2 }
waiter = Thread.new { ids.ready(until: Time.at(world.ms / 1000r + 3600)) && ids.stats[:taken] }
eventually { waiter.stop? }
world.length = HOUR / 2
short << 1
eventually { world.asked.size == 3 }
world.length = HOUR
short << 1
same(waiter.join(180)&.value, 3, "an attempt under way, and another one, because its loan was too short")
ids = timed(World.new.tap { |w| w.gate = Queue.new }, wait: 0)
same(out_of_ids { ids.ready }, [:over, nil], "ready doesn't wait for longer than it may")
ids.close

world = World.new
ids = timed(world, Sno::Blocks.new(count: 10) { |sql| world.run(sql) })
same([ids.ready(count: 20) && world.asked.size, ids.ready(count: 15) && world.asked.size], [2, 2], "two blocks")
ids.next
same([ids.ready(count: 20) && world.asked.size, ids.next.partition], [3, 2], "a third one takes the place of the first")
ids.ready(count: 1)
same(world.asked.size, 3, "one id is there")
raises(ArgumentError, "more than two blocks have") { ids.ready(count: 21) }
raises(ArgumentError, "no ids") { ids.ready(count: 0) }

# close()
eventually { true }     # From Ruby 3.3 on, timeouts have a thread.
others = Thread.list
world = World.new
ids = timed(world)
ids.next
world.gate = Queue.new
world.later(HOUR / 2)
ids.next
eventually { world.asked.size == 2 }
same([ids.close, Thread.list - others], [nil, []], "close leaves no thread, even if the database hangs")
same([out_of_ids { ids.next }, out_of_ids { ids.ready }, ids.close], [[:closed, nil], [:closed, nil], nil], "closed")
world.gate = Queue.new
ids = timed(world, wait: 1000)
waiter = Thread.new { out_of_ids { ids.next } }
eventually { world.asked.size == 3 && waiter.stop? }
ids.close
same(waiter.join(180)&.value, [:closed, nil], "who waits is told")

# A source that is slow: real clocks.
gate = Queue.new
world = World.new
ids = Sno::Generator.new(Sno::Loans.new { gate.pop }, wait: 0.02)
same([out_of_ids { ids.next }, out_of_ids { ids.next }], [[:over, nil]] * 2, "a source that hangs")
unit = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) / UNIT - EPOCH
loan = lambda { |floor, length|
  [[JSON.generate({ partition: [1, 2], wallHi: unit + floor, wallSafe: unit + floor, sequenceMin: 0, sequenceMax: 9 }),
    (unit + length).to_s]]
}
gate << loan[-1, 100_000]
eventually { ids.stats[:taken] == 1 }
same([ids.next.partition, ids.stats[:taken]], [258, 1], "what it gives later is used")
gate << (answer = loan[-2, -1])
ids = Sno::Generator.new(Sno::Loans.new { gate.pop })
same(out_of_ids { ids.next }, [:clock, nil], "a loan that was over when it was asked for")

# Answers that are no loan.
def accepted(answers)
  answers.select do |rows|
    yield rows
  rescue RuntimeError => e
    !e.message.match?(/\Anot (a loan|2 ids): /)
  end
end

good = JSON.parse(loan[-1, 10][0][0])
same(Sno::Loans.new { [[JSON.generate(good), 1 << 38]] }.take.class, Sno::Loan, "a loan")
floor = good["wallHi"]
wrong = [nil, [], [[]], [[nil, nil]], [["{}", (floor + 9).to_s]], [["[]", (floor + 9).to_s]],
         [["{", (floor + 9).to_s]], "x", 5, [{ "snapshot" => "{}" }]]
wrong += good.keys.map { |key| [[JSON.generate(good.except(key)), (floor + 9).to_s]] }
wrong += [[1], [1, 256], [-1, 0], [1, 2, 3], "12", 7, nil].map { |value|
  [[JSON.generate(good.merge("partition" => value)), (floor + 9).to_s]]
}
wrong += [[5, 4], [-1, 5], [0, 65_536], [nil, 5], [1.5, 2]].map { |first, last|
  [[JSON.generate(good.merge("sequenceMin" => first, "sequenceMax" => last)), (floor + 9).to_s]]
}
wrong += [-1, "x", nil, 1.5, 1 << 39].map { |value| [[JSON.generate(good.merge("wallHi" => value)), (floor + 9).to_s]] }
wrong += [floor, floor - 1, -1, 1 << 39, "x", "", nil, 1.5].map { |value| [[JSON.generate(good), value]] }
wrong << [[JSON.generate(good), (floor + 9).to_s]] * 2
same(accepted(wrong) { |rows| Sno::Loans.new { rows }.take }, [], "answers that are no loan")
id = Sno.from_i(1 << 70 | 3 << 32).to_s
same(Sno::Blocks.new(count: 2, meta: 3) { [[id], [id]] }.take.next(0, 3), id, "ids")
wrong = [nil, [], [[id]], [[id]] * 3, [[id], ["x"]], [[id], [nil]], [[id], [Sno.from_i(4 << 32).to_s]], [id, 5]]
same(accepted(wrong) { |rows| Sno::Blocks.new(count: 2, meta: 3) { rows }.take }, [], "answers that are no ids")
[Sno::Loans.new { [[JSON.generate(good), 1 << 38]] }, Sno::Blocks.new(count: 1, meta: 3) { [[id]] }].each do |source|
  source.take
  raises(RuntimeError, "an answer that comes twice") { source.take }
end

# Bad arguments.
[{ duration: 0.003 }, { duration: 0 }, { duration: -1 }, { duration: Float::NAN }, { duration: Float::INFINITY },
 { duration: "1 hour" }, { sequences: 0 }, { sequences: 65_537 }, { sequences: 1.5 }, { call: 5 },
 { call: "f()", duration: 1 }, { call: "f()", sequences: 64 }].each do |options|
  raises(ArgumentError, "loans: #{options}") { Sno::Loans.new(**options) { [] } }
end
[{ count: 0 }, { count: 65_537 }, { count: "5" }, { meta: -1 }, { meta: 256 }, { meta: nil }].each do |options|
  raises(ArgumentError, "blocks: #{options}") { Sno::Blocks.new(**options) { [] } }
end
raises(ArgumentError, "loans without a block") { Sno::Loans.new }
raises(ArgumentError, "blocks without a block") { Sno::Blocks.new }
raises(ArgumentError, "a time to wait") { Sno::Generator.new(Sno::Loans.new { [] }, wait: -1) }
ids = timed(World.new)
[-1, 256, 1.5, "1", nil].each { |meta| raises(ArgumentError, "metabyte #{meta.inspect}") { ids.next(meta) } }
sql = nil
[[{ duration: 0.004 }, "sno_borrow_partition('4 milliseconds', 65536)"],
 [{ duration: 1.5, sequences: 1 }, "sno_borrow_partition('1500 milliseconds', 1)"],
 [{ call: "service_loan()" }, "service_loan()"]].each do |options, wanted|
  out_of_ids { Sno::Generator.new(Sno::Loans.new(**options) { |text| (sql = text) && nil }).next }
  same(sql[/(?<=FROM )(?!until).*/], wanted, "the call of #{options}")
end

# Threads with a loan of 2 ms by 2 ms, of a clock that jumps.
world = World.new
world.length = 40
ids = timed(world)
running = at_once = 0
loans = Sno::Loans.new { |query|
  running += 1
  at_once = [at_once, running].max
  world.run(query).tap { running -= 1 }
}
ids = timed(world, loans)
made = Array.new(8) { |n|
  Thread.new {
    Array.new(12_500) { |i|
      world.later([1, 1, 2, -1, 20, -5][i % 6]) if (i % 50).zero?
      begin
        ids.next(n)
      rescue Sno::OutOfIds
        world.seconds += 60
        retry
      end
    }
  }
}.flat_map(&:value)
same([made.uniq.size, at_once, ids.stats[:taken] > 10], [100_000, 1, true], "8 threads, one attempt at a time")

# Forks, also of one thread while others make ids.
# In each, the child takes a loan of its own.
def answer
  input, output = IO.pipe
  pid = fork {
    input.close
    output.write(yield.join(" "))
    output.close
    exit!(0)
  }
  output.close
  input.read.split.tap { Process.wait(pid) }
end

world = World.new
ids = timed(world)
world.sequences = [0, 9999]
ids.next
world.partition = 100
same(answer { [ids.stats[:taken], ids.next.partition, *ids.stats.values_at(:taken, :issued)] }, %w[0 101 1 1], "a child takes a loan of its own")
same(place(ids.next), [0, false, 1, 1], "the parent goes on")
grandchild = answer { answer { [ids.next.partition] } }
same(grandchild, %w[101], "a grandchild")
world.gate = Queue.new
world.later(HOUR / 2)
ids.next
same(answer { world.gate = nil; [ids.next.partition, ids.stats[:taken]] }, %w[101 1], "while an attempt is under way")
same(answer { ids.close; [Thread.list.size] }, %w[1], "a child can close it")
world.gate << 1
settled(ids)

world.gate = nil
busy = true
threads = Array.new(8) {
  Thread.new {
    mine = []
    while busy
      100.times { mine << ids.next }
      sleep(0.001)
    end
    mine
  }
}
children = Thread.new {
  Array.new(20) { |n|
    world.partition = 1000 + n
    answer { busy = false; Array.new(20) { ids.next } }
  }
}.value
busy = false
all = threads.flat_map(&:value) + children.flatten.map { |text| Sno.new(text) }
same([all.uniq.size, children.flatten.size,
      children.map { |made| made.map { |text| Sno.new(text).partition }.uniq.size }.uniq],
     [all.size, 400, [1]], "a fork in a thread, while 8 threads make ids")

daemon = <<~RUBY
  require "sno/generator"
  n = 0
  unit = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) / 4 - #{EPOCH}
  snapshot = JSON.generate({ wallHi: 0, wallSafe: 0, sequenceMin: 0, sequenceMax: 5 }).chop
  ids = Sno::Generator.new(Sno::Loans.new { [["\#{snapshot},\\"partition\\":[0,\#{n += 1}]}", (unit + 90_000).to_s]] })
  one = ids.next.partition
  DETACH
  print one, " ", ids.next.partition, " ", ids.stats[:taken]
RUBY
ruby = ["/usr/bin/ruby", "-w", "-I#{ENV["CLIENTS"]}/ruby/lib"]
run = ->(text, *options) { IO.popen([*ruby, *options, "-e", text], &:read) }
same(run[daemon.sub("DETACH", "Process.daemon(true, true)")], "1 2 1", "Process.daemon")
# As in Ruby 3.0, without the hook.
same(run["Process.singleton_class.send(:private, :_fork)\n#{daemon.sub("DETACH", "(Process.wait; exit) if fork")}"],
     "1 2 1", "without a hook, the id of the process tells")
same(run[daemon.sub("DETACH", "(Process.wait; exit) if fork")], "1 2 1", "with the hook")
same(run['require "sno/generator"
          Sno::Generator.new(Sno::Loans.new { sleep }, wait: 0.01).next rescue print $!.reason'],
     "over", "an attempt keeps no program from its end")

Tap.done
