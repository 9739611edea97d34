package example.sno;

import java.util.List;

/** Where the ids of a generator come from: {@link Loans} or {@link Blocks}. */
public abstract class Source {
    private final Query query;

    Source(Query query) {
        if (query == null) {
            throw new IllegalArgumentException("a source needs a query");
        }
        this.query = query;
    }

    /** Takes the next loan or block. Time tells when that was. */
    abstract Supply take(Time time) throws Exception;

    /** The metabyte of ids for which the application names none. */
    abstract int meta();

    /** Refuses a metabyte. */
    abstract void checkMeta(int meta);

    /** Refuses to be ready for what it can never give: so many units from now, so many ids. */
    abstract void checkReady(long units, int count);

    /** Do these two last up to a unit, and have so many ids? */
    abstract boolean isEnough(Supply present, Supply spare, long until, int count);

    List<List<String>> run(String sql) throws Exception {
        return query.run(sql);
    }

    Query query() {
        return query;
    }

    static long between(String what, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(what + " is " + least + " to " + most + ", not " + value);
        }
        return value;
    }
}
