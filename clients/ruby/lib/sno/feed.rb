# frozen_string_literal: true

require "pg"
require "sno"

class Sno
  # Reads the rows of a feed of the extension sno_feeds, as one of its readers.  Each batch of rows
  # is leased to it, and acknowledged when the block of each has returned.  Each statement is a
  # transaction of its own.
  #
  # One thread may use a feed.  Several feeds share the parts of a reader.
  class Feed
    WAIT = "5 seconds" # of one statement
    FIRST_PAUSE = 0.1 # seconds after an error
    LAST_PAUSE = 5 # after many
    # A connection is lost or refused, the server is a standby, or the statement should be run
    # again.  Without a state, the error is one of libpq.
    TRANSIENT = /\A(08...|57P0[1-5]|53300|25006|40001|40P01)?\z/.freeze
    private_constant :WAIT, :FIRST_PAUSE, :LAST_PAUSE, :TRANSIENT

    # A row of a batch: its key, or the id of the change; whether it is deleted, which only a row
    # of a feed of changes can be; and a Hash with the names of the columns.  Of a deleted row, only
    # the key is not null.
    Row = Struct.new(:id, :deleted, :item)

    # Rows of a part of a feed, in their order.  The part is -1 for a row that was set aside, and is
    # tried again.
    class Batch
      include Enumerable
      attr_reader :rows, :part, :fence, :failure # :nodoc:

      def initialize(rows, part, fence, retry_after, &more) # :nodoc:
        @rows = rows
        @part = part
        @fence = fence
        @retry_after = retry_after
        @more = more
      end

      # Yields the rows, until one has failed, or the lease is lost.  Extends the lease if more than
      # half of its time has passed.  To iterate over rows doesn't extend it.
      def each
        return to_enum unless block_given?

        @rows.each_with_index do |row, i|
          break unless !@failure && @more.call(self, i)

          yield row
        end
      end

      # Report that a row could not be handled.  For a batch, only the first call counts.  When the
      # batch ends, the rows before this row are acknowledged.  This row and those after it come
      # again, unless this row is set aside.  If the row is nil, one of the rows failed, and all
      # come again one by one.  If the error is nil, no row is to blame, and no try counts.
      def fail(row, error, retry_after: @retry_after)
        raise ArgumentError, "row #{row.id} is not one of the batch" if row && @rows.none? { |each| each.id == row.id }

        text = error.is_a?(Exception) ? "#{error.class}: #{error.message}" : error&.to_s
        text = text&.dup&.force_encoding(Encoding::UTF_8)&.scrub&.gsub("\0", "\\\\0")
        @failure ||= [row&.id, text, "#{retry_after} seconds"]
      end
    end

    # A feed is a table, whose name is written as in SQL.  The block opens a connection.  Times are
    # in seconds: the lease of a batch, and the time until a row that failed comes again.  on_error
    # gets the errors after which the feed goes on.
    def initialize(feed, reader, max_rows: 1000, lease: 60, retry_after: 1, on_error: nil, &connect)
      raise ArgumentError, "no block that opens a connection" unless connect

      @feed = feed
      @reader = reader
      @max_rows = max_rows
      @lease = lease
      @retry_after = retry_after
      @on_error = on_error || ->(error) { warn("sno: feed #{feed}, reader #{reader}: #{error.message}") }
      @connect = connect
      @stopped = false
    end

    # Yields batches, until the feed is stopped.
    def each
      until @stopped
        if take
          yield @batch
          batch = @batch
          @batch = nil
          finish(batch) if batch
        elsif !@stopped
          run("CALL sno_feed_wait($1::text::regclass, $2, $3)", @table, @reader, WAIT)
        end
      end
    ensure
      give_back if @batch
      disconnect
    end

    # End each after the present batch, at the latest after 5 s.  Any thread, and the handler of a
    # signal, may call it.
    def stop
      @stopped = true
    end

    private

    # Lease the next rows, if there are any.
    def take
      return unless @table ||= name

      since = now
      found = run("SELECT part, fence, id, deleted, (item).* FROM sno_feed_take(NULL::#{@table}, $1, $2, $3)",
                  @reader, @max_rows, "#{@lease} seconds")
      return unless found&.ntuples&.positive?

      columns = found.fields.drop(4)
      rows = found.each_row.map do |_, _, id, deleted, *values|
        Row.new(id, [true, "t"].include?(deleted), columns.zip(values).to_h)
      end
      @since = since
      @batch = Batch.new(rows, found.getvalue(0, 0).to_i, found.getvalue(0, 1), @retry_after, &method(:more?))
      found.clear
      @batch
    end

    # The qualified name of the table
    def name
      found = run("SELECT pg_catalog.format('%s.%I', relnamespace::pg_catalog.regnamespace, relname) " \
                  "FROM pg_catalog.pg_class WHERE oid = $1::pg_catalog.text::pg_catalog.regclass", @feed)
      found&.getvalue(0, 0)
    end

    # Is the batch still leased?  Before rows other than the first, its lease is extended if more
    # than half of it has passed.
    def more?(batch, index)
      return false unless @batch.equal?(batch)

      start = now
      return true unless index.positive? && start - @since > @lease / 2.0

      @since = start
      sql = "SELECT sno_feed_extend($1::text::regclass, $2, $3, $4, $5)"
      @batch = nil unless leased(sql, batch, "#{@lease} seconds")
      !@batch.nil?
    end

    def finish(batch)
      leased(*ending(batch))
    end

    def ending(batch)
      return ["SELECT sno_feed_done($1::text::regclass, $2, $3, $4)", batch] unless batch.failure

      ["SELECT sno_feed_fail($1::text::regclass, $2, $3, $4, $5, $6, $7)", batch, *batch.failure]
    end

    # The loop was left.  No row is to blame, unless one failed before.  An exception of the program
    # must not be hidden.
    def give_back
      @batch.fail(nil, nil, retry_after: 0)
      sql, batch, *more = ending(@batch)
      @batch = nil
      run_once(sql, [@table, @reader, batch.part, batch.fence, *more])
    rescue PG::Error => e
      @on_error.call(e)
    end

    # Run a statement that needs the lease of a batch, and return false if it was lost.  After a
    # connection was lost, the first run may have ended the lease.
    def leased(sql, batch, *more)
      run(sql, @table, @reader, batch.part, batch.fence, *more)
      true
    rescue PG::LockNotAvailable => e
      @on_error.call(e)
      false
    end

    # The result of a statement, which is run again and again while the server is away, or nil if
    # the feed is stopped meanwhile.
    def run(sql, *values)
      pause = FIRST_PAUSE
      begin
        run_once(sql, values)
      rescue PG::Error => e
        raise unless TRANSIENT.match?(e.result&.error_field(PG::Result::PG_DIAG_SQLSTATE).to_s)

        disconnect
        @on_error.call(e)
        return if @stopped

        sleep(pause * rand(0.5..1.0))
        pause = [2 * pause, LAST_PAUSE].min
        retry
      end
    end

    def run_once(sql, values)
      @connection ||= @connect.call
      @connection.exec_params(sql, values.map { |value| value&.to_s })
    end

    def disconnect
      @connection.close if @connection && !@connection.finished?
      @connection = nil
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
