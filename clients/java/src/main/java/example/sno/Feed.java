package example.sno;

import java.sql.Array;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Reads the rows of a feed of the extension sno_feeds, as one of its readers. Each batch of rows is leased to it, and
 * acknowledged when the loop asks for the next one. Each statement is a transaction of its own.
 *
 * <p>One thread may iterate over a Feed, and close it. Several Feeds share the parts of a reader.
 */
public final class Feed implements Iterable<Feed.Batch>, AutoCloseable {
    private static final String WAIT = "5 seconds"; // of one statement
    private static final long FIRST_PAUSE = 100; // ms after an error
    private static final long LAST_PAUSE = 5000; // after many

    private final Callable<Connection> connections;
    private final String feed; // as the program names it
    private final String reader; // a literal
    private int maxRows = 1000;
    private Duration lease = Duration.ofMinutes(1);
    private Duration retryAfter = Duration.ofSeconds(1);
    private Consumer<SQLException> onError;

    private final CountDownLatch stopped = new CountDownLatch(1);
    private String table = null; // the qualified name
    private Batch batch = null; // the leased rows

    private Feed(Callable<Connection> connections, String feed, String reader) {
        this.connections = connections;
        this.feed = feed;
        this.reader = literal(reader);
        this.onError = error -> System.getLogger(Feed.class.getName()).log(System.Logger.Level.WARNING,
            "feed " + feed + ", reader " + reader + ": " + error.getMessage());
    }

    /**
     * A feed is a table, whose name is written as in SQL. Each statement runs in a connection that the first argument
     * opens, such as dataSource::getConnection, and that is closed afterwards.
     */
    public static Feed of(Callable<Connection> connections, String feed, String reader) {
        return new Feed(connections, feed, reader);
    }

    /** The most rows of a batch. The default is 1000. */
    public Feed maxRows(int wanted) {
        maxRows = wanted;
        return this;
    }

    /** The time for a batch. The default is a minute. */
    public Feed lease(Duration wanted) {
        lease = wanted;
        return this;
    }

    /** The time until a row that failed comes again. The default is a second. */
    public Feed retryAfter(Duration wanted) {
        retryAfter = wanted;
        return this;
    }

    /** What gets the errors after which the feed goes on. The default logs them. */
    public Feed onError(Consumer<SQLException> wanted) {
        onError = wanted;
        return this;
    }

    /** A row of a batch. */
    public static final class Row {
        private final String id;
        private final boolean deleted;
        private final Map<String, Object> item;

        private Row(String id, boolean deleted, Map<String, Object> item) {
            this.id = id;
            this.deleted = deleted;
            this.item = item;
        }

        /** The key of the row, or the id of the change. */
        public String id() {
            return id;
        }

        /** Only a feed of changes has deleted rows. Only the keys of their items are not null. */
        public boolean deleted() {
            return deleted;
        }

        /** The values of the columns. */
        public Map<String, Object> item() {
            return item;
        }
    }

    /**
     * Rows of a part of a feed, in their order. An iteration ends after a row that failed, and if the lease is lost. It
     * extends the lease if more than half of its time has passed.
     */
    public final class Batch implements Iterable<Row> {
        private final int part;
        private final String fence;
        private final List<Row> rows = new ArrayList<>();
        private long since; // ns: when the lease began or was extended, or earlier
        private String failure = null; // arguments of sno_feed_fail()

        private Batch(int part, String fence, long since) {
            this.part = part;
            this.fence = fence;
            this.since = since;
        }

        /** All rows. The lease isn't extended meanwhile. */
        public List<Row> rows() {
            return Collections.unmodifiableList(rows);
        }

        /** The part, which is -1 for a row that was set aside, and is tried again. */
        public int part() {
            return part;
        }

        @Override
        public Iterator<Row> iterator() {
            return new Iterator<>() {
                private int next = 0;

                @Override
                public boolean hasNext() {
                    if (next > 0 && next < rows.size() && isOpen()) {
                        extend();
                    }
                    return next < rows.size() && isOpen();
                }

                @Override
                public Row next() {
                    if (!hasNext()) {
                        throw new NoSuchElementException();
                    }
                    return rows.get(next++);
                }
            };
        }

        /** As fail() with the time of the feed until the row comes again. */
        public void fail(Row row, Throwable error) {
            fail(row, error, retryAfter);
        }

        /**
         * Reports that a row could not be handled. For a batch, only the first call counts. When the batch ends, the
         * rows before this row are acknowledged. This row and those after it come again, unless this row is set aside.
         * If the row is null, one of the rows failed, and all come again one by one. If the error is null, no row is to
         * blame, and no try counts.
         */
        public void fail(Row row, Throwable error, Duration retryAfter) {
            if (row != null && rows.stream().noneMatch(each -> each.id.equals(row.id))) {
                throw new IllegalArgumentException("row " + row.id + " is not one of the batch");
            }
            if (failure == null) {
                failure = ", " + (row == null ? "NULL" : literal(row.id)) + ", "
                    + (error == null ? "NULL" : literal(error.toString())) + ", " + interval(retryAfter);
            }
        }

        private boolean isOpen() {
            return batch == this && failure == null;
        }

        private void extend() {
            long now = System.nanoTime();
            if (now - since > lease.toNanos() / 2) {
                if (runLeased(call("SELECT sno_feed_extend", ", " + part + ", " + fence + ", " + interval(lease)))) {
                    since = now;
                } else {
                    batch = null;
                }
            }
        }

        private String ending() {
            return call("SELECT sno_feed_" + (failure == null ? "done" : "fail"),
                ", " + part + ", " + fence + (failure == null ? "" : failure));
        }
    }

    /**
     * The batches. hasNext() acknowledges the batch, or reports the row that failed, and waits for the next batch,
     * until the feed is stopped or the thread is interrupted. An error that doesn't pass is the cause of an
     * IllegalStateException.
     */
    @Override
    public Iterator<Batch> iterator() {
        return new Iterator<>() {
            private Batch next = null;

            @Override
            public boolean hasNext() {
                if (next == null) {
                    if (batch != null) {
                        String ending = batch.ending();
                        batch = null;
                        runLeased(ending);
                    }
                    while (!isOver(0)) {
                        next = batch = take();
                        if (next != null) {
                            return true;
                        }
                        if (!isOver(0)) {
                            run(call("CALL sno_feed_wait", ", '" + WAIT + "'"), result -> null);
                        }
                    }
                }
                return next != null;
            }

            @Override
            public Batch next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                Batch found = next;
                next = null;
                return found;
            }
        };
    }

    /** Ends the iteration, after the present batch, at the latest after 5 s. Any thread may call it. */
    public void stop() {
        stopped.countDown();
    }

    /**
     * Gives the rows of a batch back that is not acknowledged, because the loop was left. They come again at once, and
     * no try counts, unless a row failed.
     */
    @Override
    public void close() {
        stop();
        Batch left = batch;
        batch = null;
        if (left == null) {
            return;
        }
        left.fail(null, null, Duration.ZERO);
        try {
            runOnce(left.ending(), result -> null);
        } catch (SQLException error) {
            onError.accept(error);
        }
    }

    /** The next rows, which are leased, or null. */
    private Batch take() {
        if (table == null) {
            table = run("SELECT pg_catalog.format('%s.%I', relnamespace::pg_catalog.regnamespace, relname)"
                + " FROM pg_catalog.pg_class WHERE oid = " + literal(feed) + "::pg_catalog.text::pg_catalog.regclass",
                result -> {
                    result.next();
                    return result.getString(1);
                });
            if (table == null) {
                return null;
            }
        }
        long since = System.nanoTime();
        return run("SELECT part, fence, id, deleted, (item).* FROM sno_feed_take(NULL::" + table + ", " + reader + ", "
            + maxRows + ", " + interval(lease) + ")", result -> {
                ResultSetMetaData columns = result.getMetaData();
                Batch found = null;
                while (result.next()) {
                    if (found == null) {
                        found = new Batch(result.getInt(1), result.getString(2), since);
                    }
                    Map<String, Object> item = new LinkedHashMap<>();
                    for (int i = 5; i <= columns.getColumnCount(); i++) {
                        Object value = result.getObject(i);
                        // An array is of no use without its connection.
                        item.put(columns.getColumnLabel(i),
                            value instanceof Array ? ((Array) value).getArray() : value);
                    }
                    found.rows.add(new Row(result.getString(3), result.getBoolean(4), item));
                }
                return found;
            });
    }

    /** A call with the feed, the reader and more arguments. */
    private String call(String procedure, String more) {
        return procedure + "(" + literal(table) + ", " + reader + more + ")";
    }

    /**
     * Runs a statement that needs the lease of the batch, and returns false if it was lost. After a connection was
     * lost, the first run may have ended the lease.
     */
    private boolean runLeased(String sql) {
        try {
            run(sql, result -> null);
            return true;
        } catch (IllegalStateException error) {
            if (!(error.getCause() instanceof SQLException)
                || !"55P03".equals(((SQLException) error.getCause()).getSQLState())) {
                throw error;
            }
            onError.accept((SQLException) error.getCause());
            return false;
        }
    }

    private interface Reading<T> {
        T of(ResultSet result) throws SQLException;
    }

    /** Runs a statement, again and again while the server is away. If the feed is stopped meanwhile, returns null. */
    private <T> T run(String sql, Reading<T> reading) {
        for (long pause = FIRST_PAUSE;; pause = Math.min(2 * pause, LAST_PAUSE)) {
            try {
                return runOnce(sql, reading);
            } catch (SQLException error) {
                if (!isTransient(error)) {
                    throw new IllegalStateException("a feed can't be read: " + error.getMessage(), error);
                }
                onError.accept(error);
            }
            if (isOver(ThreadLocalRandom.current().nextLong(pause / 2, pause))) {
                return null;
            }
        }
    }

    private <T> T runOnce(String sql, Reading<T> reading) throws SQLException {
        try (Connection connection = open()) {
            try (Statement statement = connection.createStatement()) {
                connection.setAutoCommit(true);
                return statement.execute(sql) ? reading.of(statement.getResultSet()) : null;
            } catch (SQLException error) {
                // After a failover, the primary is another server, so a pool must not keep this connection.
                if (isTransient(error)) {
                    connection.abort(Runnable::run);
                }
                throw error;
            }
        }
    }

    private Connection open() throws SQLException {
        try {
            return connections.call();
        } catch (SQLException | RuntimeException error) {
            throw error;
        } catch (Exception error) {
            throw new IllegalStateException("no connection for a feed: " + error.getMessage(), error);
        }
    }

    /**
     * A connection is lost or refused, the server is a standby, or the statement should be run again. Pools report
     * errors of the driver as causes of their own.
     */
    private static boolean isTransient(SQLException error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            String state = cause instanceof SQLException ? ((SQLException) cause).getSQLState() : null;
            if (state != null) {
                return state.matches("08...|57P0[1-5]|53300|25006|40001|40P01");
            }
        }
        return error instanceof SQLTransientException || error instanceof SQLRecoverableException;
    }

    /** Is the feed stopped or the thread interrupted, now or within so many ms? */
    private boolean isOver(long millis) {
        try {
            return stopped.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    /** A text as SQL, whatever standard_conforming_strings is. Half characters and zero bytes are replaced. */
    private static String literal(String text) {
        return "E'" + text.replaceAll("\\p{Cs}", "\ufffd").replace("\0", "\\0").replace("\\", "\\\\").replace("'", "''")
            + "'";
    }

    private static String interval(Duration duration) {
        return "'" + duration.toMillis() + " milliseconds'";
    }
}
