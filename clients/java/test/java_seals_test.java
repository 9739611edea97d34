// Sealed ids, compared with test/vectors/sealed.tsv and with FF1 as NIST tells it.

import example.sno.Seals;
import example.sno.Sno;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

class Main {
    static final String DIGITS = "23456789abcdefghijklmnopqrstuvwx";

    static byte[] hex(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    static BigInteger number(int radix, int[] numerals) {
        BigInteger number = BigInteger.ZERO;
        for (int numeral : numerals) {
            number = number.multiply(BigInteger.valueOf(radix)).add(BigInteger.valueOf(numeral));
        }
        return number;
    }

    /** FF1 of NIST SP 800-38G, its algorithm 7, for a d of 16 bytes at most. */
    static int[] ff1(byte[] key, int radix, byte[] tweak, int[] x) throws Exception {
        Cipher aes = Cipher.getInstance("AES/CBC/NoPadding");
        aes.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(new byte[16]));
        int u = x.length / 2;
        int v = x.length - u;
        int size = (BigInteger.valueOf(radix).pow(v).subtract(BigInteger.ONE).bitLength() + 7) / 8;
        int d = 4 * ((size + 3) / 4) + 4;
        int[] a = Arrays.copyOf(x, u);
        int[] b = Arrays.copyOfRange(x, u, x.length);
        for (int i = 0; i < 10; i++) {
            ByteBuffer data = ByteBuffer.allocate(16 + (tweak.length + size + 16) / 16 * 16);
            data.putInt(0x01020100).putShort((short) radix).put((byte) 10).put((byte) u).putInt(x.length)
                .putInt(tweak.length).put(tweak);
            byte[] half = number(radix, b).toByteArray(); // with a sign, which may need a byte of its own
            int length = Math.min(size, half.length);
            data.put(data.capacity() - size - 1, (byte) i).position(data.capacity() - length);
            data.put(half, half.length - length, length);
            byte[] cipher = aes.doFinal(data.array());
            BigInteger y = new BigInteger(1, Arrays.copyOfRange(cipher, cipher.length - 16, cipher.length - 16 + d));
            BigInteger c = number(radix, a).add(y);
            a = b;
            b = new int[i % 2 == 0 ? u : v];
            for (int n = b.length - 1; n >= 0; n--) {
                BigInteger[] parts = c.divideAndRemainder(BigInteger.valueOf(radix));
                b[n] = parts[1].intValue();
                c = parts[0];
            }
        }
        int[] result = Arrays.copyOf(a, x.length);
        System.arraycopy(b, 0, result, a.length, b.length);
        return result;
    }

    static int[] numerals(String digits, String text) {
        return text.chars().map(digits::indexOf).toArray();
    }

    static String text(String digits, int[] numerals) {
        StringBuilder text = new StringBuilder();
        for (int numeral : numerals) {
            text.append(digits.charAt(numeral));
        }
        return text.toString();
    }

    /** The uuid of 122 bits. */
    static String uuid(String bits) {
        String all = bits.substring(0, 48) + "0100" + bits.substring(48, 60) + "10" + bits.substring(60);
        return String.format("%032x", new BigInteger(all, 2)).replaceFirst("(.{8})(.{4})(.{4})(.{4})", "$1-$2-$3-$4-");
    }

    /** A secret, an id, its sealed text and its sealed uuid. */
    static String wanted(byte[] secret, Sno id) throws Exception {
        StringBuilder bits = new StringBuilder();
        int[] numerals = numerals(DIGITS, id.toString());
        for (int numeral : numerals) {
            bits.append(Integer.toBinaryString(32 | numeral).substring(1));
        }
        bits.append("0".repeat(42));
        return String.join("\t", String.format("%032x", new BigInteger(1, secret)), id.toString(),
            text(DIGITS, ff1(secret, 32, new byte[0], numerals)),
            uuid(text("01", ff1(secret, 2, new byte[0], numerals("01", bits.toString())))));
    }

    static String seen(byte[] secret, Sno id) {
        Seals seals = new Seals(secret);
        String text = seals.seal(id);
        UUID uuid = seals.sealUuid(id);
        if (!seals.unseal(text).equals(id) || !id.equals(seals.unsealUuid(uuid))) {
            return "not unsealed: " + id;
        }
        return String.join("\t", String.format("%032x", new BigInteger(1, secret)), id.toString(), text, uuid.toString());
    }

    static void vectors() throws Exception {
        byte[] sample = hex("2b7e151628aed2a6abf7158809cf4f3c");
        String digits = "0123456789abcdefghijklmnopqrstuvwxyz";
        List<String> samples = new ArrayList<>();
        for (String[] input : new String[][] {{"10", "", "0123456789"}, {"10", "39383736353433323130", "0123456789"},
            {"36", "3737373770717273373737", "0123456789abcdefghi"}}) {
            samples.add(text(digits, ff1(sample, Integer.parseInt(input[0]), hex(input[1]), numerals(digits, input[2]))));
        }
        Tap.same(samples, List.of("2433477484", "6124200773", "a9tv40mll9kdu509eum"), "NIST's samples of FF1");

        List<String> wanted = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(System.getenv("CLIENTS"), "../test/vectors/sealed.tsv"))) {
            if (!line.isEmpty() && !line.startsWith("#")) {
                wanted.add(line);
                seen.add(seen(hex(line.split("\t")[0]), Sno.parse(line.split("\t")[1])));
            }
        }
        Tap.same(seen, wanted, wanted.size() + " vectors");
        wanted.clear();
        seen.clear();
        Random random = new Random(1);
        for (int i = 0; i < 300; i++) {
            byte[] secret = new byte[16];
            byte[] id = new byte[10];
            random.nextBytes(secret);
            random.nextBytes(id);
            wanted.add(wanted(secret, Sno.fromBytes(id)));
            seen.add(seen(secret, Sno.fromBytes(id)));
        }
        Tap.same(seen, wanted, "random ids, by FF1 as NIST tells it");
    }

    static void keys() throws Exception {
        byte[] old = new byte[16];
        byte[] secret = hex("000102030405060708090a0b0c0d0e0f");
        Sno id = Sno.parse("brpk4q72xwf2m63l");
        Seals before = new Seals(old);
        Seals now = new Seals(secret, old);
        Tap.same(List.of(now.seal(id), now.sealUuid(id)), List.of(new Seals(secret).seal(id), new Seals(secret).sealUuid(id)),
            "the first secret seals");
        Tap.same(now.unsealUuid(before.sealUuid(id)), id, "a uuid of the older secret");
        Tap.same(before.unsealUuid(now.sealUuid(id)), null, "a uuid of another secret");
        Tap.ok(!now.unseal(before.seal(id)).equals(id), "a text of another secret is another id", now.seal(id));
        secret[0]++;
        Tap.same(now.unsealUuid(now.sealUuid(id)), id, "the array of the secret may change");
        UUID uuid = now.sealUuid(id);
        long first = uuid.getMostSignificantBits();
        long second = uuid.getLeastSignificantBits();
        Tap.same(List.of(uuid.version(), uuid.variant()), List.of(4, 2), "version and variant");
        for (UUID foreign : new UUID[] {new UUID(first ^ 0x3000, second), new UUID(first, second ^ 1L << 62),
            new UUID(first ^ 1, second), new UUID(first, second ^ 1), UUID.fromString("00000000-0000-4000-8000-000000000000"),
            new UUID(0, 0), new UUID(-1, -1), id.toUuid(), id.toUuidv8()}) {
            Tap.same(now.unsealUuid(foreign), null, "a foreign uuid: " + foreign);
        }
        Tap.refuses(() -> now.unsealUuid(null), "no uuid");
        Tap.refuses(() -> now.unseal("not an id"), "no text of an id");
        for (byte[] wrong : new byte[][] {null, {}, new byte[15], new byte[17], new byte[32]}) {
            Tap.refuses(() -> new Seals(wrong), "a secret of " + (wrong == null ? "no" : wrong.length) + " bytes");
            Tap.refuses(() -> new Seals(old, wrong), "an older one");
        }
    }

    static void threads() throws Exception {
        Seals seals = new Seals(new byte[16]);
        List<FutureTask<Long>> tasks = new ArrayList<>();
        for (int thread = 0; thread < 8; thread++) {
            long seed = thread;
            FutureTask<Long> task = new FutureTask<>(() -> {
                Random random = new Random(seed);
                byte[] bytes = new byte[10];
                long wrong = 0;
                for (int i = 0; i < 1000; i++) {
                    random.nextBytes(bytes);
                    Sno id = Sno.fromBytes(bytes);
                    boolean right = seals.unseal(seals.seal(id)).equals(id) && id.equals(seals.unsealUuid(seals.sealUuid(id)));
                    wrong += right ? 0 : 1;
                }
                return wrong;
            });
            tasks.add(task);
            new Thread(task).start();
        }
        long wrong = 0;
        for (FutureTask<Long> task : tasks) {
            wrong += task.get();
        }
        Tap.same(wrong, 0L, "8 threads");
    }

    public static void main(String[] arguments) throws Exception {
        vectors();
        keys();
        threads();
        Tap.done();
    }
}
