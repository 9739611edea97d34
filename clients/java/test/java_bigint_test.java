// Keys of type bigint, by JDBC alone: doc/drivers.md, "Keys of type bigint".  How Hibernate
// reads a key of GenerationType.IDENTITY is generated keys by the name of the column.

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

class Main {
    /** No double is this number. */
    static final long ODD = (1L << 53) + 1;

    static Connection connection;

    static long value(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                return rows.getLong(1);
            }
        }
    }

    static List<Long> keys(Statement statement) throws SQLException {
        List<Long> keys = new ArrayList<>();
        try (ResultSet rows = statement.getGeneratedKeys()) {
            while (rows.next()) {
                keys.add(rows.getLong("id"));
            }
        }
        return keys;
    }

    static void check(String name) throws Exception {
        String insert = "INSERT INTO people (name) VALUES (?)";
        long ada;
        try (PreparedStatement one = connection.prepareStatement(insert, new String[] {"id"})) {
            one.setString(1, "Ada");
            one.executeUpdate();
            ada = keys(one).get(0);
            Tap.ok(ada > 1L << 60, name + "generated keys, by the name of the column", ada);
        }
        Tap.same(value("SELECT count(*) FROM people WHERE id = ? AND name = 'Ada'", ada), 1L, name + "found by its key");
        Tap.same(value("SELECT id FROM people WHERE id = ANY (?)", connection.createArrayOf("bigint", new Long[] {ODD, ada})),
            ada, name + "found by a list of keys");
        try (PreparedStatement many = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 0; i < 100; i++) {
                many.setString(1, "person " + i);
                many.addBatch();
            }
            many.executeBatch();
            List<Long> keys = keys(many);
            Tap.same((long) keys.size(), 100L, name + "generated keys of a batch");
            for (int i = 0; i < 100; i += 33) {
                Tap.same(value("SELECT id FROM people WHERE name = ?", "person " + i), keys.get(i), name + "in its order");
            }
        }
        long letter = value("INSERT INTO letters (person_id) VALUES (?) RETURNING id", ada);
        Tap.same(value("SELECT l.id FROM letters AS l JOIN people AS p ON p.id = person_id WHERE name = ?", "Ada"),
            letter, name + "a join");
        for (long key : new long[] {ODD, Long.MAX_VALUE}) {
            Tap.same(value("INSERT INTO people VALUES (?, 'given') RETURNING id", key), key,
                name + "an exact key, there and back");
        }
        try (Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery("SELECT id FROM people WHERE id = " + ODD)) {
            rows.next();
            Tap.same(rows.getObject(1), ODD, name + "a Long");
        }
        connection.createStatement().execute("TRUNCATE people, letters");
    }

    public static void main(String[] arguments) throws Exception {
        String database = System.getenv("PGDATABASE");
        String tables = Files.readString(Path.of(System.getenv("CLIENTS"), "bigint.sql"));
        connection = Tap.connect(database, "");
        connection.createStatement().execute(tables);
        check("text: ");
        connection.close();
        connection = Tap.connect(database, "prepareThreshold=-1&reWriteBatchedInserts=true");
        check("binary, batches rewritten: ");
        connection.close();
        Tap.done();
    }
}
