// Feeds: the example of clients/java/README.md, and readers that fail, are late, or lose their connections.

import example.sno.Feed;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import javax.sql.DataSource;

class Main {
    static final DataSource dataSource = Tap.dataSource(System.getenv("PGDATABASE"));

    // Names that need quotes
    static final String TABLE = "\"Out \"\"box\"";
    static final String READER = "o'neil\\";
    static final String PLACES = "\"Out \"\"box_readers\"";

    /** The first column of the first row. */
    static String value(String sql, Object... values) throws SQLException {
        try (Connection connection = dataSource.getConnection();
            PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            if (!statement.execute()) {
                return null;
            }
            try (ResultSet rows = statement.getResultSet()) {
                return rows.next() ? rows.getString(1) : null;
            }
        }
    }

    /** Returns when readers can have the rows. */
    static void insert(String... messages) throws Exception {
        for (String message : messages) {
            value("INSERT INTO " + TABLE + " (message) VALUES (?)", message);
        }
        while (!"t".equals(value("SELECT max(id) < (SELECT sno_watermark()) FROM " + TABLE))) {
            Thread.sleep(1);
        }
    }

    static void awaitWait() throws Exception {
        while (!"t".equals(value("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            + " AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%')"))) {
            Thread.sleep(1);
        }
    }

    /** Deletes the rows, and creates the reader again. */
    static void restart() throws SQLException {
        value("TRUNCATE " + TABLE);
        value("SELECT sno_feed_drop_reader(?::text::regclass, ?)", TABLE, READER);
        value("SELECT sno_feed_create_reader(?::text::regclass, ?, max_tries => 2)", TABLE, READER);
    }

    /** The state of the reader's place, without part -1. */
    static String state() throws SQLException {
        return value("SELECT CASE WHEN upto IS NOT NULL THEN 'leased'"
            + " WHEN position > (SELECT max(id) FROM " + TABLE + ") THEN 'all done' ELSE 'free' END"
            + " || ', tries: ' || tries FROM " + PLACES + " WHERE reader = ? AND part = 0", READER);
    }

    static Feed feed() {
        return Feed.of(dataSource::getConnection, TABLE, READER).retryAfter(Duration.ZERO).onError(error -> {
            throw new AssertionError(error);
        });
    }

    static String messages(Feed.Batch batch) {
        return batch.rows().stream().map(row -> row.item().get("message").toString()).collect(Collectors.joining(" "));
    }

    static List<String> sent = new ArrayList<>();

    static void send(Feed feed, Object message) throws Exception {
        if (message.equals("mail 2") && sent.size() == 1) {
            sent.add("failed");
            throw new Exception("mailbox full");
        }
        sent.add(message.toString());
        if (message.equals("mail 3")) {
            feed.stop();
        }
    }

    static void readme() throws Exception {
        value("CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)");
        value("SELECT sno_feed_create('outbox')");
        value("SELECT sno_feed_create_reader('outbox', 'mail')");
        value("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n");
        // README.md: feed
        Tap.same(sent, List.of("mail 1", "failed", "mail 2", "mail 3"), "README's example");
        Tap.same(value("SELECT position > (SELECT max(id) FROM outbox) FROM outbox_readers"
            + " WHERE reader = 'mail' AND part = 0"), "t", "all is acknowledged");
    }

    /** Rows come while a reader waits, and it is stopped while it has a batch. */
    static void inOrder() throws Exception {
        restart();
        insert("a", "b", "c");
        List<Feed.Row> seen = new ArrayList<>();
        List<String> batches = new ArrayList<>();
        Feed feed = feed().maxRows(2);
        FutureTask<Void> later = new FutureTask<>(() -> {
            awaitWait();
            insert("d");
            return null;
        });
        new Thread(later).start();
        for (Feed.Batch batch : feed) {
            batch.forEach(seen::add);
            batches.add(messages(batch));
            if (seen.size() == 4) {
                feed.stop();
            }
        }
        later.get();
        Tap.same(batches, List.of("a b", "c", "d"), "batches");
        Map<String, Object> item = seen.get(0).item();
        Tap.same(new ArrayList<>(item.keySet()), List.of("id", "part", "fence", "deleted", "tags", "message"),
            "columns");
        Tap.same(List.of(item.get("id").toString(), item.get("part"), item.get("fence"), item.get("deleted"),
            Arrays.asList((Object[]) item.get("tags")), seen.get(0).deleted()),
            List.of(seen.get(0).id(), "mine", 7, "no", Arrays.asList("x", null), false), "their values");
        Tap.same(state(), "all done, tries: 0", "the last batch is acknowledged, too");
    }

    /** A loop that is left acknowledges nothing, and no row is to blame. */
    static void left() throws Exception {
        for (boolean raises : new boolean[] {true, false}) {
            restart();
            insert("a", "b");
            try (Feed feed = feed()) {
                for (Feed.Batch batch : feed) {
                    Tap.same(messages(batch), "a b", "a batch");
                    Tap.same(state(), "leased, tries: 0", "is not acknowledged yet");
                    if (raises) {
                        throw new UnsupportedOperationException();
                    }
                    break;
                }
            } catch (UnsupportedOperationException error) {
                Tap.ok(raises, "an exception of the program", error);
            }
            Tap.same(state(), "free, tries: 0", "the rows are given back");
        }
        Feed feed = feed();
        Feed.Batch batch = feed.iterator().next();
        Tap.same(messages(batch), "a b", "and come again, at once and together");
        batch.fail(batch.rows().get(1), new Exception("full"));
        feed.close();
        Tap.same(state(), "free, tries: 1", "a row that failed before the loop was left counts a try");
        Tap.ok(!batch.iterator().hasNext(), "a batch is over", batch);
        feed.close();
    }

    static void failed() throws Exception {
        restart();
        insert("a", "bad", "c", "d");
        List<String> seen = new ArrayList<>();
        StringBuilder handled = new StringBuilder();
        Feed feed = feed();
        for (Feed.Batch batch : feed) {
            seen.add(messages(batch));
            for (Feed.Row row : batch) {
                if (row.item().get("message").equals("bad")) {
                    batch.fail(row, new Exception("it's \\ \0wrong\ud800"));
                    batch.fail(null, new Exception("not the first"));
                } else if (handled.append(row.item().get("message")).length() == 3) {
                    feed.stop();
                }
            }
        }
        Tap.same(seen, List.of("a bad c d", "bad", "c d"), "a row that failed comes again alone, and is set aside");
        Tap.same(handled.toString(), "acd", "a batch ends with the row that failed");
        Tap.same(value("SELECT tries || ' ' || error FROM sno_feed_aside(NULL::" + TABLE + ", ?)", READER),
            "2 java.lang.Exception: it's \\ \\0wrong\ufffd", "with its error");
        Tap.same(state(), "all done, tries: 0", "the other rows are acknowledged");

        value("SELECT sno_feed_retry(?::text::regclass, ?)", TABLE, READER);
        try (Feed again = feed()) {
            Feed.Batch batch = again.iterator().next();
            Tap.same(batch.part() + messages(batch), "-1bad", "a row that was set aside is retried, as part -1");
            Tap.refuses(() -> {
                batch.fail(other(), new Exception());
                return null;
            }, "a row of another batch can't fail");
        }
        Tap.same(value("SELECT tries FROM sno_feed_aside(NULL::" + TABLE + ", ?)", READER), "2", "and no try counts");
    }

    /** A row of another feed. */
    static Feed.Row other() {
        try (Feed feed = Feed.of(dataSource::getConnection, "other", "mail")) {
            return feed.iterator().next().rows().get(0);
        }
    }

    /** The program doesn't know which row failed, or it was no row's fault. */
    static void unknown() throws Exception {
        restart();
        insert("a", "b");
        List<String> seen = new ArrayList<>();
        Feed feed = feed();
        for (Feed.Batch batch : feed) {
            seen.add(messages(batch) + " " + state());
            if (seen.size() == 1) {
                batch.fail(null, null);
            } else if (seen.size() == 2) {
                batch.fail(null, new Exception("one is bad"), Duration.ofMillis(1));
            } else if (seen.size() == 4) {
                feed.stop();
            }
        }
        Tap.same(seen, List.of("a b leased, tries: 0", "a b leased, tries: 0", "a leased, tries: 0",
            "b leased, tries: 0"), "rows come one by one");
        Tap.same(state(), "all done, tries: 0", "and are acknowledged");
    }

    static String leaseBegins() throws SQLException {
        return value("SELECT busy_at FROM " + PLACES + " WHERE upto IS NOT NULL");
    }

    /** The lease is extended, or lost between two rows, or at the end. */
    static void leases() throws Exception {
        restart();
        insert("a", "b", "c");
        List<String> caught = new ArrayList<>();
        Feed feed = feed().lease(Duration.ofHours(1)).onError(error -> caught.add(error.getSQLState()));
        Iterator<Feed.Batch> batches = feed.iterator();
        Iterator<Feed.Row> rows = batches.next().iterator();
        String before = leaseBegins();
        rows.next();
        rows.next();
        Tap.same(leaseBegins(), before, "no need to extend the lease");
        feed.lease(Duration.ofMillis(1));
        Thread.sleep(1);
        rows.next();
        Tap.ok(leaseBegins().compareTo(before) > 0, "the lease is extended", before);
        Tap.ok(!rows.hasNext(), "the batch ends", rows);
        feed.lease(Duration.ofHours(1));
        insert("d");
        Tap.same(messages(batches.next()), "d", "the other batch is acknowledged");
        for (boolean between : new boolean[] {true, false}) {
            value("SELECT sno_feed_rewind(?::text::regclass, ?, 'oldest')", TABLE, READER);
            Feed.Batch batch = batches.next();
            Tap.same(messages(batch), "a b c d", "the feed goes on with all rows");
            rows = batch.iterator();
            rows.next();
            if (between) {
                feed.lease(Duration.ofMillis(1));
                Thread.sleep(1);
                value("SELECT sno_feed_rewind(?::text::regclass, ?, 'oldest')", TABLE, READER);
                Tap.ok(!rows.hasNext(), "the lease is lost", rows);
                feed.lease(Duration.ofHours(1));
            }
        }
        feed.close();
        Tap.same(caught, List.of("55P03", "55P03"), "which is reported");
        Tap.same(state(), "free, tries: 0", "the rows come again");
    }

    static void away() throws Exception {
        restart();
        insert("a");
        Queue<SQLException> failures = new ArrayDeque<>();
        List<String> caught = new ArrayList<>();
        Feed feed = Feed.of(() -> {
            if (!failures.isEmpty()) {
                throw failures.remove();
            }
            return dataSource.getConnection();
        }, TABLE, READER).onError(error -> caught.add(error.getMessage()));
        failures.add(new SQLTransientConnectionException("a pool's"));
        failures.add(new SQLException("another pool's", new SQLException("terminated", "57P01")));
        failures.add(new SQLException("a standby", "25006"));
        Iterator<Feed.Batch> batches = feed.iterator();
        Tap.same(messages(batches.next()), "a", "the server comes back");
        Tap.same(caught, List.of("a pool's", "another pool's", "a standby"), "errors are reported");
        failures.add(new SQLException("lost", "08006"));
        feed.stop();
        Tap.same(batches.hasNext(), false, "stopped while the server is away");
        Tap.same(state(), "leased, tries: 0", "the batch is not acknowledged");

        Feed never = Feed.of(() -> {
            throw new SQLException("no server", "08001");
        }, TABLE, READER).onError(error -> Thread.currentThread().interrupt());
        Tap.same(never.iterator().hasNext(), false, "interrupted while the server is away");
        Tap.same(Thread.interrupted(), true, "the thread is still interrupted");

        // A pool, whose connection is one to a former primary
        restart();
        insert("a");
        caught.clear();
        Connection former = dataSource.getConnection();
        former.createStatement().execute("SET default_transaction_read_only = on");
        Connection pooled = (Connection) Proxy.newProxyInstance(Main.class.getClassLoader(),
            new Class<?>[] {Connection.class}, (proxy, method, values) ->
                method.getName().equals("close") ? null : method.invoke(former, values));
        try (Feed other = Feed.of(() -> former.isClosed() ? dataSource.getConnection() : pooled, TABLE, READER)
            .onError(error -> {
                caught.add(error.getSQLState());
                if (caught.size() > 1) {
                    throw new AssertionError(error);
                }
            })) {
            Tap.same(messages(other.iterator().next()), "a", "another connection");
        }
        Tap.same(caught, List.of("25006"), "after that of a former primary");

        value("SELECT sno_feed_rewind(?::text::regclass, ?, 'now')", TABLE, READER);
        caught.clear();
        Feed lost = feed().onError(error -> caught.add(error.getSQLState()));
        batches = lost.iterator();
        FutureTask<Void> later = new FutureTask<>(() -> {
            awaitWait();
            value("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database()"
                + " AND state = 'active' AND query LIKE 'CALL sno_feed_wait(%'");
            insert("b");
            return null;
        });
        new Thread(later).start();
        Tap.same(messages(batches.next()), "b", "a connection is opened again that is lost while the feed waits");
        Tap.same(caught, List.of("57P01"), "which is reported");
        later.get();
        later = new FutureTask<>(() -> {
            awaitWait();
            lost.stop();
            return null;
        });
        new Thread(later).start();
        Tap.same(batches.hasNext(), false, "stopped while it waits");
        later.get();
        Tap.same(state(), "all done, tries: 0", "the batch is acknowledged");
    }

    /** Changes of a table: the rows that it had, and then its updates and deletes. */
    static void changes() throws Exception {
        value("CREATE TABLE \"a Person\" (fence integer PRIMARY KEY, name text)");
        value("INSERT INTO \"a Person\" VALUES (1, 'Ada'), (2, 'Bob')");
        value("CALL sno_feed_create_changes('\"a Person\"')");
        value("SELECT sno_feed_create_reader('\"a Person\"', 'copy')");
        List<String> seen = new ArrayList<>();
        Feed feed = Feed.of(dataSource::getConnection, "\"a Person\"", "copy");
        for (Feed.Batch batch : feed) {
            for (Feed.Row row : batch) {
                seen.add(row.item() + " " + row.deleted());
                if (seen.size() == 2) {
                    value("UPDATE \"a Person\" SET name = 'Bea' WHERE fence = 2");
                } else if (seen.size() == 3) {
                    value("DELETE FROM \"a Person\"");
                } else if (seen.size() == 5) {
                    feed.stop();
                }
            }
        }
        Tap.same(seen, List.of("{fence=1, name=Ada} false", "{fence=2, name=Bob} false", "{fence=2, name=Bea} false",
            "{fence=1, name=null} true", "{fence=2, name=null} true"), "rows of a table, and their changes");
    }

    static void wrong(Callable<Connection> connections, String name, String reader, String state) {
        try {
            Tap.ok(false, "wrong: " + state, Feed.of(connections, name, reader).iterator().hasNext());
        } catch (IllegalStateException error) {
            Tap.ok(((SQLException) error.getCause()).getSQLState().startsWith(state), "wrong: " + state, error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        value("CREATE EXTENSION sno_feeds");
        readme();
        value("CREATE TABLE other (id sno PRIMARY KEY DEFAULT sno_generate())");
        value("SELECT sno_feed_create('other')");
        value("SELECT sno_feed_create_reader('other', 'mail')");
        value("INSERT INTO other DEFAULT VALUES");
        value("CREATE TABLE " + TABLE + " (id sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',"
            + " fence integer DEFAULT 7, deleted text DEFAULT 'no', tags text[] DEFAULT '{x,NULL}',"
            + " message text NOT NULL)");
        value("SELECT sno_feed_create(?::text::regclass)", TABLE);
        value("SELECT sno_feed_create_reader(?::text::regclass, ?)", TABLE, READER);
        inOrder();
        left();
        failed();
        unknown();
        leases();
        away();
        changes();
        wrong(dataSource::getConnection, "nowhere", "mail", "42P01");
        wrong(dataSource::getConnection, "customers", "mail", "55000");
        wrong(dataSource::getConnection, "0", "mail", "42P01");
        wrong(dataSource::getConnection, "outbox", "nobody", "42704");
        wrong(() -> dataSource.getConnection("nobody", "wrong"), "outbox", "mail", "28");
        Tap.done();
    }
}
