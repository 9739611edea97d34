# frozen_string_literal: true

# What the tests need to report TAP.
module Tap
  @tests = @failures = 0

  class << self
    attr_reader :failures

    def report(passed, name, seen)
      @tests += 1
      @failures += 1 unless passed
      puts "#{"not " unless passed}ok #{@tests} - #{name}"
      puts "# #{seen.inspect}" unless passed
    end

    def done
      puts "1..#{@tests}"
      exit(@failures.zero?)
    end
  end
end

def same(seen, wanted, name)
  Tap.report(seen == wanted, name, seen)
end

def raises(error, name)
  Tap.report(false, name, yield)
rescue error
  Tap.report(true, name, nil)
end
