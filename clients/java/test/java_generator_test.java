// Ids made in the application, with loans and blocks of a real server.

import example.sno.Blocks;
import example.sno.Loans;
import example.sno.OutOfIdsException;
import example.sno.Query;
import example.sno.Sno;
import example.sno.SnoGenerator;
import example.sno.Source;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;

class Main {
    static final String DATABASE = System.getenv("PGDATABASE");
    static final Query QUERY = Query.of(() -> Tap.connect(DATABASE, ""));

    static final Duration PATIENCE = Duration.ofMinutes(3);

    static final Set<Sno> all = new HashSet<>();

    /** Ids that threads make as long as the condition says, all of them new. */
    static long make(SnoGenerator ids, int threads, Callable<Boolean> more) throws Exception {
        List<FutureTask<List<Sno>>> tasks = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            FutureTask<List<Sno>> task = new FutureTask<>(() -> {
                List<Sno> made = new ArrayList<>();
                while (more.call()) {
                    try {
                        made.add(ids.next());
                    } catch (OutOfIdsException error) {
                        if (!error.getMessage().contains("came too late")) {
                            throw error;
                        }
                        Thread.sleep(10);
                    }
                }
                return made;
            });
            tasks.add(task);
            new Thread(task).start();
        }
        long twice = 0;
        for (FutureTask<List<Sno>> task : tasks) {
            for (Sno id : task.get()) {
                twice += all.add(id) ? 0 : 1;
            }
        }
        return twice;
    }

    static long make(SnoGenerator ids, int number) throws Exception {
        AtomicLong left = new AtomicLong(number);
        return make(ids, 4, () -> left.decrementAndGet() >= 0);
    }

    static List<List<String>> query(String sql) throws Exception {
        return QUERY.run(sql);
    }

    static void execute(String... commands) throws Exception {
        try (Connection connection = Tap.connect(DATABASE, "")) {
            for (String command : commands) {
                connection.createStatement().execute(command);
            }
        }
    }

    static void loans() throws Exception {
        Loans loans = Loans.from(Tap.dataSource(DATABASE)).duration(Duration.ofMinutes(10));
        try (SnoGenerator ids = SnoGenerator.of(loans, PATIENCE)) {
            ids.ready(Instant.now().plusSeconds(300));
            Sno id = ids.next(3);
            all.add(id);
            Tap.same(make(ids, 100_000), 0L, "ids of a whole partition");
            Tap.same(ids.stats().taken(), 1L, "it is one loan");
            Tap.same(query("SELECT sno_meta('" + id + "'), sno_partition('" + id + "'), abs(extract(epoch FROM now() - '"
                + id + "'::sno::timestamptz)) < 600"), List.of(List.of("3", "" + id.partition(), "t")), "as the server reads it");
            Tap.same(query("SELECT count(*) FROM sno_generate_many(100000, 1) AS id WHERE sno_partition(id) = "
                + id.partition()), List.of(List.of("0")), "the server makes none there");
        }
    }

    static void slices() throws Exception {
        Source slice = Loans.from(QUERY).sequences(64);
        try (SnoGenerator one = SnoGenerator.of(slice, PATIENCE); SnoGenerator other = SnoGenerator.of(slice, PATIENCE)) {
            Tap.same(make(one, 1000) + make(other, 1000), 0L, "ids of two slices");
            Sno first = one.next();
            Sno second = other.next();
            Tap.same(List.of(first.partition() == second.partition(), first.sequence() / 64 == second.sequence() / 64),
                List.of(true, false), "of one partition");
        }
    }

    static void blocks() throws Exception {
        Blocks blocks = Blocks.from(Query.of(() -> {
            Connection connection = Tap.connect(DATABASE, "");
            connection.setAutoCommit(false);
            return connection;
        }));
        try (SnoGenerator ids = SnoGenerator.of(blocks.count(50).meta(9), PATIENCE)) {
            Tap.same(make(ids, 1000), 0L, "ids of blocks");
            Tap.same(ids.next().meta(), 9, "their metabyte");
            Tap.ok(ids.stats().taken() >= 21, "their number", ids.stats());
        }
    }

    static SnoGenerator brief;

    /** If the machine is so busy that a loan came too late, the next one is longer. */
    static void shortLoans() throws Exception {
        Query query = sql -> QUERY.run(sql.replace("'100 ", "'" + (100L << Math.min(brief.stats().failed(), 20)) + " "));
        brief = SnoGenerator.of(Loans.from(query).duration(Duration.ofMillis(100)).sequences(64), PATIENCE);
        Tap.same(make(brief, 4, () -> brief.stats().taken() < 30), 0L, "ids of 30 short loans");
        brief.close();
    }

    static void services() throws Exception {
        execute("CREATE ROLE java_service", "CREATE FUNCTION service_loan(OUT snapshot jsonb, OUT until timestamptz)"
            + " LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT * FROM sno_borrow_partition('5 min', 64); END",
            "REVOKE EXECUTE ON FUNCTION service_loan() FROM PUBLIC",
            "GRANT EXECUTE ON FUNCTION service_loan() TO java_service");
        Query service = Query.of(() -> {
            Connection connection = Tap.connect(DATABASE, "");
            connection.createStatement().execute("SET ROLE java_service");
            return connection;
        });
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(service), PATIENCE)) {
            ids.next();
            Tap.ok(false, "a role without the right", ids.stats());
        } catch (OutOfIdsException error) {
            Tap.same(((SQLException) error.getCause()).getSQLState(), "42501", "a role without the right");
        }
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(service).call("service_loan()"), PATIENCE)) {
            Tap.same(make(ids, 100), 0L, "a function for a service role");
        }
        execute("DROP FUNCTION service_loan()", "DROP ROLE java_service");
    }

    public static void main(String[] arguments) throws Exception {
        loans();
        slices();
        blocks();
        shortLoans();
        services();
        Tap.done();
    }
}
