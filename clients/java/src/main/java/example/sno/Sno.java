package example.sno;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.UUID;

/** An id of the PostgreSQL extension sno. Ids compare as they do in the database. */
public final class Sno implements Comparable<Sno>, Serializable {
    private static final long serialVersionUID = 1;
    private static final int BYTES = 10;
    private static final String DIGITS = "23456789abcdefghijklmnopqrstuvwx";

    // Times are counted in units of 4 ms since 2010-01-01 UTC.
    static final int UNIT = 4; // ms
    static final int UNITS_PER_SECOND = 1000 / UNIT;
    static final long EPOCH = 315576000000L; // in units since 1970
    static final long LAST_UNIT = (1L << 39) - 1;

    /** Time, tick-tock bit, metabyte and partition. */
    final long head;
    final char sequence;

    Sno(long head, long sequence) {
        this.head = head;
        this.sequence = (char) sequence;
    }

    static Sno of(long unit, int side, int meta, int partition, int sequence) {
        return new Sno(unit << 25 | (long) side << 24 | meta << 16 | partition, sequence);
    }

    /** The unit that holds the time. */
    static long unit(Instant at) {
        return at.getEpochSecond() * UNITS_PER_SECOND + at.getNano() / (UNIT * 1_000_000) - EPOCH;
    }

    /** The start of the unit. */
    static Instant time(long unit) {
        return Instant.ofEpochMilli((EPOCH + unit) * UNIT);
    }

    /** Reads an id from its 16 characters. */
    public static Sno parse(String text) {
        long head = 0;
        long tail = 0;
        boolean good = text != null && text.length() == 16;
        for (int i = 0; good && i < 16; i++) {
            int digit = DIGITS.indexOf(text.charAt(i));
            good = digit >= 0;
            // The first 12 digits are 60 bits.
            if (i < 12) {
                head = head << 5 | digit;
            } else {
                tail = tail << 5 | digit;
            }
        }
        if (!good) {
            throw new IllegalArgumentException("not a sno: " + quoted(text) + advice(text));
        }
        return new Sno(head << 4 | tail >> 16, tail);
    }

    private static final String ANY_UUID = "[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}";
    /** Texts that are given as ids by mistake, and what to do with them. */
    private static final String[][] MISTAKES = {
        {"-?[0-9]+", "it is a number"},
        {ANY_UUID + "|\\{" + ANY_UUID + "\\}", "fromUuid() converts a uuid"},
        {"(?s).+[_-][2-9a-x]{16}", "Prefixes.read() converts an id with a prefix"},
        {"[2-9A-Xa-x]{16}", "ids are in lower case"},
        {"(?s)[0-9]{4}-[0-9]{2}-[0-9]{2}.*", "min() and max() convert a time"},
    };

    private static String advice(String text) {
        for (String[] mistake : MISTAKES) {
            if (text != null && text.matches(mistake[0])) {
                return " (" + mistake[1] + ")";
            }
        }
        return "";
    }

    /** A text for a message, without control characters, which terminals obey. */
    static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : String.valueOf(text).toCharArray()) {
            quoted.append(Character.isISOControl(c) ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return quoted.append('"').toString();
    }

    /** Reads an id from its 10 bytes. */
    public static Sno fromBytes(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw new IllegalArgumentException("a sno has 10 bytes, not " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Sno(buffer.getLong(), buffer.getShort());
    }

    /** Reads an id from a uuid that toUuid() or toUuidv8() made. */
    public static Sno fromUuid(UUID uuid) {
        long first = uuid.getMostSignificantBits();
        long second = uuid.getLeastSignificantBits();
        if (uuid.version() == 8 && uuid.variant() == 2 && second << 22 == 0) {
            return new Sno(first >>> 16 << 16 | (first & 0xfff) << 4 | second >>> 58 & 0xf, second >>> 42);
        }
        byte[] text = ByteBuffer.allocate(16).putLong(first).putLong(second).array();
        try {
            return parse(new String(text, StandardCharsets.ISO_8859_1));
        } catch (IllegalArgumentException error) {
            throw new IllegalArgumentException("not the uuid of a sno: " + uuid, error);
        }
    }

    /**
     * The lowest id of the 4 ms that hold the time. As in the database, a time out of range gives the lowest or
     * the highest of all ids.
     */
    public static Sno min(Instant at) {
        return bound(at, 0);
    }

    /** The highest id of the 4 ms that hold the time. A time out of range gives what min() does. */
    public static Sno max(Instant at) {
        return bound(at, -1);
    }

    private static Sno bound(Instant at, long rest) {
        long unit = unit(at);
        if (unit < 0) {
            return new Sno(0, 0);
        }
        if (unit > LAST_UNIT) {
            return new Sno(-1, -1);
        }
        return new Sno(unit << 25 | rest >>> 39, rest);
    }

    /** When the id was made: the start of its 4 ms. */
    public Instant time() {
        return time(head >>> 25);
    }

    /** It changes when the clock was set back. */
    public boolean tickTock() {
        return (head >>> 24 & 1) == 1;
    }

    /** The metabyte, 0 to 255. */
    public int meta() {
        return (int) (head >>> 16 & 0xff);
    }

    /** Who made the id, 0 to 65535. */
    public int partition() {
        return (int) (head & 0xffff);
    }

    /** It counts within the partition and the 4 ms, 0 to 65535. */
    public int sequence() {
        return sequence;
    }

    /** The 10 bytes. */
    public byte[] toBytes() {
        return ByteBuffer.allocate(BYTES).putLong(head).putChar(sequence).array();
    }

    /** The uuid whose 16 bytes are the text, as id::uuid. */
    public UUID toUuid() {
        ByteBuffer text = ByteBuffer.wrap(toString().getBytes(StandardCharsets.US_ASCII));
        return new UUID(text.getLong(), text.getLong());
    }

    /** The uuid of version 8 (RFC 9562) that begins with the id, as sno_to_uuidv8(id). */
    public UUID toUuidv8() {
        return new UUID(head >>> 16 << 16 | 8L << 12 | head >>> 4 & 0xfff,
            2L << 62 | (head & 0xf) << 58 | (long) sequence << 42);
    }

    @Override
    public int compareTo(Sno other) {
        int order = Long.compareUnsigned(head, other.head);
        return order != 0 ? order : Character.compare(sequence, other.sequence);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Sno && compareTo((Sno) other) == 0;
    }

    @Override
    public int hashCode() {
        return Long.hashCode(head) * 31 + sequence;
    }

    /** The 16 characters. */
    @Override
    public String toString() {
        char[] text = new char[16];
        long tail = (head & 0xf) << 16 | sequence;
        for (int i = 0; i < 16; i++) {
            long digit = i < 12 ? head >>> 59 - 5 * i : tail >>> 75 - 5 * i;
            text[i] = DIGITS.charAt((int) digit & 31);
        }
        return new String(text);
    }
}
