package example.sno;

import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;

/** Where the ids of a generator come from: {@link Loans} or {@link Blocks}. */
public abstract class Source {
    private static final int REMEMBERED = 16;

    private final Query query;
    private final Deque<List<String>> given = new ConcurrentLinkedDeque<>(); // first rows of answers

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

    /** The answer of the query. A cache that gives one again would let ids come twice. */
    List<List<String>> run(String sql) throws Exception {
        List<List<String>> rows = query.run(sql);
        if (rows == null || rows.isEmpty()) {
            return rows;
        }
        if (given.contains(rows.get(0))) {
            throw new IllegalStateException("the query gave an answer that it had given before: "
                + Sno.quoted(rows.get(0).toString()));
        }
        given.add(rows.get(0));
        if (given.size() > REMEMBERED) {
            given.remove();
        }
        return rows;
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
