# frozen_string_literal: true

# Ids without the database, compared with what the database says.

require "pg"
require "sno"
require "tap"

database = PG.connect
rows = File.readlines("#{ENV["CLIENTS"]}/../test/vectors/sno.tsv", chomp: true).map { |line| line.split("\t") }
ids = rows.map { |row| Sno.new(row[1]) }

same(rows.zip(ids).reject { |(hex, text, ms, *fields), id|
  id.to_bytes == [hex].pack("H*") && Sno.from_bytes(id.to_bytes) == text && id.time == Time.at(0, ms.to_i, :millisecond) &&
    id.time.utc? && [id.tick_tock ? 1 : 0, id.meta, id.partition, id.sequence] == fields.map(&:to_i)
}, [], "#{rows.size} ids: bytes, text and fields")

File.foreach("#{ENV["CLIENTS"]}/../test/vectors/mistakes.tsv", chomp: true) do |line|
  kind, text = line.split("\t", -1)
  seen = begin
    Sno.new(text)
  rescue ArgumentError => e
    e.message
  end
  same(seen.end_with?(")") ? seen.include?(kind) : kind == "none", true, "advice for #{text.inspect}: #{seen}")
end

# What a terminal would obey: C0, DEL and C1
hostile = "a\u0001\e[2J\u007f\u0085\u009b31m"
messages = [-> { Sno.new(hostile) }, -> { Sno.from_bytes(hostile) }, -> { Sno.from_uuid(hostile) }].map do |call|
  call.call
rescue ArgumentError => e
  e.message.match?(/\A[ -~]*\z/)
end
same(messages, [true, true, true], "control characters in messages are escaped")

array = PG::TextEncoder::Array.new.encode(ids)
seen = database.exec_params("SELECT id::uuid, sno_to_uuidv8(id), sno_min(id::timestamptz), sno_max(id::timestamptz)
  FROM unnest($1::sno[]) WITH ORDINALITY AS _ (id, n) ORDER BY n", [array]).values
same(ids.map { |id| [id.to_uuid, id.to_uuidv8, Sno.min(id.time), Sno.max(id.time)] }, seen,
     "uuids and bounds are those of the database")
same(ids.map { |id| [Sno.from_uuid(id.to_uuid), Sno.from_uuid(id.to_uuidv8.upcase)] }, ids.zip(ids), "ids of uuids")
same(ids.sort, database.exec_params("SELECT unnest($1::sno[]) ORDER BY 1", [array]).column_values(0), "order")

times = ["1969-12-31 23:59:59.999", "2009-12-31 23:59:59.999999", "2010-01-01 00:00", "2010-01-01 00:00:00.003999",
         "2010-01-01 00:00:00.004", "2026-02-03 04:05:06.789123", "2079-09-07 15:47:35.548",
         "2079-09-07 15:47:35.551999", "2079-09-07 15:47:35.552", "2200-01-01 00:00"]
seen = times.map { |at| database.exec_params("SELECT sno_min($1), sno_max($1)", ["#{at}Z"]).values[0] }
same(times.map { |at| Time.new(*at.scan(/\d+(?:\.\d+)?/).map(&:to_r), in: "UTC").then { |t| [Sno.min(t), Sno.max(t)] } },
     seen, "bounds of times within and out of range")

text = "brpk4q72xwf2m63l"
id = Sno.new(text)
same({ id => 1 }[Sno.new(text)], 1, "key of a hash")
same([id == text, id.frozen?, Sno.new(text.encode("UTF-16LE").encode("UTF-8")).encoding], [true, true, Encoding::UTF_8],
     "an id is its text")
same(id.partition("4"), ["brpk", "4", "q72xwf2m63l"], "String#partition")

["", text.upcase, "#{text}2", text[1..], "#{text}\n", " #{text}", "1#{text[1..]}", "y#{text[1..]}", "\xff" * 16,
 "#{"a" * 8}\0#{"a" * 7}", text.encode("UTF-16LE"), nil, 5, id.to_i].each do |wrong|
  raises(ArgumentError, "text #{wrong.inspect}") { Sno.new(wrong) }
end
["", "a" * 9, "a" * 11, nil, 1].each { |wrong| raises(ArgumentError, "bytes #{wrong.inspect}") { Sno.from_bytes(wrong) } }
raises(ArgumentError, "81 bits") { Sno.from_i(1 << 80) }
raises(ArgumentError, "a negative number") { Sno.from_i(-1) }

uuid = id.to_uuidv8
[nil, "", text, uuid.delete("-"), "{#{uuid}}", "#{uuid}0", uuid.tr("-", "g"), uuid.sub("-8", "-7"), "#{uuid[..-2]}1",
 uuid.sub(/(.{19})./, '\1c'), "00000000-0000-0000-0000-000000000000",
 "72706b34-3471-3732-7877-66326d363359"].each do |wrong|
  raises(ArgumentError, "uuid #{wrong.inspect}") { Sno.from_uuid(wrong) }
end

Tap.done
