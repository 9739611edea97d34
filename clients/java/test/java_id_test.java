// Ids without the database, compared with what the database says, and the names before ids.

import example.sno.Prefixes;
import example.sno.Sno;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.UUID;

class Main {
    static String fields(Sno id) {
        return String.format("%020x\t%s\t%d\t%d\t%d\t%d\t%d", new BigInteger(1, id.toBytes()), id,
            id.time().toEpochMilli(), id.tickTock() ? 1 : 0, id.meta(), id.partition(), id.sequence());
    }

    public static void main(String[] arguments) throws Exception {
        List<String> lines = Files.readAllLines(Paths.get(System.getenv("CLIENTS"), "../test/vectors/sno.tsv"));
        List<Sno> ids = new ArrayList<>();
        List<String> seen = new ArrayList<>();
        for (String line : lines) {
            Sno id = Sno.parse(line.split("\t")[1]);
            ids.add(id);
            seen.add(fields(id));
            for (Sno back : List.of(Sno.fromBytes(id.toBytes()), Sno.fromUuid(id.toUuid()), Sno.fromUuid(id.toUuidv8()))) {
                if (!back.equals(id) || back.hashCode() != id.hashCode() || back.compareTo(id) != 0) {
                    seen.add("another id");
                }
            }
        }
        Tap.same(seen, lines, lines.size() + " ids: text, bytes, uuids and fields");

        try (Connection connection = Tap.connect(System.getenv("PGDATABASE"), "")) {
            compare(connection, ids);
        }

        String text = "brpk4q72xwf2m63l";
        Sno id = Sno.parse(text);
        String hostile = "a\u0001\u001b[2J\u007f\u0085\u009b31m_";
        for (Runnable call : List.<Runnable>of(() -> Sno.parse(hostile), () -> new Prefixes(Map.of(1, hostile)),
            () -> new Prefixes(Map.of(1, "user")).read(hostile + text))) {
            try {
                call.run();
                Tap.ok(false, "it is refused", hostile);
            } catch (IllegalArgumentException error) {
                Tap.ok(error.getMessage().matches("[ -~]*"), "control characters in a message are escaped", error);
            }
        }
        Tap.same(Map.of(id, "Ada").get(Sno.parse(text)), "Ada", "key of a map");
        Tap.ok(!id.equals(text) && !id.equals(null), "it is no text, and not null", id);
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        new ObjectOutputStream(data).writeObject(id);
        Tap.same(new ObjectInputStream(new ByteArrayInputStream(data.toByteArray())).readObject(), id, "serialized");

        for (String wrong : new String[] {"", text.toUpperCase(), text + "2", text.substring(1), text + "\n", " " + text,
            "1" + text.substring(1), "y" + text.substring(1), text.substring(0, 15) + "\u0132", null}) {
            Tap.refuses(() -> Sno.parse(wrong), ("text \"" + wrong + "\"").replace("\n", "\\n"));
        }
        for (int size : new int[] {0, 9, 11, 16}) {
            Tap.refuses(() -> Sno.fromBytes(new byte[size]), size + " bytes");
        }
        UUID uuid = id.toUuidv8();
        long first = uuid.getMostSignificantBits();
        long second = uuid.getLeastSignificantBits();
        for (UUID wrong : new UUID[] {new UUID(first ^ 0xf000, second), new UUID(first, second ^ 1L << 62),
            new UUID(first, second | 1), new UUID(first, second | 1L << 41), new UUID(0, 0), new UUID(-1, -1), null}) {
            Tap.refuses(() -> Sno.fromUuid(wrong), "uuid " + wrong);
        }
        prefixes();
        mistakes();
        Tap.done();
    }

    static void compare(Connection connection, List<Sno> ids) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(
            "SELECT id, id::uuid, sno_to_uuidv8(id), sno_min(id::timestamptz), sno_max(id::timestamptz)"
                + " FROM unnest(?) AS ids (id) ORDER BY ids.id")) {
            statement.setArray(1, connection.createArrayOf("sno", ids.toArray()));
            List<List<String>> wanted = new ArrayList<>();
            List<List<String>> seen = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    wanted.add(List.of(rows.getString(1), rows.getString(2), rows.getString(3), rows.getString(4),
                        rows.getString(5)));
                }
            }
            Collections.sort(ids);
            for (Sno id : ids) {
                seen.add(List.of(id.toString(), id.toUuid().toString(), id.toUuidv8().toString(),
                    Sno.min(id.time()).toString(), Sno.max(id.time()).toString()));
            }
            Tap.same(seen, wanted, "order, uuids and bounds are those of the database");
        }
        try (PreparedStatement statement =
            connection.prepareStatement("SELECT sno_min(?::timestamptz), sno_max(?::timestamptz)")) {
            for (String at : new String[] {"1969-12-31T23:59:59.999Z", "2009-12-31T23:59:59.999999Z",
                "2010-01-01T00:00:00Z", "2010-01-01T00:00:00.003999Z", "2010-01-01T00:00:00.004Z",
                "2026-02-03T04:05:06.789123Z", "2079-09-07T15:47:35.548Z", "2079-09-07T15:47:35.551999Z",
                "2079-09-07T15:47:35.552Z", "2200-01-01T00:00:00Z"}) {
                statement.setString(1, at);
                statement.setString(2, at);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    Instant time = Instant.parse(at);
                    Tap.same(List.of(Sno.min(time).toString(), Sno.max(time).toString()),
                        List.of(rows.getString(1), rows.getString(2)), "bounds of " + at);
                }
            }
        }
        Tap.same(List.of(Sno.min(Instant.MIN), Sno.max(Instant.MAX)), List.of(ids.get(0), ids.get(ids.size() - 1)),
            "bounds of Java's ends");
    }

    static void mistakes() throws Exception {
        for (String line : Files.readAllLines(Paths.get(System.getenv("CLIENTS"), "../test/vectors/mistakes.tsv"))) {
            String[] fields = line.split("\t", -1);
            String seen;
            try {
                seen = Sno.parse(fields[1]).toString();
            } catch (IllegalArgumentException error) {
                seen = error.getMessage();
            }
            Tap.ok(seen.endsWith(")") ? seen.contains(fields[0]) : fields[0].equals("none"), "advice for " + fields[1], seen);
        }
    }

    static List<String[]> cases(String kind) throws Exception {
        List<String[]> cases = Files.readAllLines(Paths.get(System.getenv("CLIENTS"), "../test/vectors/prefixes.tsv")).stream()
            .map(line -> line.split("\t", -1)).filter(fields -> fields[0].equals(kind)).toList();
        Tap.ok(!cases.isEmpty(), "there are cases: " + kind, null);
        return cases;
    }

    /** Names before ids. */
    static void prefixes() throws Exception {
        Map<Integer, String> table = new HashMap<>();
        for (String[] row : cases("prefix")) {
            table.put(Integer.valueOf(row[1]), row[2]);
        }
        Prefixes prefixes = new Prefixes(table);
        for (String[] row : cases("badprefix")) {
            Map<Integer, String> wrong = new HashMap<>(table);
            wrong.put(Integer.valueOf(row[1]), row[2]);
            Tap.refuses(() -> new Prefixes(wrong), "row " + row[1] + " " + row[2]);
        }
        for (String[] row : cases("id")) {
            Sno id = Sno.parse(row[2]);
            Tap.same(prefixes.read(row[1]), id, "read " + row[1]);
            Tap.same(prefixes.write(id), row[1], "and write it");
        }
        for (String[] row : cases("badid")) {
            Tap.refuses(() -> prefixes.read(row[1]), "text " + row[1]);
        }
        Sno none = Sno.parse(cases("noprefix").get(0)[1]);
        Tap.same(prefixes.prefix(none), null, "a metabyte without a prefix");
        try {
            Tap.ok(false, "so it can't be written", prefixes.write(none));
        } catch (NoSuchElementException error) {
            Tap.ok(true, "so it can't be written", null);
        }
        for (String wrong : new String[] {"user_brpk4q725cf2m63l\n", "user_\0rpk4q725cf2m63l", null}) {
            Tap.refuses(() -> prefixes.read(wrong), "text " + wrong);
        }
        Tap.refuses(() -> new Prefixes(Map.of(2, "user\n")), "a prefix with a line feed");
        Tap.refuses(() -> new Prefixes(null), "no table");
    }
}
