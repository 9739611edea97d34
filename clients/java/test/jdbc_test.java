// JDBC: text, and binary where a type asks for it.

import example.sno.Loans;
import example.sno.PGSno;
import example.sno.Sno;
import example.sno.SnoGenerator;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGobject;

class Main {
    static final String DATABASE = System.getenv("PGDATABASE");
    static Connection connection;

    /** A parameter without a type. */
    static class Untyped {
        final String text;

        Untyped(Object id) {
            text = id.toString();
        }
    }

    static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof Untyped) {
                statement.setObject(i + 1, ((Untyped) values[i]).text, Types.OTHER);
            } else {
                statement.setObject(i + 1, values[i] instanceof Sno ? new PGSno((Sno) values[i]) : values[i]);
            }
        }
    }

    /** The first column of all rows. */
    static List<Object> column(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            bind(statement, values);
            List<Object> found = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    Object value = rows.getObject(1);
                    if (value instanceof PGSno) {
                        value = ((PGSno) value).get();
                    } else if (value instanceof Array) {
                        value = PGSno.list((Array) value);
                    }
                    found.add(value);
                }
            }
            return found;
        }
    }

    static Object value(String text, Object... values) throws SQLException {
        return column(text, values).get(0);
    }

    static void execute(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            bind(statement, values);
            statement.execute();
        }
    }

    static Array array(Object... ids) throws SQLException {
        return connection.createArrayOf("sno", ids);
    }

    static boolean contains(byte[] data, byte[] part) {
        for (int i = 0; i + part.length <= data.length; i++) {
            if (Arrays.equals(data, i, i + part.length, part, 0, part.length)) {
                return true;
            }
        }
        return false;
    }

    static void withoutClass() throws Exception {
        Object ada = value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id");
        Tap.same(ada.getClass(), PGobject.class, "RETURNING: PGobject");
        String id = ada.toString();
        Tap.fails("42883", () -> column("SELECT name FROM customers WHERE id = ?", id), "a String is no id");
        Tap.same(value("SELECT name FROM customers WHERE id = ?::sno", id), "Ada", "a String, cast");
        Tap.same(value("SELECT name FROM customers WHERE id = ?", new Untyped(id)), "Ada", "a String as Types.OTHER");
        Tap.same(value("SELECT name FROM customers WHERE id = ANY (?)", array(id, null)), "Ada", "array of strings");
        Tap.same(value("SELECT ARRAY[id, NULL] FROM customers"), Arrays.asList(Sno.parse(id), null), "array result");
        Tap.fails("22P02", () -> column("SELECT ?::sno", "not an id"), "a wrong id: 22P02");
        try (Connection lax = Tap.connect(DATABASE, "stringtype=unspecified");
            PreparedStatement statement = lax.prepareStatement("SELECT id FROM customers WHERE id = ?")) {
            statement.setString(1, id);
            try (ResultSet rows = statement.executeQuery()) {
                Tap.ok(rows.next(), "a String is an id with stringtype=unspecified", "no row");
                Tap.same(PGSno.get(rows, "id"), Sno.parse(id), "get()");
            }
            statement.setString(1, "not an id");
            Tap.fails("22P02", statement::executeQuery, "a wrong String there: 22P02");
        }
        execute("TRUNCATE customers, orders");
    }

    static void withClass(String format) throws Exception {
        Sno ada = (Sno) value("INSERT INTO customers (name) VALUES ('Ada') RETURNING id");
        Sno bob = (Sno) value("INSERT INTO customers (name) VALUES ('Bob') RETURNING id");
        Tap.same(column("SELECT id::text FROM customers ORDER BY id"), List.of(ada.toString(), bob.toString()),
            format + "RETURNING");
        Tap.same(ada.meta(), 1, format + "its metabyte");
        try (PreparedStatement insert =
            connection.prepareStatement("INSERT INTO customers (name) VALUES ('Cy')", new String[] {"id"})) {
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                keys.next();
                Sno cy = keys.getObject(1, PGSno.class).get();
                Tap.same(value("DELETE FROM customers WHERE id = ? RETURNING name", cy), "Cy", format + "generated keys");
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT id FROM customers");
            ResultSet rows = statement.executeQuery()) {
            rows.next();
            Tap.same(rows.getBytes(1).length, format.equals("binary: ") ? 10 : 16, format + "size of results");
            Tap.same(PGSno.get(rows, "id"), ada, format + "get()");
        }
        Tap.same(value("SELECT pg_typeof(?)::text", ada), "sno", format + "parameter, typed");
        Tap.same(value("SELECT name FROM customers WHERE id = ?", new Untyped(ada)), "Ada", format + "parameter, untyped");
        Tap.same(column("SELECT name FROM customers WHERE id = ANY (?) ORDER BY id", array(bob, ada, null)),
            List.of("Ada", "Bob"), format + "= ANY");
        Tap.same(column("SELECT name FROM customers WHERE id = ANY (?)", array()), List.of(), format + "= ANY, empty");

        String insert = "INSERT INTO orders (customer_id, related) VALUES (?, ?) RETURNING id";
        Sno order = (Sno) value(insert, ada, array(ada, null));
        Tap.same(value("SELECT related FROM orders WHERE id = ?", order), Arrays.asList(ada, null),
            format + "array with a null");
        order = (Sno) value(insert, bob, array(new PGSno(ada), new PGSno(bob)));
        Tap.same(value("SELECT related FROM orders WHERE id = ?", order), List.of(ada, bob), format + "array of PGSno");
        order = (Sno) value(insert, bob, connection.createArrayOf("sno", new Sno[][] {{ada, null}, {bob, ada}}));
        Tap.same(value("SELECT related::text FROM orders WHERE id = ?", order),
            String.format("{{%s,NULL},{%s,%s}}", ada, bob, ada), format + "array of two dimensions");
        try (PreparedStatement statement = connection.prepareStatement("SELECT related FROM orders WHERE id = ?")) {
            bind(statement, order);
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                Object[] row = (Object[]) ((Object[]) rows.getArray(1).getArray())[1];
                Tap.same(row[0].toString(), bob.toString(), format + "array of two dimensions as a result");
            }
        }
        order = (Sno) value(insert, bob, null);
        Tap.same(value("SELECT related FROM orders WHERE id = ?", order), null, format + "array that is NULL");

        Tap.same(value("SELECT NULL::sno"), null, format + "NULL result");
        Tap.same(value("SELECT ?", new PGSno(null)), null, format + "NULL parameter");
        Tap.same(value("SELECT ?::sno", (Object) null), null, format + "NULL parameter, cast");
        Tap.fails("22P02", () -> {
            new PGSno().setValue("not an id");
            return null;
        }, format + "a wrong id: refused by its class");
        Tap.fails("22P02", () -> column("SELECT ?::sno", ada.toString().toUpperCase()), format + "uppercase: 22P02");

        String some = "FROM (VALUES (sno_zero()), (sno_max('infinity')) UNION ALL"
            + " SELECT sno_generate(n) FROM generate_series(0, 255) AS n) AS ids (id)";
        execute("CREATE TABLE ids AS SELECT row_number() OVER () AS n, id " + some);
        List<Object> ids = column("SELECT id FROM ids ORDER BY n");
        List<Object> texts = column("SELECT id::text FROM ids ORDER BY n");
        List<Object> back = new ArrayList<>();
        boolean same = ids.size() == 258;
        for (int i = 0; i < ids.size(); i++) {
            same &= ids.get(i).toString().equals(texts.get(i));
            back.add(value("SELECT ?::text", ids.get(i)));
        }
        Tap.ok(same, format + "results", ids);
        Tap.same(back, texts, format + "parameters");
        execute("DROP TABLE ids");

        OffsetDateTime now = OffsetDateTime.now();
        Tap.same(column("SELECT id FROM customers WHERE id <@ tstzrange(?, ?) ORDER BY id", now.minusHours(1),
            now.plusHours(1)), List.of(ada, bob), format + "id <@ tstzrange");
        Tap.same(column("SELECT id FROM customers WHERE id <@ ?::tstzrange", "[,2026-01-01)"), List.of(),
            format + "id <@ tstzrange, before");
        Instant hourAgo = Instant.now().minusSeconds(3600);
        Tap.same(column("SELECT id FROM customers WHERE id >= ? ORDER BY id", Sno.min(hourAgo)), List.of(ada, bob),
            format + "a bound");
        Tap.same(column("SELECT DISTINCT name FROM customers AS c JOIN orders AS o ON o.customer_id = c.id WHERE o.id = ?",
            order), List.of("Bob"), format + "join");

        try (PreparedStatement statement = connection.prepareStatement("SELECT name FROM customers WHERE id = ?")) {
            statement.unwrap(PGStatement.class).setPrepareThreshold(1);
            List<String> names = new ArrayList<>();
            for (Sno id : new Sno[] {ada, bob}) {
                bind(statement, id);
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        names.add(rows.getString(1));
                    }
                }
            }
            Tap.ok(statement.unwrap(PGStatement.class).isUseServerPrepare(), format + "prepared", "not prepared");
            Tap.same(names, List.of("Ada", "Bob"), format + "prepared statement");
        }

        execute("CREATE DOMAIN user_id AS sno CHECK (sno_meta(VALUE) = 1)");
        Tap.same(value("SELECT ?::user_id", ada).toString(), ada.toString(), format + "domain");
        Sno wrong = order;
        Tap.fails("23514", () -> value("SELECT ?::user_id", wrong), format + "its check");
        execute("DROP DOMAIN user_id");
    }

    /** Customers and their orders, whose keys the application made, in a batch each. */
    static void batch(String format) throws Exception {
        execute("TRUNCATE customers, orders");
        Set<Object> wanted = new HashSet<>();
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(Tap.dataSource(DATABASE)));
            PreparedStatement customers = connection.prepareStatement("INSERT INTO customers (id, name) VALUES (?, ?)");
            PreparedStatement orders =
                connection.prepareStatement("INSERT INTO orders (id, customer_id, related) VALUES (?, ?, ?)")) {
            Sno before = null;
            for (int i = 0; i < 1000; i++) {
                Sno customer = ids.next(1);
                bind(customers, customer, "customer " + i);
                customers.addBatch();
                for (int n = 0; n < 2; n++) {
                    Sno order = ids.next(2);
                    bind(orders, order, customer, array(customer, before));
                    orders.addBatch();
                    wanted.add(List.of(Arrays.asList(order, customer), Arrays.asList(customer, before)));
                    before = order;
                }
            }
            Tap.same(List.of(customers.executeBatch().length, orders.executeBatch().length), List.of(1000, 2000),
                format + "two batches");
            Tap.same(ids.stats().taken(), 1L, format + "by one loan");
        }
        List<Object> keys = column("SELECT ARRAY[o.id, c.id] FROM orders AS o JOIN customers AS c ON c.id = customer_id"
            + " ORDER BY o.id");
        List<Object> related = column("SELECT related FROM orders ORDER BY id");
        Set<Object> seen = new HashSet<>();
        for (int i = 0; i < keys.size(); i++) {
            seen.add(List.of(keys.get(i), related.get(i)));
        }
        Tap.same(seen, wanted, format + "keys that the application made");
    }

    static void copy() throws Exception {
        CopyManager manager = connection.unwrap(PGConnection.class).getCopyAPI();
        Sno ada = (Sno) value("SELECT id FROM customers WHERE name = 'Ada'");
        for (String options : new String[] {"", "(FORMAT csv)", "(FORMAT binary)"}) {
            ByteArrayOutputStream data = new ByteArrayOutputStream();
            manager.copyOut("COPY orders TO STDOUT " + options, data);
            byte[] form = options.contains("binary") ? ada.toBytes()
                : ada.toString().getBytes(StandardCharsets.US_ASCII);
            Tap.ok(contains(data.toByteArray(), form), "ids in COPY " + options, data);
            execute("CREATE TABLE kept AS TABLE orders");
            execute("TRUNCATE orders");
            manager.copyIn("COPY orders FROM STDIN " + options, new ByteArrayInputStream(data.toByteArray()));
            Tap.same(column("(TABLE orders EXCEPT TABLE kept) UNION ALL (TABLE kept EXCEPT TABLE orders)"), List.of(),
                "COPY " + options);
            execute("DROP TABLE kept");
        }
        Tap.fails("22P02", () -> manager.copyIn("COPY customers (id) FROM STDIN",
            new ByteArrayInputStream("not an id\n".getBytes(StandardCharsets.US_ASCII))), "a wrong id in COPY: 22P02");
    }

    public static void main(String[] arguments) throws Exception {
        connection = Tap.connect(DATABASE, "");
        withoutClass();
        PGSno.register(connection);
        withClass("text: ");
        batch("text: ");
        String types = value("SELECT 'sno'::regtype::oid || ',' || 'sno[]'::regtype::oid").toString();
        connection.close();

        connection = Tap.connect(DATABASE, "prepareThreshold=-1&binaryTransferEnable=" + types);
        PGSno.register(connection);
        execute("TRUNCATE customers, orders");
        withClass("binary: ");
        copy();
        batch("binary: ");
        connection.close();

        connection = Tap.connect(DATABASE, "reWriteBatchedInserts=true");
        PGSno.register(connection);
        batch("batches rewritten: ");
        connection.close();
        Tap.done();
    }
}
