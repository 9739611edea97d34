# frozen_string_literal: true

require "sno/sources"

class Sno
  # The generator has no id to give.  The cause is the error of the source, if there is one.
  class OutOfIds < StandardError
    # :over, the loan is over or the block used up, and the next one isn't there; :clock, the
    # clock isn't within a new loan; :closed.
    attr_reader :reason

    # When the loan ends or ended, or nil.
    attr_reader :until

    def initialize(why, reason, present = nil)
      super("no id#{" after #{present}" if present}: #{why}")
      @reason = reason
      @until = present&.until && Units.time(present.until)
    end
  end

  # Counts the forks between the first process and this one.
  module Forks
    @count = 0

    class << self
      if Process.respond_to?(:_fork)
        attr_reader :count
      else
        # Ruby 3.0 has no hook, but the ids of processes differ.
        def count
          Process.pid
        end
      end

      def add
        @count += 1
      end
    end

    def _fork
      super.tap { |pid| Forks.add if pid.zero? }
    end

    # It doesn't call _fork.
    def daemon(...)
      super.tap { Forks.add }
    end

    Process.singleton_class.prepend(self) if Process.respond_to?(:_fork)
  end
  private_constant :Forks

  # Makes ids of what its source gives.  The next loan or block is taken early, in a thread, and
  # kept as the spare.  Threads may share a generator; a process that forks leaves its loans to
  # the parent.
  class Generator
    FIRST_PAUSE = 1 # seconds after an attempt that failed
    LAST_PAUSE = 60
    Failure = Struct.new(:reason, :text, :error)
    private_constant :FIRST_PAUSE, :LAST_PAUSE, :Failure

    # Threads wait so many seconds for the source.
    def initialize(source, wait: 5)
      raise ArgumentError, "not a time to wait: #{wait.inspect}" unless wait.is_a?(Numeric) && !wait.negative?

      @source = source
      @metas = source.metas
      @wait = wait
      @mutex = Mutex.new
      @changed = ConditionVariable.new
      @closed = false
      forget
    end

    # A new id.
    def next(meta = @metas.begin)
      unless meta.is_a?(Integer) && @metas.cover?(meta)
        raise ArgumentError, "not a metabyte of this generator: #{meta.inspect}"
      end

      @mutex.synchronize { issue(meta) }
    end

    # Wait until there is a loan that lasts until a time, or a block and its spare that have so
    # many ids.
    def ready(until: nil, count: 1)
      time = binding.local_variable_get(:until)
      raise ArgumentError, "not a number of ids: #{count.inspect}" unless count.is_a?(Integer) && count.positive?
      raise ArgumentError, "#{count} ids are more than two blocks have" if count > @source.most

      @mutex.synchronize { wait_for(time ? Units.at(time) : 0, count) }
      self
    end

    # Numbers of ids issued, of loans or blocks taken, and of failed attempts; when the present
    # loan ends; why the last failed attempt did.
    def stats
      @mutex.synchronize do
        forget if @process != Forks.count
        last_unit = @present&.until
        { issued: @issued, taken: @taken, failed: @failed, until: last_unit && Units.time(last_unit),
          reason: @failure&.text }
      end
    end

    # No more ids.  A loan can't be given back.
    def close
      attempt = @mutex.synchronize do
        @closed = true
        @present = @spare = nil
        @changed.broadcast
        @attempt.tap { @attempt = nil }
      end
      attempt&.kill&.join(@wait)
      nil
    end

    private

    # All below is called with the mutex locked.

    def forget
      @process = Forks.count
      @present = @spare = @attempt = @failure = nil
      @issued = @taken = @failed = 0
      @pause = FIRST_PAUSE
      @retry_at = 0
    end

    def issue(meta)
      deadline = nil
      while true
        forget if @process != Forks.count
        unit = Units.at_ms(milliseconds)
        case id = @present&.next(unit, meta)
        when Sno
          @issued += 1
          start if @present.half?(unit) && !@spare && may_start?
          return id
        when :wait
          rest_until(unit + 1)
        else
          if id == :behind && @present.soon?(unit)
            rest_until(@present.floor + 1)
          elsif @spare
            @present, @spare = @spare, nil
          else
            await(deadline ||= monotonic + @wait)
          end
        end
      end
    end

    def wait_for(wanted, count)
      forget if @process != Forks.count
      deadline = monotonic + @wait
      taken = nil # how many there were before the attempt that is made for this call
      while true
        unit = Units.at_ms(milliseconds)
        lefts = [@present, @spare].compact.map { |one| one.left(unit, wanted) }
        return if lefts.sum >= count
        if taken && @taken > taken && lefts.last.zero?
          raise OutOfIds.new("a new loan doesn't last until #{Units.time(wanted)}", :over, @spare || @present)
        end

        taken ||= @taken unless attempting?
        await(deadline)
      end
    end

    # Wait for the attempt to take the next loan or block, or start one.
    def await(deadline)
      raise OutOfIds.new("the generator is closed", :closed) if @closed

      unless attempting?
        give_up(@failure) unless may_start?
        start
      end
      seconds = deadline - monotonic
      give_up(Failure.new(:over, "it takes longer than #{@wait} s")) unless seconds.positive?
      @changed.wait(@mutex, seconds) if attempting?
    end

    def give_up(failure)
      why = failure.reason == :over ? "the source failed: #{failure.text}" : failure.text
      raise OutOfIds.new(why, failure.reason, @present), cause: failure.error
    end

    # A thread that somebody killed is no attempt.
    def attempting?
      @attempt&.alive?
    end

    def may_start?
      !attempting? && monotonic >= @retry_at
    end

    def start
      @attempt = Thread.new do
        asked = Units.at_ms(milliseconds)
        taken = @source.take
      rescue Exception => error # it ends the attempt, whatever it is
      ensure
        @mutex.synchronize { settle(taken, error, asked) if @attempt == Thread.current && @process == Forks.count }
      end
    rescue ThreadError => error
      settle(nil, error)
    end

    def settle(taken, error, asked = nil)
      @attempt = nil
      now = milliseconds
      unit = Units.at_ms(now)
      if !taken
        failed(Failure.new(:over, error ? error.message.strip : "the thread was killed", error))
      elsif taken.until && asked <= taken.until && unit > taken.until
        failed(Failure.new(:over, "a new loan, until #{Units.time(taken.until)}, came too late: it was asked for at " \
                                  "#{Units.time(asked)}, and now it is #{Units.time(unit)}"))
      elsif !taken.soon?(unit)
        failed(Failure.new(:clock, "the clock, at #{Units.time(unit)}, is not within a new loan, " \
                                   "after #{Units.time(taken.floor)} until #{Units.time(taken.until)}"))
      else
        taken.taken(unit)
        @taken += 1
        @pause = FIRST_PAUSE
        @present = @spare if @spare # if ready() wanted more
        @spare = taken
      end
      @changed.broadcast
    end

    def failed(failure)
      @failed += 1
      @failure = failure
      @retry_at = monotonic + @pause
      @pause = [@pause * 2, LAST_PAUSE].min
    end

    def rest_until(unit)
      seconds = (EPOCH + unit * UNIT - milliseconds) / 1000.0
      rest(seconds) if seconds.positive?
    end

    def rest(seconds)
      @changed.wait(@mutex, seconds)
    end

    def milliseconds
      Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)
    end

    def monotonic
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
