package example.sno;

import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** Takes blocks of ids that the database makes. Any role that may generate ids may do so. It is immutable. */
public final class Blocks extends Source {
    private final int count;
    private final int meta;

    private Blocks(Query query, int count, int meta) {
        super(query);
        this.count = count;
        this.meta = meta;
    }

    /** Blocks of 500 ids with the metabyte 0. */
    public static Blocks from(Query query) {
        return new Blocks(query, 500, 0);
    }

    /** Blocks of 500 ids with the metabyte 0. */
    public static Blocks from(DataSource dataSource) {
        return from(Query.of(dataSource::getConnection));
    }

    /** Blocks of so many ids: 1 to 65536. */
    public Blocks count(int wanted) {
        return new Blocks(query(), (int) between("the number of ids", wanted, 1, 65536), meta);
    }

    /** Blocks of ids with this metabyte. */
    public Blocks meta(int wanted) {
        return new Blocks(query(), count, (int) between("a metabyte", wanted, 0, 255));
    }

    @Override
    Supply take(Time time) throws Exception {
        List<List<String>> rows = run("SELECT id::text FROM sno_generate_many(" + count + ", " + meta + ") AS id");
        List<Sno> ids = new ArrayList<>();
        for (List<String> row : rows) {
            Sno id = Sno.parse(row.get(0));
            if (id.meta() != meta) {
                throw new IllegalStateException("the database returned an id of another metabyte: " + id);
            }
            ids.add(id);
        }
        if (ids.size() != count) {
            throw new IllegalStateException("the database returned " + ids.size() + " ids, not " + count);
        }
        return new Block(ids);
    }

    @Override
    int meta() {
        return meta;
    }

    @Override
    void checkMeta(int wanted) {
        if (wanted != meta) {
            throw new IllegalArgumentException("the ids of the block have the metabyte " + meta + ", not " + wanted);
        }
    }

    @Override
    void checkReady(long units, int wanted) {
        between("the number of ids", wanted, 1, 2 * count);
    }

    @Override
    boolean isEnough(Supply present, Supply spare, long until, int wanted) {
        return present.reach() + spare.reach() >= wanted;
    }

    private static final class Block extends Supply {
        private final List<Sno> ids;
        private int used = 0;

        Block(List<Sno> ids) {
            this.ids = ids;
        }

        @Override
        Loan.Step peek(long unit) {
            return used < ids.size() ? Loan.Step.ISSUED : Loan.Step.OVER;
        }

        @Override
        Loan.Step next(long unit) {
            Loan.Step step = peek(unit);
            if (step == Loan.Step.ISSUED) {
                used++;
            }
            return step;
        }

        @Override
        Sno id(int meta) {
            return ids.get(used - 1);
        }

        @Override
        boolean isHalfUsed(long unit) {
            return used >= ids.size() - used;
        }

        @Override
        long reach() {
            return ids.size() - used;
        }

        @Override
        public String toString() {
            return "the block has " + reach() + " ids left";
        }
    }
}
