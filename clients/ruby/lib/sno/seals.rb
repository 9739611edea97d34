# frozen_string_literal: true

require "openssl"
require "sno"

class Sno
  # Seals ids, so that they tell nothing to those who don't have the secret: neither their time
  # nor their order.  Threads may share it, because each call has a cipher of its own.
  class Seals
    # FF1 of NIST SP 800-38G with AES-128, of an empty tweak, for numbers of two halves of bits.
    class Ff1
      ROUNDS = 10
      private_constant :ROUNDS

      def initialize(secret, radix, numerals, half_bits)
        @secret = secret
        @half_bits = half_bits
        @mask = (1 << half_bits) - 1
        @round = 1 << (half_bits + 7) / 8 * 8 # Q has the round's number before the half
        p = [1, 2, 1, 0, radix, ROUNDS, numerals / 2, numerals, 0].pack("CCCCnCCNN")
        @start = cipher.update(p).unpack("Q>2")
      end

      def encrypt(number)
        aes = cipher
        a, b = halves(number)
        ROUNDS.times { |i| a, b = b, a + y(aes, i, b) & @mask }
        a << @half_bits | b
      end

      def decrypt(number)
        aes = cipher
        a, b = halves(number)
        (ROUNDS - 1).downto(0) { |i| a, b = b - y(aes, i, a) & @mask, a }
        a << @half_bits | b
      end

      private

      def cipher
        OpenSSL::Cipher.new("aes-128-ecb").encrypt.tap { |aes| aes.key = @secret }
      end

      def halves(number)
        [number >> @half_bits, number & @mask]
      end

      # Of the first 12 bytes of R, the last eight are enough.
      def y(aes, round, half)
        q = round * @round | half
        aes.update([q >> 64 ^ @start[0], q & 0xffff_ffff_ffff_ffff ^ @start[1]].pack("Q>2")).unpack1("@4Q>")
      end
    end
    private_constant :Ff1

    # A secret has 16 bytes.  Older ones unseal uuids, too.
    def initialize(secret, *older)
      secrets = [secret, *older]
      raise ArgumentError, "a secret has 16 bytes" unless secrets.all? { |it| it.is_a?(String) && it.bytesize == 16 }

      secrets.map! { |it| it.b.freeze }
      @texts = Ff1.new(secrets[0], 32, 16, 40)
      @uuids = secrets.map { |it| Ff1.new(it, 2, 122, 61) }
    end

    # The sealed text of an id, as sno_seal(id, key).
    def seal(id)
      Sno.from_i(@texts.encrypt(Sno.new(id).to_i)).to_s
    end

    # The id of a sealed text.  A wrong secret gives another id.
    def unseal(text)
      Sno.from_i(@texts.decrypt(Sno.new(text).to_i))
    end

    # The id as a uuid that looks like those of version 4, as sno_seal_uuid(id, key).
    def seal_uuid(id)
      bits = @uuids[0].encrypt(Sno.new(id).to_i << 42)
      bits = bits >> 74 << 80 | 4 << 76 | bits[62, 12] << 64 | 2 << 62 | bits[0, 62]
      format("%032x", bits).unpack("a8a4a4a4a12").join("-")
    end

    # The id of such a uuid, or nil if none of the secrets sealed it.
    def unseal_uuid(uuid)
      raise ArgumentError, "not a uuid: #{Sno.shown(uuid)}" unless UUID.match?(uuid)

      bits = uuid.delete("-").hex
      return unless bits[76, 4] == 4 && bits[62, 2] == 2

      bits = bits >> 80 << 74 | bits[64, 12] << 62 | bits[0, 62]
      found = @uuids.lazy.map { |cipher| cipher.decrypt(bits) }.find { |number| number[0, 42].zero? }
      found && Sno.from_i(found >> 42)
    end

    # Without the secrets.
    def inspect
      "#<#{self.class}>"
    end
  end
end
