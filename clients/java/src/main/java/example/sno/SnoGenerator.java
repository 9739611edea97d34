package example.sno;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes ids of the loans or blocks that its source takes. Threads may share it, and an application needs one. A
 * daemon thread takes the next loan or block while the present one lasts, and ends when it has it.
 */
public final class SnoGenerator implements AutoCloseable {
    private static final Duration DEFAULT_WAIT = Duration.ofSeconds(5);
    private static final long FIRST_PAUSE = TimeUnit.SECONDS.toNanos(1);
    private static final long LONGEST_PAUSE = TimeUnit.SECONDS.toNanos(60);

    private final Source source;
    private final long wait; // ns
    private final Time time;

    // The lock protects all that follows. Threads wait for a change of attempt or closed.
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition change = lock.newCondition();
    private Supply present = Supply.NONE;
    private Supply spare = Supply.NONE;
    private Thread attempt = null; // to take the next one; null: none is under way
    private boolean closed = false;

    // Since the last success: the pause before the next attempt, and why the last one failed.
    private long pause = 0; // ns
    private long failedAt;
    private OutOfIdsException.Reason reason = OutOfIdsException.Reason.OVER;
    private Throwable error = null;

    private long issued = 0;
    private long taken = 0;
    private long failed = 0;
    private String failure = null;

    SnoGenerator(Source source, Duration wait, Time time) {
        if (source == null || wait.isNegative()) {
            throw new IllegalArgumentException("a generator needs a source, and waits for 0 or longer");
        }
        this.source = source;
        this.wait = TimeUnit.NANOSECONDS.convert(wait);
        this.time = time;
    }

    /** Nothing is taken yet. next() waits for the database for 5 s at most. */
    public static SnoGenerator of(Source source) {
        return of(source, DEFAULT_WAIT);
    }

    /** Nothing is taken yet. next() waits for the database so long at most. */
    public static SnoGenerator of(Source source, Duration wait) {
        return new SnoGenerator(source, wait, new Time());
    }

    /**
     * A new id, with the metabyte of the block, or 0.
     *
     * @throws OutOfIdsException if there is none
     */
    public Sno next() {
        return make(source.meta());
    }

    /** The same with a metabyte. A block has only ids with its own. */
    public Sno next(int meta) {
        source.checkMeta(meta);
        return make(meta);
    }

    private Sno make(int meta) {
        lock.lock();
        try {
            for (long left = wait;;) {
                checkOpen();
                long unit = time.unit();
                Loan.Step step = present.next(unit);
                if (step == Loan.Step.ISSUED) {
                    issued++;
                    if (present.isHalfUsed(unit) && spare == Supply.NONE && isDue()) {
                        start();
                    }
                    return present.id(meta);
                } else if (step == Loan.Step.WAIT) {
                    awaitEnd(unit);
                } else if (spare != Supply.NONE) {
                    useSpare();
                } else {
                    left = awaitAttempt(left);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits for a loan or a block. */
    public void ready() {
        ready(0, 1);
    }

    /** Waits for a loan that lasts until then. A block lasts for ever. */
    public void ready(Instant until) {
        ready(Sno.unit(until), 1);
    }

    /** Waits for a block that, with the spare one, has so many ids. A loan has them. */
    public void ready(int count) {
        ready(0, count);
    }

    private void ready(long until, int count) {
        source.checkReady(until - time.unit(), count);
        lock.lock();
        try {
            long most = taken + 2; // for a block and its spare
            for (long left = wait;;) {
                checkOpen();
                if (present.isUsable(time.unit()) && source.isEnough(present, spare, until, count)) {
                    return;
                } else if (spare != Supply.NONE) {
                    useSpare();
                } else if (taken < most) {
                    left = awaitAttempt(left);
                } else {
                    throw outOfIds(OutOfIdsException.Reason.OVER, "what was just taken is less than what is wanted",
                        null);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void useSpare() {
        present = spare;
        spare = Supply.NONE;
    }

    /** Waits without the lock. */
    private void awaitEnd(long unit) {
        lock.unlock();
        try {
            time.awaitEnd(unit);
        } finally {
            lock.lock();
        }
    }

    /** Waits for the attempt, which it starts if there is none. Returns how much time is left of what it has. */
    private long awaitAttempt(long left) {
        if (attempt == null) {
            if (!isDue()) {
                throw outOfIds(reason, "the last attempt to take the next one failed: " + failure, error);
            }
            start();
        }
        if (left <= 0) {
            throw outOfIds(OutOfIdsException.Reason.OVER, "the database takes long to answer", error);
        }
        long before = time.nanos();
        try {
            if (attempt != null) {
                time.await(change, left);
            }
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
            throw outOfIds(OutOfIdsException.Reason.OVER, "the thread was interrupted while it waited", interrupt);
        }
        return left - (time.nanos() - before);
    }

    /** No attempt is under way, and the pause after a failure is over. */
    private boolean isDue() {
        return attempt == null && (pause == 0 || time.nanos() - failedAt >= pause);
    }

    private void start() {
        attempt = new Thread(this::take, "sno: takes ids");
        attempt.setDaemon(true);
        try {
            attempt.start();
        } catch (Throwable noThread) {
            end(Supply.NONE, noThread, 0);
        }
    }

    private void take() {
        Supply next = Supply.NONE;
        Throwable caught = null;
        long asked = time.unit();
        try {
            next = source.take(time);
        } catch (Throwable raised) {
            caught = raised;
        }
        lock.lock();
        try {
            end(next, caught, asked);
        } finally {
            lock.unlock();
        }
    }

    /** The attempt gave the next one, which it asked for in that unit, or an error. */
    private void end(Supply next, Throwable caught, long asked) {
        long unit = time.unit();
        attempt = null;
        change.signalAll();
        if (closed) {
            return;
        }
        if (caught == null && next.isUsable(unit)) {
            spare = next;
            taken++;
            pause = 0;
            error = null;
            return;
        }
        failed++;
        failedAt = time.nanos();
        pause = pause == 0 ? FIRST_PAUSE : Math.min(2 * pause, LONGEST_PAUSE);
        error = caught;
        boolean late = asked <= next.reach() && next.reach() < unit;
        reason = caught == null && !late ? OutOfIdsException.Reason.CLOCK : OutOfIdsException.Reason.OVER;
        failure = caught != null ? caught.toString()
            : late ? "a new loan, until " + next.until() + ", came too late: it was asked for at " + Sno.time(asked)
                + ", and now it is " + Sno.time(unit)
            : "the clock shows " + Sno.time(unit) + ", but " + next;
    }

    private void checkOpen() {
        if (closed) {
            throw outOfIds(OutOfIdsException.Reason.CLOSED, "the generator was closed", null);
        }
    }

    private OutOfIdsException outOfIds(OutOfIdsException.Reason why, String what, Throwable cause) {
        return new OutOfIdsException(why, present.until(),
            "no id at " + Sno.time(time.unit()) + ": " + present + "; " + what, cause);
    }

    /** What has happened since the start. */
    public Stats stats() {
        lock.lock();
        try {
            return new Stats(issued, taken, failed, present.until(), failure);
        } finally {
            lock.unlock();
        }
    }

    /** Figures of a moment. */
    public static final class Stats {
        private final long issued;
        private final long taken;
        private final long failed;
        private final Instant until;
        private final String failure;

        private Stats(long issued, long taken, long failed, Instant until, String failure) {
            this.issued = issued;
            this.taken = taken;
            this.failed = failed;
            this.until = until;
            this.failure = failure;
        }

        /** How many ids were made. */
        public long issued() {
            return issued;
        }

        /** How many loans or blocks were taken. */
        public long taken() {
            return taken;
        }

        /** How many attempts to take one failed. */
        public long failed() {
            return failed;
        }

        /** When the present loan ends, or null. */
        public Instant until() {
            return until;
        }

        /** Why the last attempt that failed did so, or null. */
        public String reason() {
            return failure;
        }

        @Override
        public String toString() {
            return "issued " + issued + ", taken " + taken + ", failed " + failed + ", until " + until
                + ", last failure: " + failure;
        }
    }

    /**
     * No more ids. An attempt that is under way is interrupted, and its result thrown away. This waits for its end as
     * long as next() would.
     */
    @Override
    public void close() {
        Thread last;
        lock.lock();
        try {
            closed = true;
            present = spare = Supply.NONE;
            last = attempt;
            change.signalAll();
        } finally {
            lock.unlock();
        }
        if (last == null || last == Thread.currentThread()) {
            return;
        }
        last.interrupt();
        try {
            TimeUnit.NANOSECONDS.timedJoin(last, wait);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }
}
