# frozen_string_literal: true

# An id of the PostgreSQL extension sno: its text of 16 characters.  Ids sort by the
# bytes of their text, as they do in the database.
class Sno < String
  DIGITS = "23456789abcdefghijklmnopqrstuvwx"
  NUMERALS = "0123456789abcdefghijklmnopqrstuv" # as Integer#to_s(32) has them
  EPOCH = 1_262_304_000_000 # 2010-01-01 UTC, in ms since 1970
  UNIT = 4 # ms
  LAST_UNIT = (1 << 39) - 1
  UUID = /\A\h{8}(-\h{4}){3}-\h{12}\z/.freeze
  ANY_UUID = /\h{4}(-?\h{4}){7}/.freeze
  # Texts that are given as ids by mistake, and what to do with them
  MISTAKES = {
    /\A-?[0-9]+\z/n => "it is a number",
    /\A(#{ANY_UUID}|\{#{ANY_UUID}\})\z/n => "Sno.from_uuid converts a uuid",
    /\A.+[_-][2-9a-x]{16}\z/mn => "Prefixes#read converts an id with a prefix",
    /\A[2-9a-x]{16}\z/in => "ids are in lower case",
    /\A[0-9]{4}-[0-9]{2}-[0-9]{2}/n => "Sno.min and Sno.max convert a time"
  }.freeze
  private_constant :DIGITS, :NUMERALS, :EPOCH, :UNIT, :LAST_UNIT, :UUID, :ANY_UUID, :MISTAKES

  # Units of 4 ms, numbered from 2010-01-01 UTC.
  module Units
    class << self
      def at(time)
        at_ms(time.to_r * 1000)
      end

      # The unit of a number of ms since 1970.
      def at_ms(milliseconds)
        (milliseconds - EPOCH).div(UNIT)
      end

      # The time when the unit starts, in UTC.
      def time(unit)
        Time.at(0, EPOCH + unit * UNIT, :millisecond, in: "UTC")
      end
    end
  end
  private_constant :Units

  def initialize(text)
    unless text.is_a?(String) && text.b.match?(/\A[2-9a-x]{16}\z/n)
      _, advice = MISTAKES.find { |pattern, _| text.is_a?(String) && text.b.match?(pattern) }
      raise ArgumentError, "not a sno: #{Sno.shown(text)}#{" (#{advice})" if advice}"
    end

    super(text, encoding: Encoding::UTF_8)
    freeze
  end

  class << self
    # A value for a message.  inspect leaves NEL as it is, which terminals obey.
    def shown(value) # :nodoc:
      value.inspect.encode(Encoding::UTF_8).gsub("\u0085", '\u0085')
    end

    # The id of 80 bits.
    def from_i(bits)
      raise ArgumentError, "not a sno: #{bits.inspect}" unless bits.is_a?(Integer) && bits >= 0

      new(bits.to_s(32).rjust(16, "0").tr(NUMERALS, DIGITS))
    end

    # The id of 10 bytes, a String.
    def from_bytes(bytes)
      unless bytes.is_a?(String) && bytes.bytesize == 10
        raise ArgumentError, "not the bytes of a sno: #{Sno.shown(bytes)}"
      end

      from_i(bytes.unpack1("H*").hex)
    end

    # The id of a uuid that to_uuid or to_uuidv8 wrote.
    def from_uuid(uuid)
      raise ArgumentError, "not a uuid: #{Sno.shown(uuid)}" unless UUID.match?(uuid)

      hex = uuid.delete("-")
      bits = hex.hex
      id = bits >> 80 << 32 | bits[64, 12] << 20 | bits[42, 20]
      return from_i(id) if bits[76, 4] == 8 && bits[62, 2] == 2 && bits[0, 42].zero?

      new([hex].pack("H*"))
    end

    # The lowest id of the 4 ms that hold the time.  As in the database, a time out of
    # range gives the lowest or the highest of all ids.
    def min(time)
      bound(time, 0)
    end

    # The highest id of the 4 ms that hold the time.
    def max(time)
      bound(time, (1 << 41) - 1)
    end

    private

    def bound(time, rest)
      unit = Units.at(time)
      from_i(if unit.negative? then 0
             elsif unit > LAST_UNIT then (1 << 80) - 1
             else unit << 41 | rest
             end)
    end
  end

  def to_i
    tr(DIGITS, NUMERALS).to_i(32)
  end

  def to_bytes
    [format("%020x", to_i)].pack("H*")
  end

  # The uuid whose 16 bytes are the text, as id::uuid.
  def to_uuid
    uuid(unpack1("H*"))
  end

  # The uuid of version 8 that begins with the id, as sno_to_uuidv8(id).
  def to_uuidv8
    bits = to_i
    uuid(format("%032x", bits[32, 48] << 80 | 8 << 76 | bits[20, 12] << 64 | 2 << 62 | bits[0, 20] << 42))
  end

  # When the id was made: the start of its 4 ms, in UTC.
  def time
    Units.time(to_i[41, 39])
  end

  def tick_tock
    to_i[40] == 1
  end

  def meta
    to_i[32, 8]
  end

  # Without an argument, the partition.  Else that of String.
  def partition(*separator)
    separator.empty? ? to_i[16, 16] : super
  end

  def sequence
    to_i[0, 16]
  end

  private

  def uuid(hex)
    [hex[0, 8], hex[8, 4], hex[12, 4], hex[16, 4], hex[20, 12]].join("-")
  end
end
