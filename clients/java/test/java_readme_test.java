// The examples of clients/java/README.md.

import example.sno.Loans;
import example.sno.OutOfIdsException;
import example.sno.PGSno;
import example.sno.Prefixes;
import example.sno.Seals;
import example.sno.Sno;
import example.sno.SnoGenerator;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import javax.sql.DataSource;

class Main {
    static void ids() {
        // README.md: ids
        Tap.same(List.of(id.time(), id.meta()), List.of(Instant.parse("2031-05-08T23:03:34.976Z"), 255), "an id");
    }

    static Sno add(Connection connection) throws SQLException {
        Sno ada;
        // README.md: add
        return ada;
    }

    static void find(Connection connection, Sno ada, Sno first, Sno second) throws SQLException {
        // README.md: find
    }

    static List<Sno> open(DataSource dataSource) {
        // README.md: open
        return List.of(customer, order);
    }

    static void batch(Connection connection, SnoGenerator ids, String... names) throws SQLException {
        // README.md: batch
    }

    static Sno away(SnoGenerator ids) {
        Sno id = null;
        // README.md: away
        return id;
    }

    static List<Object> seal(byte[] secret, byte[] oldSecret, Sno id) {
        // README.md: seal
        return List.of(text, same, uuid, known);
    }

    static List<Object> prefixed(Sno id) {
        // README.md: prefixes
        return List.of(text, again);
    }

    static Sno order(Connection connection, Sno customer, Sno... related) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(
            "INSERT INTO orders (customer_id, related) VALUES (?, ?) RETURNING id")) {
            insert.setObject(1, new PGSno(customer));
            insert.setArray(2, connection.createArrayOf("sno", related));
            try (ResultSet row = insert.executeQuery()) {
                row.next();
                return PGSno.get(row, "id");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        ids();
        try (Connection connection = Tap.connect(System.getenv("PGDATABASE"), "")) {
            Sno ada = add(connection);
            Sno first = order(connection, ada, ada, null);
            Sno second = order(connection, ada);
            order(connection, ada);

            PrintStream out = System.out;
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed));
            find(connection, ada, first, second);
            System.setOut(out);
            Tap.same(printed.toString().split("\\R"),
                new String[] {first + " [" + ada + ", null]", second + " []"}, "the orders of a customer");
        }

        List<Sno> made = open(Tap.dataSource(System.getenv("PGDATABASE")));
        Tap.same(List.of(made.get(0).meta(), made.get(1).meta(), made.get(0).partition()),
            List.of(0, 2, made.get(1).partition()), "ids made in the application");
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(Tap.dataSource(System.getenv("PGDATABASE"))));
            Connection connection = Tap.connect(System.getenv("PGDATABASE"), "");
            Statement statement = connection.createStatement()) {
            batch(connection, ids, "Bob", "Eve");
            try (ResultSet row = statement.executeQuery("SELECT string_agg(name, ' ' ORDER BY c.id), count(DISTINCT o.id)"
                + " FROM customers AS c JOIN orders AS o ON customer_id = c.id WHERE name <> 'Ada'")) {
                row.next();
                Tap.same(row.getString(1) + " " + row.getInt(2), "Bob Eve 2", "rows and the rows that refer to them");
            }
        }
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(Tap.dataSource("no such database")))) {
            Tap.same(away(ids), null, "the database is away");
            Tap.same(ids.stats().failed(), 1L, "which the generator knows");
        }
        byte[] secret = new byte[16];
        for (int i = 0; i < secret.length; i++) {
            secret[i] = (byte) i;
        }
        Sno id = Sno.parse("9qdhlmna222i2222");
        Tap.same(seal(secret, new byte[16], id),
            List.of("k7gb8b5a6kh4psks", id, UUID.fromString("ad2d85fe-2062-42f6-8459-f4d5a4a6782a"), id), "a sealed id");
        id = Sno.parse("9d5ve82226224222");
        Tap.same(prefixed(id), List.of("user_9d5ve82226224222", id), "with a prefix");
        Tap.done();
    }
}
