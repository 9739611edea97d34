# frozen_string_literal: true

require "sno"

class Sno
  # The right to issue ids of one partition: in units after the floor, up to the last one
  # (until), with sequences from the first to the last one.  It reads no clock.
  class Loan
    PAIRS = DIGITS.chars.product(DIGITS.chars).map { |pair| pair.join.freeze }.freeze
    private_constant :PAIRS

    attr_reader :partition, :floor, :first, :last, :until

    def initialize(partition, floor, first, last, last_unit)
      @partition = partition
      @floor = floor
      @first = first
      @last = last
      @until = last_unit
      @side = 0
      @used = [floor << 16 | last] * 2 # last unit and sequence of each side
      @half = last_unit
    end

    # The next id.  Or :wait, if the unit is exhausted; :behind, if both sides have ids of
    # later units; :over.
    def next(unit, meta)
      return :over if unit > @until

      used = @used[@side]
      place = unit << 16 | @first
      if unit == used >> 16
        return :wait if used & 0xffff == @last

        place = used + 1
      elsif unit < used >> 16
        return :behind if unit <= @used[1 - @side] >> 16

        @side = 1 - @side
      end
      @used[@side] = place
      id(unit << 1 | @side, meta << 32 | @partition << 16 | place & 0xffff)
    end

    # Remember when it was taken.
    def taken(unit)
      @half = (unit + @until + 1) / 2
    end

    # Is half of its time over?
    def half?(unit)
      unit >= @half
    end

    # Will it issue in this unit, or was it just taken and will within a second?
    def soon?(unit)
      fresh = @used.all?(@floor << 16 | @last)
      unit <= @until && unit > (fresh ? @floor - 250 : @used.min >> 16)
    end

    # How many ids will it have up to the unit that is wanted?
    def left(unit, wanted)
      soon?(unit) && wanted <= @until ? Float::INFINITY : 0
    end

    def to_s
      "the loan until #{Units.time(@until)}"
    end

    private

    # The id whose halves of 40 bits these are.
    def id(high, low)
      pairs = PAIRS
      Sno.allocate.replace("#{pairs[high >> 30]}#{pairs[high >> 20 & 1023]}#{pairs[high >> 10 & 1023]}" \
                           "#{pairs[high & 1023]}#{pairs[low >> 30]}#{pairs[low >> 20 & 1023]}" \
                           "#{pairs[low >> 10 & 1023]}#{pairs[low & 1023]}").freeze
    end
  end

  # Ids fetched ahead.
  class Block
    def initialize(ids)
      @ids = ids.reverse
      @half = ids.size / 2
    end

    def next(_unit, _meta)
      @ids.pop || :over
    end

    def taken(_unit); end

    # Is half of it used?
    def half?(_unit)
      @ids.size <= @half
    end

    def soon?(_unit)
      true
    end

    def left(_unit, _wanted)
      @ids.size
    end

    def until; end

    def to_s
      "the block"
    end
  end
  private_constant :Block
end
