package example.sno;

import java.time.Instant;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/** The clocks of a generator, and how it waits. Tests have another time. */
class Time {
    private static final long UNIT = Sno.UNIT * 1_000_000; // ns

    /** The unit that the clock shows. */
    long unit() {
        return Math.floorDiv(System.currentTimeMillis(), Sno.UNIT) - Sno.EPOCH;
    }

    /** A clock that nobody sets, in ns. */
    long nanos() {
        return System.nanoTime();
    }

    /** Waits until the unit is over, or less. */
    void awaitEnd(long unit) {
        Instant now = Instant.now();
        if (Sno.unit(now) == unit) {
            LockSupport.parkNanos(UNIT - now.getNano() % UNIT);
        }
    }

    /** Waits for the condition so long, or less. */
    void await(Condition condition, long nanos) throws InterruptedException {
        condition.awaitNanos(nanos);
    }
}
