// JDBC: text, and binary where a type asks for it.

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.copy.CopyManager;
import org.postgresql.util.PGobject;

class JdbcTest {
    static int tests = 0;
    static int failures = 0;
    static Connection connection;

    interface Action {
        Object run() throws Exception;
    }

    static void ok(boolean passed, String name, Object seen) {
        tests++;
        if (!passed) {
            failures++;
        }
        System.out.println((passed ? "ok " : "not ok ") + tests + " - " + name);
        if (!passed) {
            System.out.println("# " + seen);
        }
    }

    /** Two objects that are equal, or arrays whose elements are. */
    static void same(Object seen, Object wanted, String name) {
        ok(Objects.deepEquals(seen, wanted), name, Arrays.deepToString(new Object[] {seen}));
    }

    static void fails(String state, Action action, String name) throws Exception {
        try {
            ok(false, name, action.run());
        } catch (SQLException error) {
            same(error.getSQLState(), state, name);
        }
    }

    static Connection connect(String options) throws SQLException {
        return DriverManager.getConnection(
            "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/"
                + System.getenv("PGDATABASE") + "?" + options,
            System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
    }

    /** An id as a parameter without a type. */
    static class Untyped {
        final String text;

        Untyped(String text) {
            this.text = text;
        }
    }

    static void bind(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof Untyped) {
                statement.setObject(i + 1, ((Untyped) values[i]).text, Types.OTHER);
            } else {
                statement.setObject(i + 1, values[i]);
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
                    found.add(value instanceof Array ? ((Array) value).getArray() : value);
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

    static byte[] text(Object id) {
        return id.toString().getBytes(StandardCharsets.US_ASCII);
    }

    static boolean contains(byte[] data, byte[] part) {
        for (int i = 0; i + part.length <= data.length; i++) {
            if (Arrays.equals(data, i, i + part.length, part, 0, part.length)) {
                return true;
            }
        }
        return false;
    }

    static void withoutRecipe() throws Exception {
        Object ada = value("INSERT INTO person (name) VALUES (?) RETURNING id", "Ada");
        same(ada.getClass(), PGobject.class, "RETURNING: PGobject");
        String id = ada.toString();
        same(value("SELECT id::text FROM person"), id, "its value is the text");
        fails("42883", () -> column("SELECT name FROM person WHERE id = ?", id),
            "a String is no id");
        same(value("SELECT name FROM person WHERE id = ?::sno", id), "Ada", "parameter, cast");
        same(value("SELECT name FROM person WHERE id = ?", new Untyped(id)), "Ada",
            "parameter, untyped");
        same(value("SELECT ?::sno", (Object) null), null, "NULL");
        fails("22P02", () -> column("SELECT ?::sno", "not an id"), "bad id: 22P02");
        same(
            value("SELECT name FROM person WHERE id = ANY (?)",
                connection.createArrayOf("sno", new String[] {id, null})),
            "Ada", "array parameter");
        same(value("SELECT ARRAY[id, NULL]::text[] FROM person"), new String[] {id, null},
            "array result, as text");
        try (Connection lax = connect("stringtype=unspecified");
            PreparedStatement statement =
                lax.prepareStatement("SELECT name FROM person WHERE id = ?")) {
            statement.setString(1, id);
            try (ResultSet rows = statement.executeQuery()) {
                ok(rows.next(), "a String is an id with stringtype=unspecified", "no row");
            }
        }
        execute("TRUNCATE person");
    }

    static void withRecipe(String format) throws Exception {
        Object[] friends = Example.friends(connection);
        same(column("SELECT name FROM person WHERE id = ANY (?)",
            connection.createArrayOf("sno", friends)), List.of("Ada"), "example, " + format);
        execute("TRUNCATE person");

        Sno ada = (Sno) value("INSERT INTO person (name) VALUES (?) RETURNING id", "Ada");
        Sno bob = (Sno) value(
            "INSERT INTO person (name, friends) VALUES ('Bob', ?) RETURNING id",
            connection.createArrayOf("sno", new Sno[] {ada, null}));
        same(column("SELECT id::text FROM person ORDER BY id"),
            List.of(ada.toString(), bob.toString()), "RETURNING, " + format);
        try (PreparedStatement statement = connection.prepareStatement("SELECT id FROM person");
            ResultSet rows = statement.executeQuery()) {
            rows.next();
            same(rows.getBytes(1).length, format.equals("binary") ? 10 : 16, "results are " + format);
        }
        same(value("SELECT pg_typeof(?)::text", ada), "sno", "parameter, typed, " + format);
        same(value("SELECT NULL::sno"), null, "NULL result, " + format);
        same(value("SELECT ?", new Sno()), null, "NULL parameter, " + format);
        fails("22P02", () -> new Sno("not an id"), "bad id: refused by its class, " + format);

        same(((Object[]) value("SELECT friends FROM person WHERE id = ?", bob))[0].toString(),
            ada.toString(), "array result, " + format);
        same(
            column("SELECT name FROM person WHERE id = ANY (?) ORDER BY id",
                connection.createArrayOf("sno", new Sno[] {bob, ada})),
            List.of("Ada", "Bob"), "array parameter, " + format);

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
        ok(same, "results, " + format, ids);
        same(back, texts, "parameters, " + format);
        execute("DROP TABLE ids");

        OffsetDateTime now = OffsetDateTime.now();
        same(
            column("SELECT id FROM person WHERE id <@ tstzrange(?, ?) ORDER BY id",
                now.minusHours(1), now.plusHours(1)),
            List.of(ada, bob), "id <@ tstzrange, " + format);
        same(column("SELECT id FROM person WHERE id <@ ?::tstzrange", "[,2026-01-01)"), List.of(),
            "id <@ tstzrange, before, " + format);

        try (PreparedStatement statement =
                connection.prepareStatement("SELECT name FROM person WHERE id = ?")) {
            statement.unwrap(PGStatement.class).setPrepareThreshold(1);
            List<String> names = new ArrayList<>();
            for (Sno id : new Sno[] {ada, bob}) {
                statement.setObject(1, id);
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        names.add(rows.getString(1));
                    }
                }
            }
            ok(statement.unwrap(PGStatement.class).isUseServerPrepare(), "prepared, " + format,
                "not prepared");
            same(names, List.of("Ada", "Bob"), "prepared statement, " + format);
        }
    }

    static void copy() throws Exception {
        CopyManager manager = connection.unwrap(PGConnection.class).getCopyAPI();
        Object ada = value("SELECT id FROM person WHERE name = 'Ada'");
        for (String options : new String[] {"", "(FORMAT csv)", "(FORMAT binary)"}) {
            ByteArrayOutputStream data = new ByteArrayOutputStream();
            manager.copyOut("COPY person TO STDOUT " + options, data);
            byte[] form = options.contains("binary")
                ? (byte[]) value("SELECT ?::bytea", ada) : text(ada);
            ok(contains(data.toByteArray(), form), "ids in COPY " + options, data);

            execute("CREATE TABLE kept AS TABLE person");
            execute("TRUNCATE person");
            manager.copyIn("COPY person FROM STDIN " + options,
                new ByteArrayInputStream(data.toByteArray()));
            same(
                column("(TABLE person EXCEPT TABLE kept)"
                    + " UNION ALL (TABLE kept EXCEPT TABLE person)"),
                List.of(), "COPY " + options);
            execute("DROP TABLE kept");
        }
        fails("22P02",
            () -> manager.copyIn("COPY person (id) FROM STDIN",
                new ByteArrayInputStream(text("not an id\n"))),
            "bad id in COPY: 22P02");
    }

    public static void main(String[] arguments) throws Exception {
        connection = connect("");
        withoutRecipe();
        withRecipe("text");
        String types = value("SELECT 'sno'::regtype::oid || ',' || 'sno[]'::regtype::oid").toString();
        connection.close();

        connection = connect("prepareThreshold=-1&binaryTransferEnable=" + types);
        execute("TRUNCATE person");
        withRecipe("binary");
        copy();
        connection.close();
        System.out.println("1.." + tests);
        System.exit(failures > 0 ? 1 : 0);
    }
}
