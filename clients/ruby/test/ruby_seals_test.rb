# frozen_string_literal: true

# The cases of test/vectors/sealed.tsv, and a general FF1 beside them.

require "sno/seals"
require "tap"

# FF1 as NIST SP 800-38G has it, algorithm 7, of any radix.
def ff1(key, radix, tweak, numerals)
  aes = OpenSSL::Cipher.new("aes-128-ecb").encrypt
  aes.key = key
  number = ->(digits) { digits.reduce(0) { |sum, digit| sum * radix + digit } }
  bytes = ->(integer, size) { [integer.to_s(16).rjust(size * 2, "0")].pack("H*") }
  xor = ->(one, other) { one.bytes.zip(other.bytes).map { |a, b| a ^ b }.pack("C*") }
  n = numerals.size
  u = n / 2
  v = n - u
  a, b = numerals.take(u), numerals.drop(u)
  size = (Math.log2(radix**v - 1).floor + 8) / 8
  d = 4 * ((size + 3) / 4) + 4
  p = [1, 2, 1, 0, radix, 10, u % 256, n, tweak.bytesize].pack("CCCCnCCNN")
  10.times do |i|
    q = tweak + "\0" * ((-tweak.bytesize - size - 1) % 16) + [i].pack("C") + bytes[number[b], size]
    r = (p + q).scan(/.{16}/mn).reduce("\0" * 16) { |last, block| aes.update(xor[last, block]) }
    s = r + (1...(d + 15) / 16).map { |j| aes.update(xor[r, bytes[j, 16]]) }.join
    m = i.even? ? u : v
    c = (number[a] + s[0, d].unpack1("H*").hex) % radix**m
    a, b = b, c.digits(radix).then { |digits| digits + [0] * (m - digits.size) }.reverse
  end
  a + b
end

key = ["2b7e151628aed2a6abf7158809cf4f3c"].pack("H*")
digits = ->(text) { text.chars.map { |digit| digit.to_i(36) } }
[[10, "", "0123456789", "2433477484"], [10, "39383736353433323130", "0123456789", "6124200773"],
 [36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"]].each.with_index(1) do |(radix, tweak, clear, wanted), n|
  same(ff1(key, radix, [tweak].pack("H*"), digits[clear]), digits[wanted], "NIST's sample #{n}")
end

lines = File.readlines("#{ENV["CLIENTS"]}/../test/vectors/sealed.tsv", chomp: true)
rows = lines.grep(/^\h{32}\t/).map { |line| line.split("\t") }
seals = Hash.new { |known, secret| known[secret] = Sno::Seals.new([secret].pack("H*")) }
same(rows.map { |secret, id, *| [secret, id, seals[secret].seal(id), seals[secret].seal_uuid(Sno.new(id))] },
     rows, "#{rows.size} ids are sealed")
same(rows.map { |secret, _, text, uuid| [seals[secret].unseal(text), seals[secret].unseal_uuid(uuid)] },
     rows.map { |_, id,| [Sno.new(id)] * 2 }, "and unsealed")
same(rows.map { |secret, _, _, uuid| seals[secret].unseal_uuid(uuid.upcase) }, rows.map { |row| row[1] },
     "also in capital letters")

random = Random.new(1)
same(Array.new(100) { [random.bytes(16), random.bytes(10)] }.reject { |secret, bytes|
  id = Sno.from_bytes(bytes)
  text = ff1(secret, 32, "", id.to_i.digits(32).then { |some| some + [0] * (16 - some.size) }.reverse)
  bits = ff1(secret, 2, "", (id.to_i << 42).digits(2).then { |some| some + [0] * (122 - some.size) }.reverse).join
  uuid = "#{bits[0, 48]}0100#{bits[48, 12]}10#{bits[60, 62]}".to_i(2)
  seals = Sno::Seals.new(secret)
  seals.seal(id) == text.map { |digit| "23456789abcdefghijklmnopqrstuvwx"[digit] }.join &&
    seals.unseal(seals.seal(id)) == id &&
    seals.seal_uuid(id).delete("-").hex == uuid && seals.unseal_uuid(seals.seal_uuid(id)) == id
}, [], "100 ids, as the general FF1 seals them")

secret, id, text, uuid = rows[0]
old = Sno::Seals.new([secret].pack("H*"))
new = Sno::Seals.new("a secret of 2031", [rows.last[0]].pack("H*"), [secret].pack("H*"))
same([new.unseal_uuid(uuid), new.unseal_uuid(new.seal_uuid(id)), old.unseal_uuid(new.seal_uuid(id)), new.seal_uuid(id) == uuid],
     [id, id, nil, false], "a secret that is changed")
same([old.seal(id).class, old.unseal(text).class, new.unseal(text).class, new.unseal(text) == id],
     [String, Sno, Sno, false], "a wrong secret gives another id")
foreign = ["3a1f9c52-7d04-4b6e-9f13-0c5a8d2e7b41", uuid.sub(/.\z/) { |digit| digit == "0" ? "1" : "0" }, uuid.sub(/-4/, "-7"),
           uuid.sub(/\A(.{19})./, '\1c'), "00000000-0000-0000-0000-000000000000", Sno.new(id).to_uuid, Sno.new(id).to_uuidv8]
same(foreign.map { |other| new.unseal_uuid(other) }, [nil] * foreign.size, "uuids that none of them sealed")
threads = Array.new(8) { |n|
  Thread.new { Array.new(200) { |i| Sno.from_i(n << 60 | i) }.reject { |one| old.unseal_uuid(old.seal_uuid(one)) == one } }
}
same(threads.flat_map(&:value), [], "8 threads")
same(old.inspect, "#<Sno::Seals>", "the secret isn't shown")

["", "x" * 15, "x" * 17, "x" * 32, "é" * 15, nil, 5].each do |wrong|
  raises(ArgumentError, "secret #{wrong.inspect}") { Sno::Seals.new(wrong) }
  raises(ArgumentError, "older secret #{wrong.inspect}") { Sno::Seals.new("x" * 16, wrong) }
end
["", "x", text.upcase, "1#{text[1..]}", nil, 5].each do |wrong|
  raises(ArgumentError, "seal #{wrong.inspect}") { old.seal(wrong) }
  raises(ArgumentError, "unseal #{wrong.inspect}") { old.unseal(wrong) }
  raises(ArgumentError, "seal_uuid #{wrong.inspect}") { old.seal_uuid(wrong) }
end
["", uuid.delete("-"), "{#{uuid}}", "#{uuid}\n", text, nil].each do |wrong|
  raises(ArgumentError, "unseal_uuid #{wrong.inspect}") { old.unseal_uuid(wrong) }
end

Tap.done
