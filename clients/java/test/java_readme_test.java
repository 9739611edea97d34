// The examples of clients/java/README.md.

import example.sno.PGSno;
import example.sno.Sno;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;

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
        Tap.done();
    }
}
