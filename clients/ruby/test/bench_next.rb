# frozen_string_literal: true

# How long it takes to make an id, beside uuids: ns, medians of 5 rounds.  No test runs it.

$LOAD_PATH.unshift("#{__dir__}/../lib")
require "securerandom"
require "sno/generator"

CALLS = 200_000
unit = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) / 4 - 315_576_000_000
snapshot = { partition: [1, 1], wallHi: 0, wallSafe: 0, sequenceMin: 0, sequenceMax: 65_535 }
ids = Sno::Generator.new(Sno::Loans.new { [[JSON.generate(snapshot), (unit + 900_000).to_s]] })
makers = { "next" => ->(_) { ids.next }, "uuid v4" => ->(_) { SecureRandom.uuid } }
makers["uuid v7"] = ->(_) { SecureRandom.uuid_v7 } if SecureRandom.respond_to?(:uuid_v7)

rounds = Array.new(5) {
  makers.transform_values { |maker|
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    CALLS.times(&maker)
    (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start) / CALLS
  }
}
puts "ruby #{RUBY_VERSION}, ns: " + makers.keys.map { |name| "#{name} #{rounds.map { |round| round[name] }.sort[2]}" }.join(", ")
