package example.sno;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.sql.DataSource;

/** Takes loans by sno_borrow_partition(), or by a function of the database's owner. It is immutable. */
public final class Loans extends Source {
    /** So far may the clock be behind a loan that was just taken: 1 s. */
    private static final long PATIENCE = Sno.UNITS_PER_SECOND;

    private static final Duration HOUR = Duration.ofHours(1);
    private static final int ALL_SEQUENCES = 65536;

    // Values of JSON.
    private static final String NUMBER = "(\\d{1,18})\\s*[,}]";
    private static final String PAIR = "\\[\\s*(\\d{1,18})\\s*,\\s*(\\d{1,18})\\s*\\]";

    private final Duration duration; // null: by default
    private final Integer sequences; // null: by default
    private final String call; // null: sno_borrow_partition()

    private Loans(Query query, Duration duration, Integer sequences, String call) {
        super(query);
        if (call != null && (call.isBlank() || duration != null || sequences != null)) {
            throw new IllegalArgumentException("a call of a function takes the place of duration and sequences");
        }
        this.duration = duration;
        this.sequences = sequences;
        this.call = call;
    }

    /** Loans of whole partitions for an hour. */
    public static Loans from(Query query) {
        return new Loans(query, null, null, null);
    }

    /** Loans of whole partitions for an hour. */
    public static Loans from(DataSource dataSource) {
        return from(Query.of(dataSource::getConnection));
    }

    /** Loans for so long: whole ms, 4 at least. */
    public Loans duration(Duration wanted) {
        if (wanted.compareTo(Duration.ofMillis(Sno.UNIT)) < 0
            || wanted.compareTo(Duration.ofMillis(Long.MAX_VALUE)) > 0) {
            throw new IllegalArgumentException("a loan lasts 4 ms at least, not " + wanted);
        }
        return new Loans(query(), wanted, sequences, call);
    }

    /** Loans of so many sequences of a partition: 1 to 65536. */
    public Loans sequences(int wanted) {
        return new Loans(query(), duration, (int) between("the number of sequences", wanted, 1, ALL_SEQUENCES), call);
    }

    /** Loans by another function, such as "service_loan()". This text is a part of the query. */
    public Loans call(String wanted) {
        if (wanted == null) {
            throw new IllegalArgumentException("a call of a function is missing");
        }
        return new Loans(query(), duration, sequences, wanted);
    }

    private long millis() {
        return (duration == null ? HOUR : duration).toMillis();
    }

    @Override
    Supply take(Time time) throws Exception {
        List<List<String>> rows = run(
            "SELECT snapshot::text, ((extract(epoch FROM until) * 250)::bigint - " + Sno.EPOCH + ")::text FROM "
                + (call != null ? call : "sno_borrow_partition('" + millis() + " milliseconds', "
                    + (sequences == null ? ALL_SEQUENCES : sequences) + ")"));
        try {
            String snapshot = rows.get(0).get(0);
            long floor = key(snapshot, "wallHi", NUMBER, 1);
            long until = Long.parseLong(rows.get(0).get(1));
            if (rows.size() > 1 || until <= floor) {
                throw new IllegalArgumentException("one loan that isn't over is wanted");
            }
            long partition = between("a byte", key(snapshot, "partition", PAIR, 1), 0, 255) << 8
                | between("a byte", key(snapshot, "partition", PAIR, 2), 0, 255);
            Loan loan = new Loan((int) partition, floor, Math.toIntExact(key(snapshot, "sequenceMin", NUMBER, 1)),
                Math.toIntExact(key(snapshot, "sequenceMax", NUMBER, 1)), until);
            return new Taken(loan, floor, time.unit());
        } catch (RuntimeException error) {
            throw new IllegalStateException("the database returned no loan: " + Sno.quoted(String.valueOf(rows)), error);
        }
    }

    /** A number in the value that a key of a JSON object has. */
    private static long key(String object, String name, String value, int group) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*" + value).matcher(object);
        if (!found.find()) {
            throw new IllegalArgumentException("no " + name);
        }
        return Long.parseLong(found.group(group));
    }

    @Override
    int meta() {
        return 0;
    }

    @Override
    void checkMeta(int meta) {
        between("a metabyte", meta, 0, 255);
    }

    @Override
    void checkReady(long units, int count) {
        between("the number of ids", count, 1, Integer.MAX_VALUE);
        // Now is somewhere in its unit.
        if (call == null && units - 1 > millis() / Sno.UNIT) {
            throw new IllegalArgumentException("a loan lasts " + millis() + " ms, less than what is wanted");
        }
    }

    @Override
    boolean isEnough(Supply present, Supply spare, long until, int count) {
        return Math.max(present.reach(), spare.reach()) >= until;
    }

    private static final class Taken extends Supply {
        private final Loan loan;
        private final long floor;
        private final long half;
        private boolean fresh = true;

        Taken(Loan loan, long floor, long now) {
            long start = Math.max(floor, now);
            this.loan = loan;
            this.floor = floor;
            half = start + (loan.until() - start) / 2;
        }

        /** A fresh loan waits for the clock, for a while. */
        private Loan.Step wait(Loan.Step step, long unit) {
            return step == Loan.Step.BEHIND && fresh && floor - unit <= PATIENCE ? Loan.Step.WAIT : step;
        }

        @Override
        Loan.Step peek(long unit) {
            return wait(loan.peek(unit), unit);
        }

        @Override
        Loan.Step next(long unit) {
            Loan.Step step = wait(loan.next(unit), unit);
            fresh &= step != Loan.Step.ISSUED;
            return step;
        }

        @Override
        Sno id(int meta) {
            return loan.id(meta);
        }

        @Override
        boolean isHalfUsed(long unit) {
            return unit >= half;
        }

        @Override
        long reach() {
            return loan.until();
        }

        @Override
        Instant until() {
            return Sno.time(loan.until());
        }

        @Override
        public String toString() {
            return "the loan is from " + Sno.time(floor + 1) + " until " + until();
        }
    }
}
