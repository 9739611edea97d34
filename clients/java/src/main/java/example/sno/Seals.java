package example.sno;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.UUID;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * Seals ids for others, who then can't read time and order from them, as sno_seal() does. Threads may share it.
 *
 * <p>It is FF1 of NIST SP 800-38G, with AES-128 and 10 rounds. A half is a number of 40 bits for a text,
 * or of 61 for a uuid.
 */
public final class Seals {
    private static final int ROUNDS = 10;

    private static final int TEXT_HALF = 40; // bits of 8 numerals of radix 32
    private static final int UUID_HALF = 61; // and of 61 numerals of radix 2

    // P of the standard: radix, rounds, numerals of the left half, all numerals.
    private static final long[] TEXT_FORM = {0x01_02_01_000020_0a_08L, 16L << 32};
    private static final long[] UUID_FORM = {0x01_02_01_000002_0a_3dL, 122L << 32};

    private final SecretKeySpec[] keys;

    /** Secrets of 16 bytes each. The first one seals, the older ones only read uuids. */
    public Seals(byte[] secret, byte[]... older) {
        keys = new SecretKeySpec[1 + older.length];
        for (int i = 0; i < keys.length; i++) {
            byte[] bytes = i == 0 ? secret : older[i - 1];
            if (bytes == null || bytes.length != 16) {
                throw new IllegalArgumentException("a secret has 16 bytes");
            }
            keys[i] = new SecretKeySpec(bytes, "AES");
        }
    }

    /** The sealed id as text of 16 characters. */
    public String seal(Sno id) {
        return permute(keys[0], true, id).toString();
    }

    /** The id that was sealed by the same secret. Another secret gives another id, and no error. */
    public Sno unseal(String text) {
        return permute(keys[0], false, Sno.parse(text));
    }

    private static Sno permute(SecretKeySpec key, boolean seal, Sno id) {
        long[] halves = {id.head >>> 24, (id.head & 0xffffff) << 16 | id.sequence};
        crypt(TEXT_HALF, key, seal, halves);
        return new Sno(halves[0] << 24 | halves[1] >>> 16, halves[1]);
    }

    /** The sealed id as a uuid that looks like one of version 4. */
    public UUID sealUuid(Sno id) {
        // The 80 bits of the id and 42 zeros.
        long[] halves = {id.head >>> 3, ((id.head & 7) << 16 | id.sequence) << 42};
        crypt(UUID_HALF, keys[0], true, halves);
        return new UUID(halves[0] >>> 13 << 16 | 4L << 12 | halves[0] >>> 1 & 0xfff,
            2L << 62 | (halves[0] & 1) << 61 | halves[1]);
    }

    /** The id that one of the secrets sealed, or null. A uuid of another origin passes with odds of 2^-42. */
    public Sno unsealUuid(UUID uuid) {
        if (uuid.version() != 4 || uuid.variant() != 2) {
            return null;
        }
        long first = uuid.getMostSignificantBits();
        long second = uuid.getLeastSignificantBits();
        for (SecretKeySpec key : keys) {
            long[] halves = {first >>> 16 << 13 | (first & 0xfff) << 1 | second >>> 61 & 1, second << 3 >>> 3};
            crypt(UUID_HALF, key, false, halves);
            if (halves[1] << 22 == 0) {
                return new Sno(halves[0] << 3 | halves[1] >>> 58, halves[1] >>> 42);
            }
        }
        return null;
    }

    /** Encrypts or decrypts two halves of so many bits. */
    private static void crypt(int bits, SecretKeySpec key, boolean encrypt, long[] halves) {
        try {
            Cipher aes = Cipher.getInstance("AES/ECB/NoPadding"); // it has a state, so each call has its own
            aes.init(Cipher.ENCRYPT_MODE, key);
            ByteBuffer block = ByteBuffer.allocate(16);
            long[] form = bits == TEXT_HALF ? TEXT_FORM : UUID_FORM;
            block.putLong(0, form[0]).putLong(8, form[1]);
            aes.update(block.array(), 0, 16, block.array());
            long high = block.getLong(0);
            long low = block.getLong(8);
            int from = encrypt ? 1 : 0; // the half that a round computes with
            for (int i = 0; i < ROUNDS; i++) {
                long round = encrypt ? i : ROUNDS - 1 - i;
                // The round stands before the half, which has 5 bytes or 8.
                block.putLong(0, high ^ (bits == TEXT_HALF ? 0 : round));
                block.putLong(8, low ^ (bits == TEXT_HALF ? round << TEXT_HALF : 0) ^ halves[from]);
                aes.update(block.array(), 0, 16, block.array());
                long y = block.getLong(4);
                long result = halves[1 - from] + (encrypt ? y : -y) & (1L << bits) - 1;
                halves[1 - from] = halves[from];
                halves[from] = result;
            }
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }
}
