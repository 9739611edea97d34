// In an empty folder: .../run_java .../bench_next.java
//
// Prints ns per id, of SnoGenerator.next() and of UUID.randomUUID(), by one thread and by
// four: medians of five rounds, one beside the other.

import example.sno.Loans;
import example.sno.SnoGenerator;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;

class Main {
    static final int NUMBER = 2_000_000;

    static volatile Object last;

    static double round(Supplier<?> make, int threads) throws InterruptedException {
        Thread[] all = new Thread[threads];
        long start = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(() -> {
                Object id = null;
                for (int n = 0; n < NUMBER / threads; n++) {
                    id = make.get();
                    if (n % 256 == 0) {
                        last = id;
                    }
                }
            });
            all[i].start();
        }
        for (Thread thread : all) {
            thread.join();
        }
        return (double) (System.nanoTime() - start) / NUMBER;
    }

    static double[] medians(List<Supplier<?>> makers, int threads) throws InterruptedException {
        double[][] times = new double[makers.size()][5];
        for (int round = -1; round < 5; round++) { // the first one warms up
            for (int i = 0; i < makers.size(); i++) {
                times[i][Math.max(round, 0)] = round(makers.get(i), threads);
            }
        }
        return Arrays.stream(times).mapToDouble(of -> Arrays.stream(of).sorted().toArray()[2]).toArray();
    }

    public static void main(String[] arguments) throws Exception {
        // One loan for an hour, of a partition that nobody else uses.
        String until = "" + (System.currentTimeMillis() / 4 - 315576000000L + 900000);
        try (SnoGenerator ids = SnoGenerator.of(Loans.from(sql -> List.of(List.of(
            "{\"wallHi\":0,\"partition\":[0,1],\"sequenceMin\":0,\"sequenceMax\":65535}", until))))) {
            List<Supplier<?>> makers = List.of(ids::next, UUID::randomUUID);
            double[] one = medians(makers, 1);
            double[] four = medians(makers, 4);
            System.out.printf("ns per id: next() %.0f, uuid v4 %.0f; 4 threads: next() %.0f, uuid v4 %.0f%n", one[0], one[1],
                four[0], four[1]);
        }
    }
}
