package example.sno;

import java.time.Instant;

/** A generator has no id now. The cause is the error of the source, if it had one. */
public final class OutOfIdsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Why there is none. */
    public enum Reason {
        /** The loan is over, or the block is used up, and the source failed or is slow. */
        OVER,
        /** The clock isn't within a loan that was just taken. */
        CLOCK,
        /** The generator was closed. */
        CLOSED
    }

    private final Reason reason;
    private final Instant until;

    OutOfIdsException(Reason reason, Instant until, String message, Throwable cause) {
        super(message, cause);
        this.reason = reason;
        this.until = until;
    }

    public Reason reason() {
        return reason;
    }

    /** When the last loan ended or will end, or null. */
    public Instant until() {
        return until;
    }
}
