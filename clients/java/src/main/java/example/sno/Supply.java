package example.sno;

import java.time.Instant;

/** What a source gave, a loan or a block; this one is nothing. Only one thread at a time may use it. */
class Supply {
    static final Supply NONE = new Supply();

    /** What next() would say at that unit of the clock. */
    Loan.Step peek(long unit) {
        return Loan.Step.OVER;
    }

    Loan.Step next(long unit) {
        return peek(unit);
    }

    /** The id that next() made. */
    Sno id(int meta) {
        throw new IllegalStateException("no id was made");
    }

    boolean isHalfUsed(long unit) {
        return true;
    }

    /** The last unit of a loan, or how many ids of a block are left. */
    long reach() {
        return 0;
    }

    /** When a loan ends, or null. */
    Instant until() {
        return null;
    }

    @Override
    public String toString() {
        return "nothing was taken yet";
    }

    boolean isUsable(long unit) {
        Loan.Step step = peek(unit);
        return step == Loan.Step.ISSUED || step == Loan.Step.WAIT;
    }
}
