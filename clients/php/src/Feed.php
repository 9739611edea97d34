<?php

declare(strict_types=1);

namespace Sno;

use PDO;
use PDOException;

/**
 * Reads the rows of a feed of the extension sno_feeds, as one of its readers.  Each batch of rows is leased to it,
 * and acknowledged when the loop asks for the next one.  Each statement is a transaction of its own.
 *
 * @implements \IteratorAggregate<int, FeedBatch>
 */
final class Feed implements \IteratorAggregate
{
    private const WAIT = '5 seconds'; // of one statement
    private const FIRST_PAUSE = 100_000; // us after an error
    private const LAST_PAUSE = 5_000_000; // after many
    /**
     * A connection is lost or refused, the server is a standby, or the statement should be run again.  HY000 is an
     * error of libpq.
     */
    private const TRANSIENT = '/\A(08...|57P0[1-5]|53300|25006|40001|40P01|HY000)\z/';

    private readonly \Closure $connect;
    private readonly \Closure $onError;
    private ?PDO $connection = null;
    private bool $stopped = false;

    /** The qualified name */
    private ?string $table = null;

    /** The leased rows */
    private ?FeedBatch $batch = null;
    private mixed $fence;

    /** ns: when the lease began or was extended, or earlier */
    private int $since;

    /**
     * A feed is a table, whose name is written as in SQL.  Times are in seconds: the lease of a batch, and the
     * time until a row that failed comes again.
     *
     * @param callable(): PDO $connect opens a connection
     * @param ?callable(PDOException): mixed $onError gets the errors after which the feed goes on
     */
    public function __construct(
        callable $connect,
        private readonly string $feed,
        private readonly string $reader,
        private readonly int $maxRows = 1000,
        private readonly int|float $lease = 60,
        private readonly int|float $retryAfter = 1,
        ?callable $onError = null,
    ) {
        $this->connect = $connect(...);
        $this->onError = ($onError ?? fn (PDOException $error): bool =>
            error_log("sno: feed $feed, reader $reader: " . $error->getMessage()))(...);
    }

    /** The batches, until the feed is stopped. */
    public function getIterator(): \Generator
    {
        try {
            while (!$this->stopped) {
                if ($this->take()) {
                    yield $this->batch;
                    if ($this->batch !== null) {
                        $batch = $this->batch;
                        $this->batch = null;
                        $this->runLeased(...$this->ending($batch));
                    }
                } elseif (!$this->stopped) {
                    $this->run('CALL sno_feed_wait(?::text::regclass, ?, ?)', $this->table, $this->reader, self::WAIT);
                }
            }
        } finally {
            if ($this->batch !== null) {
                $this->giveBack();
            }
            $this->connection = null;
        }
    }

    /** Ends the loop after the present batch, at the latest after 5 s.  The handler of a signal may call it. */
    public function stop(): void
    {
        $this->stopped = true;
    }

    /** Leases the next rows, if there are any. */
    private function take(): bool
    {
        $this->table ??= $this->run("SELECT pg_catalog.format('%s.%I', relnamespace::pg_catalog.regnamespace, relname)
                AS name FROM pg_catalog.pg_class WHERE oid = ?::pg_catalog.text::pg_catalog.regclass",
            $this->feed)[0]['name'] ?? null;
        if ($this->table === null) {
            return false;
        }
        $since = hrtime(true);
        // Columns of the table may have the names of the first four.
        $found = $this->run(
            'SELECT part AS "sno_feed_take.part", fence AS "sno_feed_take.fence", id AS "sno_feed_take.id",
                 deleted AS "sno_feed_take.deleted", (item).*' .
            " FROM sno_feed_take(NULL::$this->table, ?, ?, ?)",
            $this->reader,
            $this->maxRows,
            "$this->lease seconds",
        );
        $rows = [];
        foreach ($found as $columns) {
            [$part, $this->fence, $id, $deleted] = array_values(array_slice($columns, 0, 4));
            $rows[] = new FeedRow($id, (bool) $deleted, array_slice($columns, 4, null, true));
        }
        if ($rows === []) {
            return false;
        }
        $this->since = $since;
        $this->batch = new FeedBatch($rows, (int) $part, $this->isLeased(...), $this->retryAfter);
        return true;
    }

    /** Before rows other than the first, the lease is extended if more than half of it has passed. */
    private function isLeased(FeedBatch $batch, int $index): bool
    {
        $now = hrtime(true);
        if ($this->batch === $batch && $index > 0 && $now - $this->since > $this->lease / 2 * 1e9) {
            $this->since = $now;
            if (!$this->runLeased('sno_feed_extend(?::text::regclass, ?, ?, ?, ?)', $batch, "$this->lease seconds")) {
                $this->batch = null;
            }
        }
        return $this->batch === $batch;
    }

    /** @return array{string, FeedBatch, ...} the call that ends the lease, and its arguments */
    private function ending(FeedBatch $batch): array
    {
        return $batch->failure === null
            ? ['sno_feed_done(?::text::regclass, ?, ?, ?)', $batch]
            : ['sno_feed_fail(?::text::regclass, ?, ?, ?, ?, ?, ?)', $batch, ...$batch->failure];
    }

    /** The loop was left.  No row is to blame, unless one failed before. */
    private function giveBack(): void
    {
        $batch = $this->batch;
        $this->batch = null;
        $batch->fail(null, null, 0);
        [$call, , $id, $error, $retryAfter] = $this->ending($batch);
        try {
            $this->runOnce(
                "SELECT $call",
                [$this->table, $this->reader, $batch->part, $this->fence, $id, $error, $retryAfter],
            );
        } catch (PDOException $error) {
            ($this->onError)($error);
        }
    }

    /**
     * Makes a call that needs the lease of the batch, and returns false if it was lost.  After a connection was lost,
     * the first call may have ended the lease.
     */
    private function runLeased(string $call, FeedBatch $batch, ?string ...$more): bool
    {
        try {
            $this->run("SELECT $call", $this->table, $this->reader, $batch->part, $this->fence, ...$more);
            return true;
        } catch (PDOException $error) {
            if (self::state($error) !== '55P03') {
                throw $error;
            }
            ($this->onError)($error);
            return false;
        }
    }

    /**
     * The rows of a statement, which is run again and again while the server is away, or none if the feed is stopped
     * meanwhile.
     */
    private function run(string $sql, mixed ...$values): array
    {
        for ($pause = self::FIRST_PAUSE;; $pause = min(2 * $pause, self::LAST_PAUSE)) {
            try {
                return $this->runOnce($sql, $values);
            } catch (PDOException $error) {
                if (!preg_match(self::TRANSIENT, self::state($error))) {
                    throw $error;
                }
                $this->connection = null;
                ($this->onError)($error);
            }
            if ($this->stopped) {
                return [];
            }
            usleep(random_int(intdiv($pause, 2), $pause));
        }
    }

    private function runOnce(string $sql, array $values): array
    {
        if ($this->connection === null) {
            $this->connection = ($this->connect)();
            $this->connection->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
        }
        // One message, which names no statement of the session
        $statement = $this->connection->prepare($sql, [PDO::ATTR_EMULATE_PREPARES => true]);
        $statement->execute($values);
        return $statement->fetchAll(PDO::FETCH_ASSOC);
    }

    private static function state(PDOException $error): string
    {
        return $error->errorInfo[0] ?? '';
    }
}
