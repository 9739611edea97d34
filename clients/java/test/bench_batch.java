// In an empty folder: .../run_java .../bench_batch.java
//
// Prints ms for 10,000 rows and 10,000 children by JDBC: with keys that the server makes, which
// each row must return before its child can be sent, and with keys of a loan, in two batches.
// Medians of five rounds, in turn.  PGDATABASE and its like name a database with the extension.

import example.sno.Loans;
import example.sno.Query;
import example.sno.Sno;
import example.sno.SnoGenerator;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;

class Main {
    static final int ROWS = 10_000;

    interface Way {
        void insert(Connection connection) throws SQLException;
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** A batch that returns its keys, and another one of the children. */
    static void withDefault(Connection connection) throws SQLException {
        String[] keys = new String[ROWS];
        try (PreparedStatement parent = connection.prepareStatement(
                "INSERT INTO bench_parent (name) VALUES (?)", new String[] {"id"});
            PreparedStatement child = connection.prepareStatement(
                "INSERT INTO bench_child (parent_id) VALUES (?::sno)")) {
            for (int i = 0; i < ROWS; i++) {
                parent.setString(1, "" + i);
                parent.addBatch();
            }
            parent.executeBatch();
            try (ResultSet made = parent.getGeneratedKeys()) {
                for (int i = 0; made.next(); i++) {
                    keys[i] = made.getString(1);
                }
            }
            for (String key : keys) {
                child.setString(1, key);
                child.addBatch();
            }
            child.executeBatch();
        }
    }

    static void withLoan(Connection connection, SnoGenerator ids) throws SQLException {
        try (PreparedStatement parent = connection.prepareStatement(
                "INSERT INTO bench_parent (id, name) VALUES (?::sno, ?)");
            PreparedStatement child = connection.prepareStatement(
                "INSERT INTO bench_child (id, parent_id) VALUES (?::sno, ?::sno)")) {
            for (int i = 0; i < ROWS; i++) {
                Sno id = ids.next(1);
                parent.setString(1, id.toString());
                parent.setString(2, "" + i);
                parent.addBatch();
                child.setString(1, ids.next(2).toString());
                child.setString(2, id.toString());
                child.addBatch();
            }
            parent.executeBatch();
            child.executeBatch();
        }
    }

    static double round(Connection connection, Way way) throws SQLException {
        execute(connection, "DROP TABLE IF EXISTS bench_child, bench_parent");
        execute(connection, "CREATE TABLE bench_parent (id sno PRIMARY KEY DEFAULT sno_generate(1), name text)");
        execute(connection, "CREATE TABLE bench_child (id sno PRIMARY KEY DEFAULT sno_generate(2),"
            + " parent_id sno REFERENCES bench_parent)");
        connection.setAutoCommit(false);
        long start = System.nanoTime();
        way.insert(connection);
        connection.commit();
        double time = (System.nanoTime() - start) / 1e6;
        connection.setAutoCommit(true);
        return time;
    }

    public static void main(String[] arguments) throws Exception {
        String database = System.getenv("PGDATABASE");
        double[][] times = new double[2][5];
        try (Connection connection = Tap.connect(database, "");
            SnoGenerator ids = SnoGenerator.of(Loans.from(Query.of(() -> Tap.connect(database, ""))))) {
            for (int i = -1; i < 5; i++) {
                double byDefault = round(connection, Main::withDefault);
                double byLoan = round(connection, c -> withLoan(c, ids));
                if (i >= 0) {
                    times[0][i] = byDefault;
                    times[1][i] = byLoan;
                }
            }
            execute(connection, "DROP TABLE bench_child, bench_parent");
        }
        Arrays.stream(times).forEach(Arrays::sort);
        System.out.printf("DEFAULT %.0f ms, loan %.0f ms%n", times[0][2], times[1][2]);
    }
}
