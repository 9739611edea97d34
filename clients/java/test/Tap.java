// What the tests need: a connection, and TAP.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Objects;
import javax.sql.DataSource;
import org.postgresql.ds.PGSimpleDataSource;

class Tap {
    private static int tests = 0;
    private static int failures = 0;

    interface Action {
        Object run() throws Exception;
    }

    static Connection connect(String database, String options) throws SQLException {
        return DriverManager.getConnection(
            "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/" + database + "?" + options,
            System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
    }

    static DataSource dataSource(String database) {
        PGSimpleDataSource dataSource = new PGSimpleDataSource();
        dataSource.setServerNames(new String[] {"127.0.0.1"});
        dataSource.setPortNumbers(new int[] {Integer.parseInt(System.getenv("PGPORT"))});
        dataSource.setDatabaseName(database);
        dataSource.setUser(System.getenv("PGUSER"));
        dataSource.setPassword(System.getenv("PGPASSWORD"));
        return dataSource;
    }

    static void ok(boolean passed, String name, Object seen) {
        tests++;
        if (!passed) {
            failures++;
        }
        System.out.println((passed ? "ok " : "not ok ") + tests + " - " + name);
        if (!passed) {
            System.out.println("# " + Arrays.deepToString(new Object[] {seen}));
        }
    }

    /** Two objects that are equal, or arrays whose elements are. */
    static void same(Object seen, Object wanted, String name) {
        ok(Objects.deepEquals(seen, wanted), name, seen);
    }

    static void refuses(Action action, String name) throws Exception {
        try {
            ok(false, name, action.run());
        } catch (IllegalArgumentException | NullPointerException error) {
            ok(true, name, null);
        }
    }

    static void fails(String state, Action action, String name) throws Exception {
        try {
            ok(false, name, action.run());
        } catch (SQLException error) {
            same(error.getSQLState(), state, name);
        }
    }

    static void done() {
        System.out.println("1.." + tests);
        System.exit(failures > 0 ? 1 : 0);
    }
}
