# frozen_string_literal: true

# make_ids.rb FILE SECONDS
#
# Makes ids in two processes of four threads each, of one generator after the other, until the
# time is over.  Writes all loans and ids to the end of FILE, the loans before their ids.
# Every tenth generator takes blocks.  It may be killed at any time.
#
# MAKE_IDS_DURATION, in ms, and MAKE_IDS_SEQUENCES are those of the loans.  If the machine is so
# busy that a loan comes too late, later ones are longer.

$LOAD_PATH.unshift("#{__dir__}/../lib")
require "pg"
require "sno/generator"

FILE = File.open(ARGV[0], File::WRONLY | File::APPEND | File::CREAT)
ENDS = Process.clock_gettime(Process::CLOCK_MONOTONIC) + Float(ARGV[1])
DURATION = Integer(ENV.fetch("MAKE_IDS_DURATION", 100)) / 1000r
$late = 0 # how often that is doubled
SEQUENCES = Integer(ENV.fetch("MAKE_IDS_SEQUENCES", 64))
THREADS = 4
BATCH = 100 # ids that a thread makes, and then writes
PAUSE = BATCH / 500.0 # seconds from batch to batch: 2 x 4 threads make 4,000 ids a second
TURN = 2 # seconds that a generator serves

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# One write is one whole text at the end of the file.
def note(lines)
  FILE.syswrite(lines.map { |line| "#{line}\n" }.join)
end

# A source that notes each loan before anybody has it.
class Noted < Sno::Loans
  def take
    super.tap do |loan|
      note(["loan #{Process.pid} #{loan.partition} #{loan.floor} #{loan.first} #{loan.last} #{loan.until}"])
    end
  end
end

QUERY = ->(sql) { PG.connect { |connection| connection.exec(sql).values } }

# A generator, and what its ids are called.
def generator(number)
  return [Sno::Generator.new(Sno::Blocks.new(count: 200, &QUERY)), "made"] if (number % 10).zero?

  [Sno::Generator.new(Noted.new(duration: DURATION * 2**$late, sequences: SEQUENCES, &QUERY)), "id"]
end

# Ids of a generator until it's time for the next one.  How many, and how often there was none.
def make(ids, kind, ends)
  made = missed = 0
  seen = $late
  while (start = now) < ends
    batch = []
    begin
      batch << "#{kind} #{Process.pid} #{ids.next(kind == "id" ? batch.size : 0)}" while batch.size < BATCH
    rescue Sno::OutOfIds => error
      $late += 1 if error.message.include?("came too late") && seen == $late && $late < 20
      missed += 1
      sleep(0.01)
    end
    note(batch) unless batch.empty?
    made += batch.size
    sleep([start + PAUSE - now, 0].max)
  end
  [made, missed]
end

made = missed = number = 0
child = nil
while now < ENDS
  ids, kind = generator(number += 1)
  turn = [now + TURN, ENDS].min
  threads = Array.new(THREADS) { Thread.new { make(ids, kind, turn) } }
  if number == 1
    sleep(0.01) while ids.stats[:issued].zero? && now < turn
    unless (child = fork)
      made = missed = 0
      threads = Array.new(THREADS) { Thread.new { make(ids, kind, turn) } }
    end
  end
  threads.each do |thread|
    some, without = thread.value
    made += some
    missed += without
  end
  ids.close
end
puts "#{child ? "parent" : "child"}: #{made} ids, #{missed} times none"
Process.wait(child) if child
