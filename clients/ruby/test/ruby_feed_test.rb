# frozen_string_literal: true

# Feeds: the example of clients/ruby/README.md, and readers that fail, are late, or lose their connections.

require "sno/feed"
require "tap"

DATABASE = PG.connect
# Names that need quotes
TABLE = '"Out ""box"'
READER = "o'neil\\"
PLACES = '"Out ""box_readers"'

def value(sql, *values) = DATABASE.exec_params(sql, values).values.dig(0, 0)

def eventually(sql, *values)
  sleep(0.001) until value(sql, *values) == "t"
end

# Returns when readers can have the rows.
def insert(*messages)
  messages.each { |message| value("INSERT INTO #{TABLE} (message) VALUES ($1)", message) }
  eventually("SELECT max(id) < (SELECT sno_watermark()) FROM #{TABLE}")
end

# When the reader waits
def then_do
  Thread.new do
    eventually("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' " \
               "AND query LIKE 'CALL sno_feed_wait(%')")
    yield
  end
end

# Terminate the session of a reader.
def terminate
  value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'fed'")
  eventually("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'fed')")
end

# Delete the rows, and create the reader again.
def restart
  value("TRUNCATE #{TABLE}")
  value("SELECT sno_feed_drop_reader($1, $2)", TABLE, READER)
  value("SELECT sno_feed_create_reader($1, $2, max_tries => 2)", TABLE, READER)
end

# The state of the reader's place, without part -1
def state
  value("SELECT CASE WHEN upto IS NOT NULL THEN 'leased'
             WHEN position > (SELECT max(id) FROM #{TABLE}) THEN 'all done' ELSE 'free' END || ', tries: ' || tries
         FROM #{PLACES} WHERE reader = $1 AND part = 0", READER)
end

def feed(**options, &connect)
  Sno::Feed.new(TABLE, READER, retry_after: 0, on_error: ->(error) { raise "an error: #{error.message}" }, **options,
                &connect || -> { PG.connect })
end

def messages(rows) = rows.map { |row| row.item["message"] }

# What a new feed yields, until there are so many batches
def batches(count, **options)
  seen = []
  reader = feed(**options)
  reader.each do |batch|
    seen << messages(batch.rows)
    yield batch if block_given?
    reader.stop if seen.size == count
  end
  seen
end

value("CREATE EXTENSION sno_feeds")

# README's example
value("CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)")
value("SELECT sno_feed_create('outbox')")
value("SELECT sno_feed_create_reader('outbox', 'mail')")
value("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n")
SENT = []
def deliver(message)
  if message == "mail 2" && SENT.size == 1
    SENT << "failed"
    raise IOError, "mailbox full"
  end
  SENT << message
  Process.kill("TERM", Process.pid) if message == "mail 3"
end
eval(File.read("#{ENV["CLIENTS"]}/ruby/README.md")[/^```ruby feed\n(.*?)^```$/m, 1])
same([SENT, value("SELECT position > (SELECT max(id) FROM outbox) FROM outbox_readers
                   WHERE reader = 'mail' AND part = 0")],
     [["mail 1", "failed", "mail 2", "mail 3"], "t"], "README's example")

value("CREATE TABLE #{TABLE} (id sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
           fence integer DEFAULT 7, deleted text DEFAULT 'no', message text NOT NULL)")
value("SELECT sno_feed_create($1)", TABLE)
value("SELECT sno_feed_create_reader($1, $2)", TABLE, READER)

# Rows come while a reader waits, and it is stopped while it has a batch.
restart
insert("a", "b", "c")
later = then_do { insert("d") }
first = nil
seen = batches(3, max_rows: 2) { |batch| first ||= batch.rows[0] }
same(seen, [%w[a b], %w[c], %w[d]], "batches, and rows that come later")
later.join
same(first.item.values_at("id", "part", "fence", "deleted") << first.deleted, [first.id, "mine", "7", "no", false],
     "the columns of a row")
same(first.item.keys, %w[id part fence deleted message], "their names")
same(state, "all done, tries: 0", "the last batch is acknowledged, too")

# A block that is left acknowledges nothing, and no row is to blame.
[-> { raise "no mail" }, -> { throw :out }].each do |leave|
  restart
  insert("a", "b")
  begin
    catch(:out) do
      feed.each do |batch|
        same([messages(batch), state], [%w[a b], "leased, tries: 0"], "a batch is not acknowledged yet")
        leave.call
      end
    end
  rescue RuntimeError => e
    same(e.message, "no mail", "an exception of the block")
  end
  same(state, "free, tries: 0", "the rows are given back")
end
feed.each do |batch|
  same(messages(batch), %w[a b], "and come again, at once and together")
  batch.fail(batch.rows[1], "full")
  break
end
same(state, "free, tries: 1", "a row that failed before the block was left counts a try")

# Rows that fail
restart
insert("a", "bad", "c", "d")
handled = []
seen = batches(3) do |batch|
  batch.each do |row|
    if row.item["message"] == "bad"
      batch.fail(row, IOError.new("it's \\ \0wrong\xff"))
      batch.fail(nil, "not the first")
    else
      handled << row.item["message"]
    end
  end
end
same([seen, handled], [[%w[a bad c d], %w[bad], %w[c d]], %w[a c d]],
     "a row that failed ends the batch, comes again alone, and is set aside")
same([value("SELECT tries || ' ' || error FROM sno_feed_aside(NULL::#{TABLE}, $1)", READER), state],
     ["2 IOError: it's \\ \\0wrong\u{fffd}", "all done, tries: 0"], "with its error")
value("SELECT sno_feed_retry($1, $2)", TABLE, READER)
feed.each do |batch|
  same([batch.part, *messages(batch)], [-1, "bad"], "a row that was set aside is retried, as part -1")
  raises(ArgumentError, "a row of another batch can't fail") { batch.fail(Sno::Feed::Row.new("1"), "wrong") }
  break
end
same(value("SELECT tries FROM sno_feed_aside(NULL::#{TABLE}, $1)", READER), "2", "and no try counts")

# It isn't known which row failed, or it was no row's fault.
restart
insert("a", "b")
failures = [nil, "one is bad"]
states = []
seen = batches(4) do |batch|
  states << state
  batch.fail(nil, failures.shift) if failures.any?
end
same([seen, states.uniq, state], [[%w[a b], %w[a b], %w[a], %w[b]], ["leased, tries: 0"], "all done, tries: 0"],
     "rows come one by one")

# The lease is extended, or lost between two rows, or at the end.
lease_begins = -> { value("SELECT busy_at FROM #{PLACES} WHERE upto IS NOT NULL") }
[3600, 0.001].each do |lease|
  restart
  insert("a", "b")
  begins = []
  batches(1, lease: lease) do |batch|
    batch.each do
      begins << lease_begins.call
      sleep(0.001)
    end
  end
  same([begins.uniq.size, state], [lease == 3600 ? 1 : 2, "all done, tries: 0"], "lease of #{lease} seconds")
end
restart
insert("a", "b")
caught = []
handled = []
seen = batches(3, lease: 0.01, on_error: ->(error) { caught << error.class }) do |batch|
  batch.each do |row|
    handled << row.item["message"]
    value("SELECT sno_feed_rewind($1, $2, 'oldest')", TABLE, READER) if [1, 3].include?(handled.size)
    sleep(0.01) if handled.size == 1
  end
end
same([seen, handled, caught], [[%w[a b]] * 3, %w[a a b a b], [PG::LockNotAvailable] * 2], "leases that are lost")

# Servers that are away
restart
insert("a")
failures = Array.new(3) { PG::ConnectionBad.new("no server") }
caught = []
reader = feed(on_error: ->(error) { caught << error }) do
  raise failures.pop if failures.any?

  PG.connect(application_name: "fed")
end
reader.each do |batch|
  same([messages(batch), caught.size], [%w[a], 3], "the server comes back")
  terminate
  caught.clear
  reader.stop
end
same([caught.size, state], [1, "leased, tries: 0"], "stopped while the connection is lost")
restart
insert("a")
caught.clear
connections = 0
reader = feed(on_error: caught.method(:<<)) do
  connections += 1
  PG.connect(application_name: "fed")
end
reader.each do |batch|
  if connections == 1
    terminate
    insert("b")
  else
    same([messages(batch), caught.size, connections], [%w[b], 1, 2], "acknowledged by another connection")
    reader.stop
  end
end
same(state, "all done, tries: 0", "and so is the rest")
insert("c")
caught.clear
raises(RuntimeError, "the block is left while the connection is lost") do
  feed(on_error: caught.method(:<<)) { PG.connect(application_name: "fed") }.each do
    terminate
    raise "no mail"
  end
end
same([caught.size, state], [1, "leased, tries: 0"], "the rows can't be given back")

# A connection to a former primary
restart
insert("a")
caught.clear
feed(on_error: ->(error) { caught << error.class }) do
  PG.connect(options: caught.empty? ? "-c default_transaction_read_only=on" : "")
end.each do |batch|
  same([messages(batch), caught], [%w[a], [PG::ReadOnlySqlTransaction]], "another connection")
  break
end

value("SELECT sno_feed_rewind($1, $2, 'now')", TABLE, READER)
caught.clear
later = then_do do
  terminate
  insert("b")
end
feed(on_error: ->(error) { caught << error.class }) { PG.connect(application_name: "fed") }.each do |batch|
  same([messages(batch), caught.size], [%w[b], 1], "a connection that is lost while the reader waits")
  break
end
later.join

reader = feed
value("SELECT sno_feed_rewind($1, $2, 'now')", TABLE, READER)
later = then_do { reader.stop }
reader.each { |batch| same(batch.rows, [], "no rows") }
later.join
same(later.alive?, false, "stopped while it waits")

# Changes of a table: the rows that it had, and then its updates and deletes
value('CREATE TABLE "a Person" (fence integer PRIMARY KEY, name text)')
value(%q(INSERT INTO "a Person" VALUES (1, 'Ada'), (2, 'Bob')))
value(%q(CALL sno_feed_create_changes('"a Person"')))
value(%q(SELECT sno_feed_create_reader('"a Person"', 'copy')))
seen = []
reader = Sno::Feed.new('"a Person"', "copy") { PG.connect }
reader.each do |batch|
  batch.each do |row|
    seen << [*row.item.values, row.deleted]
    case seen.size
    when 2 then value(%q(UPDATE "a Person" SET name = 'Bea' WHERE fence = 2))
    when 3 then value('DELETE FROM "a Person"')
    when 5 then reader.stop
    end
  end
end
same(seen, [["1", "Ada", false], ["2", "Bob", false], ["2", "Bea", false], ["1", nil, true], ["2", nil, true]],
     "rows of a table, and their changes")

# Errors that don't pass
[["nowhere", "mail", PG::UndefinedTable], ["customers", "mail", PG::ObjectNotInPrerequisiteState],
 ["0", "mail", PG::UndefinedTable], ["outbox", "nobody", PG::UndefinedObject]].each do |name, of, error|
  raises(error, "wrong: #{error}") { Sno::Feed.new(name, of) { PG.connect }.each { break } }
end
raises(ArgumentError, "no block") { Sno::Feed.new("outbox", "mail") }

Tap.done
