// Ids made in the application: with false clocks and a false database.

import example.sno.Blocks;
import example.sno.FalseTime;
import example.sno.Loan;
import example.sno.Loans;
import example.sno.OutOfIdsException;
import example.sno.Query;
import example.sno.Sno;
import example.sno.SnoGenerator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

class Main {
    /** The first difference between what a loan does and the lines of a case, or null. */
    static String difference(List<String> lines) {
        String[] head = lines.get(0).split("\t");
        Loan loan = new Loan(Integer.parseInt(head[2]), Long.parseLong(head[3]), Integer.parseInt(head[4]),
            Integer.parseInt(head[5]), Long.parseLong(head[6]));
        for (String line : lines.subList(1, lines.size())) {
            String[] read = line.split("\t");
            for (int left = Integer.parseInt(read[3]); left > 0; left--) {
                Loan.Step step = loan.next(Long.parseLong(read[1]));
                String seen = step == Loan.Step.ISSUED ? loan.id(Integer.parseInt(read[2])).toString()
                    : step.name().toLowerCase(Locale.ROOT);
                if (left == 1 ? !seen.equals(read[4]) : step != Loan.Step.ISSUED) {
                    return line + ", seen: " + seen;
                }
            }
        }
        return null;
    }

    static void vectors() throws IOException {
        List<List<String>> cases = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(System.getenv("CLIENTS"), "../test/vectors/loans.tsv"))) {
            if (line.startsWith("loan\t")) {
                cases.add(new ArrayList<>());
            }
            if (!line.isEmpty() && !line.startsWith("#")) {
                cases.get(cases.size() - 1).add(line);
            }
        }
        for (List<String> lines : cases) {
            Tap.same(difference(lines), null, lines.get(0).split("\t")[1]);
            String planted = lines.remove(lines.size() - 1) + "x";
            lines.add(planted);
            Tap.ok(difference(lines) != null && difference(lines).startsWith(planted), "a planted mistake", planted);
        }
    }

    /** It lends partition after partition, for 1000 units each. */
    static class Database implements Query {
        final FalseTime time;
        final List<String> asked = Collections.synchronizedList(new ArrayList<>());
        volatile Callable<List<List<String>>> answer = () -> lend(-1, 0, 65535, 1000);
        volatile CountDownLatch gate = new CountDownLatch(0);

        Database(FalseTime time) {
            this.time = time;
        }

        List<List<String>> lend(long floor, int first, int last, long until) {
            int partition = 1000 + asked.size();
            return List.of(List.of(String.format("{\"wallHi\": %d, \"partition\": [%d, %d], \"sequenceMax\": %d,"
                + " \"sequenceMin\": %d}", time.unit() + floor, partition >> 8, partition & 255, last, first),
                "" + (time.unit() + until)));
        }

        @Override
        public List<List<String>> run(String sql) throws Exception {
            asked.add(sql);
            gate.await();
            return answer.call();
        }

        /** From now on, blocks of four ids with the metabyte. */
        void giveBlocks(int meta) {
            Loan loan = new Loan(9, 0, 0, 65535, 1000);
            answer = () -> {
                List<List<String>> block = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    loan.next(1);
                    block.add(List.of(loan.id(meta).toString()));
                }
                return block;
            };
        }

        void fail() {
            answer = () -> {
                throw new IOException("the database is away");
            };
        }

        void work() {
            answer = () -> lend(-1, 0, 65535, 1000);
        }
    }

    static FalseTime time;
    static Database database;
    static SnoGenerator ids;

    static void start() {
        time = new FalseTime();
        database = new Database(time);
        ids = time.generator(Loans.from(database));
    }

    static void await(BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new IllegalStateException("it never happened: " + ids.stats());
            }
            Thread.yield();
        }
    }

    static void awaitAttempts(long number) {
        await(() -> ids.stats().taken() + ids.stats().failed() == number);
    }

    static OutOfIdsException out(Callable<?> action) throws Exception {
        try {
            throw new IllegalStateException("not out of ids: " + action.call());
        } catch (OutOfIdsException expected) {
            return expected;
        }
    }

    static void outOfIds(OutOfIdsException.Reason reason, Class<?> cause, String name) throws Exception {
        OutOfIdsException seen = out(ids::next);
        Tap.same(List.of(seen.reason(), String.valueOf(seen.getCause() == null ? null : seen.getCause().getClass())),
            List.of(reason, String.valueOf(cause)), name);
    }

    static final OutOfIdsException.Reason OVER = OutOfIdsException.Reason.OVER;
    static final OutOfIdsException.Reason CLOCK = OutOfIdsException.Reason.CLOCK;
    static final OutOfIdsException.Reason CLOSED = OutOfIdsException.Reason.CLOSED;

    static <T> FutureTask<T> background(Callable<T> action) {
        FutureTask<T> task = new FutureTask<>(action);
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    /** The threads of attempts. */
    static List<Thread> attempts() {
        List<Thread> found = new ArrayList<>(Thread.getAllStackTraces().keySet());
        found.removeIf(thread -> !thread.getName().startsWith("sno"));
        return found;
    }

    /** A thread that has ended its attempt may live on for a moment. */
    static void attempts(int number, String name) {
        await(() -> attempts().size() == number);
        Tap.ok(attempts().stream().allMatch(Thread::isDaemon), name, attempts());
    }

    static void spare() throws Exception {
        start();
        Tap.same(database.asked, List.of(), "nothing is taken before it is needed");
        Sno first = ids.next(7);
        Tap.same(List.of(first.partition(), first.meta(), first.time(), first.sequence()), List.of(1001, 7, time.now(), 0),
            "the first id");
        Tap.same(database.asked, List.of("SELECT snapshot::text, ((extract(epoch FROM until) * 250)::bigint"
            + " - 315576000000)::text FROM sno_borrow_partition('3600000 milliseconds', 65536)"), "the query of a loan");
        time.pass(499);
        ids.next();
        database.gate = new CountDownLatch(1);
        time.pass(1);
        for (int i = 0; i < 10; i++) {
            ids.next();
        }
        await(() -> database.asked.size() == 2);
        attempts(1, "one attempt, in a daemon thread");
        time.pass(2);
        ids.next();
        database.gate.countDown();
        awaitAttempts(2);
        time.pass(498);
        database.gate = new CountDownLatch(1);
        Tap.same(ids.next().partition(), 1001, "the loan is used up to its last unit");
        time.pass(1);
        Sno next = ids.next();
        attempts(0, "no attempt is under way");
        database.gate.countDown();
        Tap.same(List.of(next.partition(), next.meta()), List.of(1002, 0), "the spare loan takes its place");
        Tap.same(database.asked.size(), 2, "it was taken once, at half");
        Tap.same(ids.stats().until(), time.now().plusMillis(4 * 501), "until");
        time.pass(2000);
        Tap.same(ids.next().partition(), 1003, "after a time without calls, the next one");
        Tap.same(ids.stats().toString().replaceAll(", until.*", ""), "issued 16, taken 3, failed 0", "figures");
        ids.close();
        Tap.same(database.asked.size(), 3, "nothing else was taken");
    }

    static void away() throws Exception {
        start();
        Sno last = ids.next();
        database.fail();
        for (int passed = 0; passed < 1000; passed++) {
            time.pass(1);
            last = ids.next();
        }
        Tap.same(List.of(last.partition(), last.time()), List.of(1001, ids.stats().until()),
            "the database is away: ids up to the end of the loan");
        time.pass(1);
        OutOfIdsException seen = out(ids::next);
        Tap.same(List.of(seen.reason(), seen.getCause().getMessage(), seen.until()),
            List.of(OVER, "the database is away", last.time()), "out of ids after it");
        Tap.ok(seen.getMessage().contains(time.now() + ": the loan is from ")
            && seen.getMessage().endsWith(": java.io.IOException: the database is away"), "its message", seen.getMessage());
        Tap.ok(ids.stats().failed() >= 1 && ids.stats().reason().contains("the database is away"), "the figures tell",
            ids.stats());

        start();
        database.fail();
        List<Long> pauses = new ArrayList<>();
        out(ids::next);
        for (int asked = 1; asked < 9; asked++) {
            long pause = 0;
            while (database.asked.size() == asked) {
                time.pass(125); // half a second
                pause++;
                out(ids::next);
            }
            pauses.add(pause);
        }
        Tap.same(pauses, List.of(2L, 4L, 8L, 16L, 32L, 64L, 120L, 120L), "the pauses between attempts grow");
        database.work();
        out(ids::next);
        time.pass(250 * 60);
        Tap.same(ids.next().partition(), 1010, "the database is back");
        time.pass(1001);
        database.fail();
        out(ids::next);
        time.pass(249);
        out(ids::next);
        Tap.same(database.asked.size(), 11, "after a success, the first pause");
        time.pass(1);
        database.work();
        Tap.same(ids.next().partition(), 1012, "is 1 s again");
    }

    /** A source that doesn't answer. */
    static void slow() throws Exception {
        start();
        database.gate = new CountDownLatch(1);
        FutureTask<OutOfIdsException> waiting = background(() -> out(ids::next));
        await(() -> time.waits() > 0);
        time.pass(1250);
        OutOfIdsException seen = waiting.get();
        Tap.same(seen.reason(), OVER, "no answer within 5 s");
        Tap.ok(seen.getMessage().endsWith("the database takes long to answer"), "its message", seen.getMessage());
        long waits = time.waits();
        FutureTask<Sno> later = background(ids::next);
        await(() -> time.waits() > waits);
        database.gate.countDown();
        Tap.same(later.get().partition(), 1001, "the answer comes later");
        Tap.same(database.asked.size(), 1, "there was one attempt");

        time.pass(1001);
        database.gate = new CountDownLatch(1);
        long before = time.waits();
        Thread[] thread = new Thread[1];
        FutureTask<OutOfIdsException> interrupted = background(() -> {
            thread[0] = Thread.currentThread();
            OutOfIdsException error = out(ids::next);
            return Thread.interrupted() ? error : null;
        });
        await(() -> time.waits() > before);
        thread[0].interrupt();
        Tap.same(interrupted.get().getCause().getClass(), InterruptedException.class, "an interrupt ends the wait, and stays");

        FutureTask<OutOfIdsException> closed = background(() -> out(ids::next));
        long soFar = time.waits();
        await(() -> time.waits() > soFar && database.asked.size() == 2);
        ids.close();
        Tap.same(closed.get().reason(), CLOSED, "close() ends the wait");
        attempts(0, "no thread is left");
        Tap.same(ids.stats().failed(), 0L, "an attempt that close() ends did not fail");
        outOfIds(CLOSED, null, "closed");
        Tap.same(out(() -> {
            ids.ready();
            return null;
        }).reason(), CLOSED, "closed: ready()");
        ids.close();

        start();
        database.answer = () -> {
            ids.close();
            return database.lend(-1, 0, 65535, 1000);
        };
        outOfIds(CLOSED, null, "a source that closes its generator");

        start();
        time.pass(1);
        database.answer = () -> {
            List<List<String>> late = database.lend(-1, 0, 65535, 10);
            time.pass(11);
            return late;
        };
        Instant asked = time.now();
        outOfIds(OVER, null, "an attempt that takes longer than the loan lasts");
        Tap.same(ids.stats().reason(), "a new loan, until " + time.now().minusMillis(4) + ", came too late: it was asked for at "
            + asked + ", and now it is " + time.now(), "its reason");
    }

    static void clock() throws Exception {
        for (long late : new long[] {1, 250}) {
            start();
            database.answer = () -> database.lend(late, 0, 65535, 1000);
            long now = time.unit();
            Tap.same(ids.next().time(), time.now(), "the clock is behind a fresh loan: wait");
            Tap.same(time.unit(), now + late + 1, "until the first unit");
        }
        start();
        database.answer = () -> database.lend(251, 0, 65535, 1000);
        outOfIds(CLOCK, null, "the clock is far behind a fresh loan");
        Tap.same(List.of(ids.stats().taken(), ids.stats().failed()), List.of(0L, 1L), "that is a failure");
        database.answer = () -> database.lend(-2000, 0, 65535, -1);
        outOfIds(CLOCK, null, "no attempt before the pause is over");
        Tap.same(database.asked.size(), 1, "none");
        time.pass(250);
        outOfIds(CLOCK, null, "the clock is ahead of a fresh loan");
        Tap.ok(ids.stats().reason().startsWith("the clock shows " + time.now() + ", but the loan is from "), "its reason",
            ids.stats());

        start();
        long now = time.unit();
        ids.next();
        time.set(now + 50);
        ids.next();
        time.set(now + 20);
        Sno back = ids.next();
        Tap.same(List.of(back.partition(), back.tickTock(), back.time()), List.of(1001, true, time.now()),
            "the clock is set back: the other side");
        time.set(now + 10);
        Tap.same(ids.next().partition(), 1002, "it is set back again: the next loan");
        database.fail();
        time.set(now - 5);
        outOfIds(OVER, IOException.class, "it is set back before that one");
        time.set(now + 10);
        Tap.same(ids.next().partition(), 1002, "and is right again");

        start();
        database.answer = () -> database.lend(-1, 64, 65, 1000);
        Set<Sno> some = new HashSet<>();
        now = time.unit();
        for (int i = 0; i < 10; i++) {
            some.add(ids.next());
        }
        Tap.same(List.of(some.size(), time.unit() - now), List.of(10, 4L), "an exhausted unit waits for the next one");
        Thread.currentThread().interrupt();
        ids.next();
        ids.next();
        ids.next();
        Tap.ok(Thread.interrupted(), "also in a thread that was interrupted, and stays so", "no interrupt");
    }

    static void blocks() throws Exception {
        start();
        database.giveBlocks(5);
        Blocks source = Blocks.from(database).count(4).meta(5);
        ids = time.generator(source);
        Tap.same(ids.next().sequence(), 0, "the first id of a block");
        Tap.same(database.asked, List.of("SELECT id::text FROM sno_generate_many(4, 5) AS id"), "the query of a block");
        Tap.same(ids.next(5).sequence(), 1, "its metabyte");
        Tap.refuses(() -> ids.next(0), "another metabyte");
        Tap.refuses(() -> ids.next(256), "no metabyte");
        awaitAttempts(2);
        database.fail();
        time.set(0);
        for (int i = 2; i < 8; i++) {
            Tap.same(ids.next().sequence(), i, "id " + i);
        }
        outOfIds(OVER, IOException.class, "the block is used up");
        Tap.same(ids.stats().toString().replaceAll(", last.*", ""), "issued 8, taken 2, failed 1, until null", "figures");

        start();
        Loan loan = new Loan(9, 1, 0, 65535, 1000);
        database.answer = () -> List.of(List.of(loan.next(2).name().replaceAll("ISSUED", loan.id(5).toString())));
        ids = time.generator(Blocks.from(database).meta(5).count(2));
        outOfIds(OVER, IllegalStateException.class, "fewer ids than wanted");
        ids = time.generator(Blocks.from(database).meta(6).count(1));
        outOfIds(OVER, IllegalStateException.class, "ids with another metabyte");
        database.answer = () -> List.of(List.of("not an id"));
        ids = time.generator(Blocks.from(database).count(1));
        outOfIds(OVER, IllegalArgumentException.class, "what is no id");
    }

    static void ready() throws Exception {
        start();
        ids.ready();
        Tap.same(ids.stats().taken(), 1L, "ready() takes a loan");
        ids.ready(time.now().plusMillis(4 * 1000));
        ids.ready(1_000_000);
        Tap.same(ids.stats().taken(), 1L, "which is enough");
        time.pass(10);
        ids.ready(time.now().plusMillis(4 * 1000));
        Tap.same(ids.stats().taken(), 2L, "ready(until) takes the next one");
        Tap.same(ids.next().partition(), 1001, "and keeps the present one");
        time.pass(10);
        ids.ready(time.now().plusMillis(4 * 1000));
        Tap.same(List.of(ids.stats().taken(), ids.next().partition()), List.of(3L, 1002), "the spare is not enough, either");
        Tap.refuses(() -> {
            ids.ready(time.now().plusSeconds(3601));
            return null;
        }, "ready() for longer than a loan");
        Tap.refuses(() -> {
            ids.ready(Instant.MAX);
            return null;
        }, "ready() for ever");
        Tap.refuses(() -> {
            ids.ready(0);
            return null;
        }, "ready() for no id");
        Tap.same(ids.stats().taken(), 3L, "take nothing");
        ids.ready(Instant.MIN);

        Instant far = time.now().plusSeconds(3000);
        OutOfIdsException seen = out(() -> {
            ids.ready(far);
            return null;
        });
        Tap.ok(seen.reason() == OVER && seen.getMessage().endsWith("is less than what is wanted"),
            "loans that are shorter than wanted", seen.getMessage());
        Tap.same(ids.stats().taken(), 5L, "it doesn't go on");
        database.fail();
        time.pass(1001);
        seen = out(() -> {
            ids.ready();
            return null;
        });
        Tap.same(seen.getCause().getMessage(), "the database is away", "ready() fails");

        start();
        database.giveBlocks(0);
        ids = time.generator(Blocks.from(database).count(4));
        ids.ready(time.now().plusSeconds(9999));
        ids.ready(4);
        Tap.same(ids.stats().taken(), 1L, "one block");
        ids.ready(8);
        Tap.same(ids.stats().taken(), 2L, "and a spare one");
        ids.next();
        ids.ready(7);
        Tap.same(ids.stats().taken(), 2L, "are enough");
        ids.ready(8);
        Tap.same(List.of(ids.stats().taken(), ids.next().sequence()), List.of(3L, 4), "or not");
        Tap.refuses(() -> {
            ids.ready(9);
            return null;
        }, "more than two blocks have");
    }

    static void nonsense() throws Exception {
        List<List<List<String>>> answers = new ArrayList<>();
        String until = "" + (new FalseTime().unit() + 1000);
        String good = "{\"wallHi\": 5, \"partition\": [1, 2], \"sequenceMax\": 9, \"sequenceMin\": 0}";
        for (String snapshot : new String[] {"", "{}", "null", good.replace("wallHi", "wall"), good.replace("5", "-5"),
            good.replace("5", "5.5"), good.replace("5", "99999999999999999999"), good.replace("[1, 2]", "258"),
            good.replace("[1, 2]", "[1]"), good.replace("[1, 2]", "[256, 2]"), good.replace("[1, 2]", "[4294967297, 2]"),
            good.replace("9", "65536"), good.replace("9", "4294967305"), good.replace("0", "10"),
            good.replace("5", "" + (1L << 39))}) {
            answers.add(List.of(List.of(snapshot, until)));
        }
        answers.add(List.of(List.of(good, "5")));
        answers.add(List.of(List.of(good, "" + (1L << 39))));
        answers.add(List.of(List.of(good, "soon")));
        answers.add(List.of(List.of(good)));
        answers.add(List.of());
        answers.add(List.of(List.of(good, until), List.of(good, until)));
        answers.add(Collections.singletonList(Collections.singletonList(null)));
        answers.add(null);
        for (List<List<String>> answer : answers) {
            start();
            database.answer = () -> answer;
            outOfIds(OVER, IllegalStateException.class, "no loan: " + answer);
        }
        List<List<String>> block = List.of(List.of("2222222222222222"), List.of("2222222222222223"));
        ids = SnoGenerator.of(Blocks.from(sql -> block).count(2));
        ids.next();
        ids.next();
        outOfIds(OVER, IllegalStateException.class, "an answer that comes twice");
        Tap.ok(ids.stats().reason().contains("given before"), "why", ids.stats());
        ids.close();
        start();
        database.answer = () -> List.of(List.of(good, until));
        Sno id = ids.next();
        Tap.same(List.of(id.partition(), id.sequence()), List.of(258, 0), "a loan: " + good);
        start();
        database.answer = () -> {
            throw new StackOverflowError();
        };
        outOfIds(OVER, StackOverflowError.class, "a source that raises any error");
        start();
        SnoGenerator own = ids;     // its last query may come when the next test has its generator
        database.answer = () -> List.of(List.of("" + own.next()));
        FutureTask<OutOfIdsException> waiting = background(() -> out(own::next));
        await(() -> time.waits() > 1);
        time.pass(1250);
        Tap.same(waiting.get().reason(), OVER, "a source that needs ids of its generator");
    }

    static void arguments() throws Exception {
        start();
        Loans loans = Loans.from(database);
        for (Duration wrong : new Duration[] {Duration.ZERO, Duration.ofMillis(-4), Duration.ofNanos(3_999_999),
            Duration.ofSeconds(Long.MAX_VALUE), null}) {
            Tap.refuses(() -> loans.duration(wrong), "a loan for " + wrong);
        }
        for (int wrong : new int[] {0, -1, 65537}) {
            Tap.refuses(() -> loans.sequences(wrong), wrong + " sequences");
            Tap.refuses(() -> Blocks.from(database).count(wrong), "a block of " + wrong);
        }
        for (int wrong : new int[] {-1, 256}) {
            Tap.refuses(() -> Blocks.from(database).meta(wrong), "blocks of metabyte " + wrong);
            Tap.refuses(() -> ids.next(wrong), "metabyte " + wrong);
        }
        Tap.refuses(() -> loans.sequences(1).call("service_loan()"), "a call with sequences");
        Tap.refuses(() -> loans.duration(Duration.ofMillis(4)).call("service_loan()"), "a call with a duration");
        Tap.refuses(() -> loans.call("service_loan()").sequences(1), "sequences with a call");
        Tap.refuses(() -> loans.call(" "), "an empty call");
        Tap.refuses(() -> loans.call(null), "no call");
        Tap.refuses(() -> Loans.from((Query) null), "no query");
        Tap.refuses(() -> SnoGenerator.of(null), "no source");
        Tap.refuses(() -> SnoGenerator.of(loans, Duration.ofMillis(-1)), "a wait below 0");
        Tap.refuses(() -> new Loan(65536, 0, 0, 65535, 1), "a wrong partition");
        Tap.refuses(() -> new Loan(0, 0, 1, 0, 1), "no sequence");
        Tap.refuses(() -> new Loan(0, 0, 0, 65535, 1L << 39), "a loan beyond the epoch");
        Tap.same(database.asked, List.of(), "nothing was asked");
        ids = time.generator(loans.duration(Duration.ofNanos(4_500_000)).sequences(64));
        ids.next();
        ids = time.generator(loans.call("service_loan('1 hour')"));
        ids.next();
        Tap.ok(database.asked.get(0).endsWith("FROM sno_borrow_partition('4 milliseconds', 64)")
            && database.asked.get(1).endsWith("::text FROM service_loan('1 hour')"), "queries", database.asked);
    }

    /** With the real clock. */
    static void threads(Loans loans, int each, String name) throws Exception {
        ids = SnoGenerator.of(loans);
        List<FutureTask<List<Sno>>> tasks = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            tasks.add(background(() -> {
                List<Sno> made = new ArrayList<>();
                while (made.size() < each) {
                    made.add(ids.next());
                }
                return made;
            }));
        }
        Set<Sno> all = new HashSet<>();
        for (FutureTask<List<Sno>> task : tasks) {
            all.addAll(task.get());
        }
        Tap.same(all.size(), 8 * each, name);
        ids.close();
    }

    /** A clock that goes wherever it likes, while threads make ids. */
    static void jumps() throws Exception {
        start();
        Map<Integer, List<Long>> loans = new ConcurrentHashMap<>();
        database.answer = () -> {
            int partition = loans.size() % 65536;
            long floor = time.unit() - 5;
            loans.put(partition, List.of(floor, floor + 30));
            return List.of(List.of("{\"wallHi\": " + floor + ", \"partition\": [" + (partition >> 8) + ", "
                + (partition & 255) + "], \"sequenceMin\": 8, \"sequenceMax\": 11}", "" + (floor + 30)));
        };
        AtomicLong left = new AtomicLong(20_000);
        List<FutureTask<List<Sno>>> tasks = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            tasks.add(background(() -> {
                List<Sno> made = new ArrayList<>();
                while (left.get() > 0) {
                    try {
                        made.add(ids.next());
                        left.decrementAndGet();
                    } catch (OutOfIdsException error) {
                        time.pass(250);
                    }
                }
                return made;
            }));
        }
        Random random = new Random(1);
        while (left.get() > 0) {
            time.set(time.unit() + random.nextInt(41) - 20);
            Thread.yield();
        }
        long wrong = 0;
        Set<Sno> all = new HashSet<>();
        for (FutureTask<List<Sno>> task : tasks) {
            for (Sno id : task.get()) {
                List<Long> loan = loans.get(id.partition());
                long unit = id.time().toEpochMilli() / 4 - 315576000000L;
                boolean right = all.add(id) && loan.get(0) < unit && unit <= loan.get(1) && id.sequence() / 4 == 2;
                wrong += right ? 0 : 1;
            }
        }
        Tap.same(wrong, 0L, "a clock that jumps");
        ids.close();
    }

    public static void main(String[] arguments) throws Exception {
        vectors();
        spare();
        away();
        slow();
        clock();
        blocks();
        ready();
        nonsense();
        arguments();
        jumps();

        AtomicLong partition = new AtomicLong();
        Query lend = sql -> List.of(List.of("{\"wallHi\":0,\"partition\":[0," + partition.incrementAndGet()
            + "],\"sequenceMin\":0,\"sequenceMax\":65535}",
            "" + (System.currentTimeMillis() / 4 - 315576000000L + 900000)));
        threads(Loans.from(lend), 50_000, "400,000 ids of 8 threads");
        Tap.same(partition.get(), 1L, "of one loan");
        Tap.done();
    }
}
