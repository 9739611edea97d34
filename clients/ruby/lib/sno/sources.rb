# frozen_string_literal: true

require "json"
require "sno/loan"

class Sno
  # The answers of a query.  A cache that gives one again would let ids come twice.
  class Answers
    REMEMBERED = 16
    private_constant :REMEMBERED

    def initialize(sql, query)
      @sql = sql
      @query = query
      @given = []
    end

    def next
      rows = @query.call(@sql)
      first = rows.first if rows.is_a?(Array)
      raise "the query gave an answer that it had given before: #{Sno.shown(first)}" if first && @given.include?(first)

      @given.shift if @given.size == REMEMBERED
      @given << first
      rows
    end
  end
  private_constant :Answers

  # What generators take loans from.  The block of code runs one SQL text, in a transaction of
  # its own that has committed when it returns, and returns rows: arrays of texts.
  class Loans
    # The metabytes that ids may have, and how many ids two loans have.
    attr_reader :metas, :most

    # The duration is in seconds.  SQL may call a function of yours instead of
    # sno_borrow_partition().
    def initialize(duration: nil, sequences: nil, call: nil, &query)
      raise ArgumentError, "no block that runs SQL" unless query
      raise ArgumentError, "a call knows its duration and sequences" if call && (duration || sequences)
      raise ArgumentError, "not a call: #{Sno.shown(call)}" unless call.nil? || call.is_a?(String)

      @metas = 0..255
      @most = Float::INFINITY
      sql = "SELECT snapshot::text, ((extract(epoch FROM until) * 250)::bigint - #{EPOCH / UNIT})::text " \
            "FROM #{call || borrow(duration || 3600, sequences || 65_536)}"
      @answers = Answers.new(sql, query)
    end

    def take
      loan(@answers.next)
    end

    private

    def borrow(duration, sequences)
      unless duration.is_a?(Numeric) && duration.finite? && duration * 1000 >= UNIT
        raise ArgumentError, "not a duration of 4 ms or more: #{duration.inspect}"
      end
      unless sequences.is_a?(Integer) && sequences.between?(1, 65_536)
        raise ArgumentError, "not a number of sequences: #{sequences.inspect}"
      end

      "sno_borrow_partition('#{(duration * 1000).to_i} milliseconds', #{sequences})"
    end

    def loan(rows)
      raise unless rows.size == 1

      snapshot, last_unit = rows[0]
      snapshot = JSON.parse(snapshot)
      partition = snapshot.fetch("partition")
      first, last = sequences = snapshot.fetch_values("sequenceMin", "sequenceMax")
      floors = snapshot.fetch_values("wallHi", "wallSafe")
      last_unit = Integer(last_unit)
      raise unless [*partition, *sequences, *floors].all?(Integer) && partition.size == 2 &&
                   partition.all?(0..255) && sequences.all?(0..65_535) && first <= last &&
                   floors.min >= 0 && floors.max < last_unit && last_unit <= LAST_UNIT

      Loan.new(partition[0] << 8 | partition[1], floors.max, first, last, last_unit)
    rescue StandardError
      raise "not a loan: #{Sno.shown(rows)}"
    end
  end

  # What generators take ids from that the database made ahead.  All have one metabyte.
  class Blocks
    attr_reader :metas, :most

    def initialize(count: 500, meta: 0, &query)
      raise ArgumentError, "no block that runs SQL" unless query
      unless count.is_a?(Integer) && count.between?(1, 65_536)
        raise ArgumentError, "not a number of ids: #{count.inspect}"
      end
      raise ArgumentError, "not a metabyte: #{meta.inspect}" unless meta.is_a?(Integer) && meta.between?(0, 255)

      @count = count
      @metas = meta..meta
      @most = 2 * count
      @answers = Answers.new("SELECT id::text FROM sno_generate_many(#{count}, #{meta}) AS id", query)
    end

    def take
      block(@answers.next)
    end

    private

    def block(rows)
      ids = rows.map { |(text)| Sno.new(text) }
      raise unless ids.size == @count && ids.all? { |id| @metas.cover?(id.meta) }

      Block.new(ids)
    rescue StandardError
      raise "not #{@count} ids: #{Sno.shown(rows)[0, 100]}"
    end
  end
end
