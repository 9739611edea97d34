package example.sno;

/**
 * The sequences of a partition that are on loan, up to a time. It has no clock: the caller tells the unit of 4 ms
 * since 2010-01-01 UTC. Only one thread at a time may use it.
 */
public final class Loan {
    /** What next() says. */
    public enum Step {
        /** id() is a new id. */
        ISSUED,
        /** The sequences of this unit are used up. */
        WAIT,
        /** The clock was set back, and both sides were used at that time. */
        BEHIND,
        /** The unit is after the end of the loan. */
        OVER
    }

    private final int partition;
    private final int first;
    private final int last;
    private final long until;

    // The last unit and sequence of each side.
    private final long[] units;
    private final int[] sequences;
    private int side = 0;

    /**
     * All ids are of units after the floor up to until, and of the sequences from first to last.
     */
    public Loan(int partition, long floor, int first, int last, long until) {
        this.partition = (int) Source.between("the partition", partition, 0, 65535);
        this.first = (int) Source.between("the first sequence", first, 0, 65535);
        this.last = (int) Source.between("the last sequence", last, first, 65535);
        this.until = Source.between("the end of the loan", until, 0, Sno.LAST_UNIT);
        units = new long[] {Source.between("the floor", floor, 0, Sno.LAST_UNIT), floor};
        sequences = new int[] {last, last};
    }

    /** What next() would say. */
    Step peek(long unit) {
        if (unit > until) {
            return Step.OVER;
        }
        if (unit == units[side]) {
            return sequences[side] < last ? Step.ISSUED : Step.WAIT;
        }
        return unit > units[side] || unit > units[1 - side] ? Step.ISSUED : Step.BEHIND;
    }

    /** Makes an id, if the loan has one for the unit that the clock shows. */
    public Step next(long unit) {
        Step step = peek(unit);
        if (step == Step.ISSUED) {
            if (unit < units[side]) {
                side = 1 - side;
            }
            sequences[side] = unit == units[side] ? sequences[side] + 1 : first;
            units[side] = unit;
        }
        return step;
    }

    /** The id that next() made, with a metabyte from 0 to 255. */
    public Sno id(int meta) {
        return Sno.of(units[side], side, meta, partition, sequences[side]);
    }

    long until() {
        return until;
    }
}
