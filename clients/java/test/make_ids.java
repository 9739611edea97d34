// In an empty folder: .../run_java .../make_ids.java FILE SECONDS
//
// Makes ids in 4 threads, and appends to FILE what it took and made: "loan PID PARTITION
// FLOOR FIRST LAST UNTIL" before the first id of the loan, "id PID ID" for its ids, and
// "made PID ID" for those of blocks.  Loans are of MAKE_IDS_DURATION ms and
// MAKE_IDS_SEQUENCES sequences, and longer if the machine is so busy that one came too late.
// Every 10th generator takes blocks.

import example.sno.Blocks;
import example.sno.Loans;
import example.sno.OutOfIdsException;
import example.sno.Query;
import example.sno.SnoGenerator;
import example.sno.Source;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class Main {
    static final long PID = ProcessHandle.current().pid();
    static final Query QUERY = Query.of(() -> Tap.connect(System.getenv("PGDATABASE"), ""));
    static final AtomicLong made = new AtomicLong();
    static final AtomicLong outOfIds = new AtomicLong();

    static volatile boolean late = false;
    static FileOutputStream file;

    static void append(CharSequence lines) throws IOException {
        file.write(lines.toString().getBytes(StandardCharsets.US_ASCII));
    }

    static String key(String snapshot, String name) {
        Matcher value = Pattern.compile("\"" + name + "\": \\[?(\\d+)(?:, (\\d+)\\])?").matcher(snapshot);
        value.find();
        return value.group(2) == null ? value.group(1)
            : "" + (Integer.parseInt(value.group(1)) << 8 | Integer.parseInt(value.group(2)));
    }

    static List<List<String>> borrow(String sql) throws Exception {
        List<List<String>> rows = QUERY.run(sql);
        String snapshot = rows.get(0).get(0);
        append("loan " + PID + " " + key(snapshot, "partition") + " " + key(snapshot, "wallHi") + " "
            + key(snapshot, "sequenceMin") + " " + key(snapshot, "sequenceMax") + " " + rows.get(0).get(1) + "\n");
        return rows;
    }

    static int option(String name, int byDefault) {
        String value = System.getenv(name);
        return value == null ? byDefault : Integer.parseInt(value);
    }

    /** About 1000 ids a second. */
    static void make(SnoGenerator ids, String kind, long end) {
        try {
            while (System.nanoTime() - end < 0) {
                StringBuilder lines = new StringBuilder();
                try {
                    for (int i = 0; i < 50; i++) {
                        lines.append(kind).append(' ').append(PID).append(' ').append(ids.next()).append('\n');
                        made.incrementAndGet();
                    }
                } catch (OutOfIdsException error) {
                    lines.setLength(lines.lastIndexOf("\n") + 1);
                    outOfIds.incrementAndGet();
                    late |= error.getMessage().contains("came too late");
                }
                append(lines);
                TimeUnit.MILLISECONDS.sleep(50);
            }
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        file = new FileOutputStream(arguments[0], true);
        Loans loans = Loans.from(Main::borrow).sequences(option("MAKE_IDS_SEQUENCES", 64));
        Duration duration = Duration.ofMillis(option("MAKE_IDS_DURATION", 100));
        Source blocks = Blocks.from(QUERY).count(200);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[1]));
        for (int number = 1; System.nanoTime() - end < 0; number++) {
            if (late && duration.compareTo(Duration.ofDays(1)) < 0) {
                duration = duration.multipliedBy(2);
            }
            late = false;
            boolean fromBlocks = number % 10 == 0;
            long change = Math.min(end, System.nanoTime() + TimeUnit.SECONDS.toNanos(1));
            try (SnoGenerator ids = SnoGenerator.of(fromBlocks ? blocks : loans.duration(duration))) {
                Thread[] threads = new Thread[4];
                for (int i = 0; i < threads.length; i++) {
                    threads[i] = new Thread(() -> make(ids, fromBlocks ? "made" : "id", change));
                    threads[i].start();
                }
                for (Thread thread : threads) {
                    thread.join();
                }
            }
        }
        System.out.println(made + " ids, " + outOfIds + " times out of ids");
    }
}
