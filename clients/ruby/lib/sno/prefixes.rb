# frozen_string_literal: true

require "sno"

class Sno
  # Names before ids, such as user_9d5ve82226224222, as sno_prefixed() writes them.
  class Prefixes
    # The prefixes of metabytes: { 1 => "user", 2 => "order" }.
    def initialize(prefixes)
      prefixes.each do |meta, prefix|
        raise ArgumentError, "not a metabyte: #{meta.inspect}" unless meta.is_a?(Integer) && meta.between?(0, 255)

        unless prefix.is_a?(String) && prefix.b.match?(/\A(?=.{1,63}\z)[a-z]([a-z0-9_]*[a-z0-9])?\z/n)
          raise ArgumentError, "not a prefix: #{Sno.shown(prefix)}"
        end
      end
      @prefixes = prefixes.transform_values { |prefix| prefix.dup.freeze }.freeze
      raise ArgumentError, "a prefix belongs to one metabyte" if @prefixes.values.uniq.size < @prefixes.size
    end

    # The prefix of the id's metabyte or nil, as sno_prefix(id).
    def prefix(id)
      @prefixes[Sno.new(id).meta]
    end

    # The prefix, an underscore, and the id, as sno_prefixed(id).
    def write(id)
      meta = Sno.new(id).meta
      "#{@prefixes.fetch(meta) { raise KeyError, "metabyte #{meta} has no prefix" }}_#{id}"
    end

    # The id of such a text, as sno_from_prefixed(text).
    def read(text)
      raise ArgumentError, "not an id with a prefix: #{Sno.shown(text)}" unless text.is_a?(String)

      prefix, _, id = text.b.rpartition("_")
      id = Sno.new(id)
      raise ArgumentError, "wrong prefix of an id: #{Sno.shown(text)}" unless prefix(id) == prefix

      id
    end
  end
end
