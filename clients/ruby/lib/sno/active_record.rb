# frozen_string_literal: true

require "active_record/connection_adapters/postgresql_adapter"
require "sno"

class Sno
  class Type < ActiveModel::Type::Value
    # What was given as an id, and is none.
    class Wrong < String
      # To ActiveRecord, a value that is out of range isn't equal to 0.
      def <=>(other)
        other == 0 ? 1 : super
      end
    end
    private_constant :Wrong

    def type
      :sno
    end

    # Queries find nothing by a wrong id.  To save one raises.
    def serialize(value)
      id = cast(value)
      raise ActiveModel::RangeError, "not a sno: #{Sno.shown(id)}" unless id.nil? || id.is_a?(Sno)

      id&.to_s
    end

    def serializable?(value)
      id = cast(value)
      return true unless id.is_a?(Wrong)

      yield id if block_given?
      false
    end

    private

    # ActiveRecord asks for placeholders, too.  They stay what they are.
    def cast_value(value)
      case value
      when Sno then value
      when String, Numeric then Sno.new(value.to_s)
      else value
      end
    rescue ArgumentError
      Wrong.new(value.to_s)
    end
  end

  module Adapter
    # Since Rails 7.1 schema.rb creates all schemas.  CREATE EXTENSION creates this one.
    def schema_names
      super - ["sno_catalog"]
    end

    private

    # Arrays are found if the type of their elements is known.
    def initialize_type_map(map = type_map)
      map.register_type "sno", Type.new
      super
    end
  end

  # t.sno in migrations and in schema.rb
  module Columns
    def sno(*names, **options)
      names.each { |name| column(name, :sno, **options) }
    end
  end

  # where(id: 1.hour.ago..) compares times, as id <@ tstzrange(...).
  module RangeHandler
    def call(attribute, value)
      ends = [value.begin, value.end]
      return super unless attribute.type_caster.type == :sno && ends.any? { |at| time?(at) }

      bounds = ends.map { |at| at && (time?(at) ? at.in_time_zone.utc.iso8601(6) : at.to_s) }
      bounds << (value.exclude_end? ? "[)" : "[]")
      binds = bounds.map do |bound|
        Arel::Nodes::BindParam.new(
          ActiveRecord::Relation::QueryAttribute.new(attribute.name, bound, ActiveModel::Type::String.new)
        )
      end
      Arel::Nodes::InfixOperation.new("<@", attribute, Arel::Nodes::NamedFunction.new("tstzrange", binds))
    end

    private

    def time?(at)
      at.acts_like?(:time) || at.acts_like?(:date)
    end
  end
end

ActiveRecord::Type.register(:sno, Sno::Type, adapter: :postgresql)
ActiveRecord::PredicateBuilder::RangeHandler.prepend Sno::RangeHandler
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter::NATIVE_DATABASE_TYPES[:sno] = { name: "sno" }
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend Sno::Adapter
ActiveRecord::ConnectionAdapters::PostgreSQL::TableDefinition.include Sno::Columns
ActiveRecord::ConnectionAdapters::PostgreSQL::Table.include Sno::Columns
