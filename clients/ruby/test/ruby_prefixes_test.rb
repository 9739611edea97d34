# frozen_string_literal: true

# Names before ids: the cases of test/vectors/prefixes.tsv, and the example of clients/ruby/README.md.

require "sno/prefixes"
require "tap"

lines = File.readlines("#{ENV["CLIENTS"]}/../test/vectors/prefixes.tsv", chomp: true, encoding: "UTF-8")
cases = lines.grep_v(/^#/).map { |line| line.split("\t", -1) }.group_by(&:shift)
same(cases.keys.sort, %w[badid badprefix id noprefix prefix], "cases")
table = cases["prefix"].to_h { |meta, prefix| [meta.to_i, prefix] }
prefixes = Sno::Prefixes.new(table)

cases["badprefix"].each do |meta, prefix|
  raises(ArgumentError, "row #{meta} #{prefix.inspect}") { Sno::Prefixes.new(table.merge(meta.to_i => prefix)) }
end
same(cases["id"].map { |text, _| [text, prefixes.read(text)] }, cases["id"], "texts are read")
same(cases["id"].map { |_, id| [prefixes.write(Sno.new(id)), id] }, cases["id"], "and written")
same(prefixes.read(cases["id"][0][0]).class, Sno, "as ids")
cases["badid"].each { |text,| raises(ArgumentError, "text #{text.inspect}") { prefixes.read(text) } }
cases["noprefix"].each do |id,|
  same(prefixes.prefix(id), nil, "#{id} has no prefix")
  raises(KeyError, "so it can't be written") { prefixes.write(id) }
end
["user_brpk4q725cf2m63l\n", "user\n_brpk4q725cf2m63l", "user_\0rpk4q725cf2m63l", "\xff_brpk4q725cf2m63l", nil, 5].each do |wrong|
  raises(ArgumentError, "text #{wrong.inspect}") { prefixes.read(wrong) }
end
[{ 2 => "user\n" }, { 2 => nil }, { "2" => "user" }, { nil => "user" }, { 2 => "kind", 3 => "kind" }].each do |wrong|
  raises(ArgumentError, "table #{wrong}") { Sno::Prefixes.new(wrong) }
end
id = Sno.new("brpk4q725cf2m63l")
example = File.read("#{ENV["CLIENTS"]}/ruby/README.md")[/^```ruby prefixes\n(.*?)^```$/m, 1]
same(eval("#{example}; [text, again]"), ["user_brpk4q725cf2m63l", id], "README's example")

Tap.done
