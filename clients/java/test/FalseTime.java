package example.sno;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.Condition;

/** Clocks that only the test moves, and waits for the end of a unit. */
public final class FalseTime extends Time {
    private volatile long unit = 133331580000L;
    private volatile long nanos = -1_000_000_000L;
    private volatile long waits = 0;

    public SnoGenerator generator(Source source) {
        return new SnoGenerator(source, Duration.ofSeconds(5), this);
    }

    @Override
    public long unit() {
        return unit;
    }

    @Override
    long nanos() {
        return nanos;
    }

    public Instant now() {
        return Sno.time(unit);
    }

    /** Both clocks go on. */
    public synchronized void pass(long units) {
        unit += units;
        nanos += units * Sno.UNIT * 1_000_000;
    }

    /** The clock of the day is set. */
    public void set(long to) {
        unit = to;
    }

    @Override
    synchronized void awaitEnd(long of) {
        if (unit == of) {
            pass(1);
        }
    }

    /** How often a thread began or went on to wait for an attempt. */
    public long waits() {
        return waits;
    }

    @Override
    void await(Condition condition, long left) throws InterruptedException {
        waits++;
        condition.awaitNanos(1_000_000);
    }
}
