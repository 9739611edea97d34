# frozen_string_literal: true

# The cases of test/vectors/loans.tsv.

require "sno/loan"
require "tap"

# The names of the cases whose reads return something else than is written there.
def wrong_cases(lines)
  name = loan = nil
  lines.filter_map { |line|
    kind, *fields = line.split("\t")
    case kind
    when "loan"
      name, *numbers = fields
      loan = Sno::Loan.new(*numbers.map(&:to_i))
      nil
    when "read"
      unit, meta, times = fields.map(&:to_i)
      *before, seen = Array.new(times) { loan.next(unit, meta) }
      name unless before.all?(Sno) && seen.to_s == fields[3] && seen.is_a?(fields[3].size == 16 ? Sno : Symbol)
    end
  }.uniq
end

lines = File.readlines("#{ENV["CLIENTS"]}/../test/vectors/loans.tsv", chomp: true).grep_v(/\A(#|\z)/)
cases = lines.slice_before(/\Aloan\t/).to_a
cases.each { |one| same(wrong_cases(one), [], one[0].split("\t")[1]) }
same(cases.size > 10, true, "there are many cases")
planted = lines.map { |line| line.sub(/\t9qd7rse/, "\t9qd7rsf").sub("\tover", "\tbehind") }
same(wrong_cases(planted).size, 6, "what is wrong is found")

id = Sno::Loan.new(257, 5, 2, 3, 9).next(6, 4)
same([id.class, id.frozen?, id.encoding, id, id.to_i],
     [Sno, true, Encoding::UTF_8, Sno.new(id.to_s), 6 << 41 | 4 << 32 | 257 << 16 | 2], "an id is a Sno")

Tap.done
