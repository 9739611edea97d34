<?php

// Feeds: the example of clients/php/README.md, and readers that fail, are late, or lose their connections.

declare(strict_types=1);

require __DIR__ . '/tap.php';

use Sno\{Feed, FeedBatch, FeedRow};

extension_loaded('pdo_pgsql') || skip_all('no pdo_pgsql');

// Names that need quotes
const TABLE = '"Out ""box"';
const READER = "o'neil\\";
const PLACES = '"Out ""box_readers"';

$database = new PDO('pgsql:');

/** The first column of the first row. */
function value(string $sql, mixed ...$values): mixed
{
    global $database;
    $statement = $database->prepare($sql);
    $statement->execute($values);
    return $statement->columnCount() > 0 ? $statement->fetchColumn() : null;
}

function insert(string ...$messages): void
{
    foreach ($messages as $message) {
        value('INSERT INTO ' . TABLE . ' (message) VALUES (?)', $message);
    }
}

/** Returns when readers can have the rows. */
function settle(): void
{
    while (!value('SELECT max(id) < (SELECT sno_watermark()) FROM ' . TABLE)) {
        usleep(1000);
    }
}

/** Replaces the rows, and creates the reader again. */
function restart(string ...$messages): void
{
    value('TRUNCATE ' . TABLE);
    value('SELECT sno_feed_drop_reader(?, ?)', TABLE, READER);
    value('SELECT sno_feed_create_reader(?, ?, max_tries => 2)', TABLE, READER);
    insert(...$messages);
    settle();
}

/** The state of the reader's place, without part -1. */
function state(): string
{
    return value("SELECT CASE WHEN upto IS NOT NULL THEN 'leased'
            WHEN position > (SELECT max(id) FROM " . TABLE . ") THEN 'all done' ELSE 'free' END || ', tries: ' || tries
        FROM " . PLACES . ' WHERE reader = ? AND part = 0', READER);
}

function feed(mixed ...$options): Feed
{
    return new Feed(...$options + [
        'connect' => fn () => new PDO('pgsql:'),
        'feed' => TABLE,
        'reader' => READER,
        'retryAfter' => 0,
        'onError' => fn (PDOException $error) => throw new LogicException('an error', 0, $error),
    ]);
}

function messages(FeedBatch $batch): string
{
    return implode(' ', array_map(fn (FeedRow $row) => $row->item['message'], $batch->rows));
}

/** A process runs the command when a reader waits. */
function whenWaiting(string $command): void
{
    global $process;
    $waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
        AND query LIKE 'CALL sno_feed_wait(%'";
    $shell = 'until [ "$(psql -XAtc "$0")" = 1 ]; do sleep 0.01; done; ' . $command;
    $process = proc_open(['sh', '-c', $shell, $waits], [], $pipes);
}

/** The backends of readers are terminated. */
function terminate(): void
{
    $fed = "FROM pg_stat_activity WHERE application_name = 'fed'";
    value("SELECT count(pg_terminate_backend(pid)) $fed");
    while (value("SELECT count(*) $fed") > 0) {
        usleep(1000);
    }
}

value('CREATE EXTENSION sno_feeds');

// README's example
value('CREATE TABLE outbox (id sno PRIMARY KEY DEFAULT sno_generate(), message text NOT NULL)');
value("SELECT sno_feed_create('outbox')");
value("SELECT sno_feed_create_reader('outbox', 'mail')");
value("INSERT INTO outbox (message) SELECT 'mail ' || n FROM generate_series(1, 3) AS n");
$sent = [];
function send(string $message): void
{
    global $sent;
    if ($message === 'mail 2' && count($sent) === 1) {
        $sent[] = 'failed';
        throw new RuntimeException('mailbox full');
    }
    $sent[] = $message;
    if ($message === 'mail 3') {
        posix_kill(getmypid(), SIGTERM);
    }
}
eval(example('feed'));
same($sent, ['mail 1', 'failed', 'mail 2', 'mail 3'], "README's example");
same(value("SELECT position > (SELECT max(id) FROM outbox) FROM outbox_readers
    WHERE reader = 'mail' AND part = 0"), true, 'all is acknowledged');

value('CREATE TABLE ' . TABLE . " (id sno PRIMARY KEY DEFAULT sno_generate(), part text DEFAULT 'mine',
    fence integer DEFAULT 7, deleted text DEFAULT 'no', message text NOT NULL)");
value('SELECT sno_feed_create(?)', TABLE);
value('SELECT sno_feed_create_reader(?, ?)', TABLE, READER);

// Another row comes, and the loop ends while it has a batch.
restart('a', 'b', 'c');
whenWaiting('psql -qXc "INSERT INTO \"Out \"\"box\" (message) VALUES (\'d\')"');
$seen = [];
$feed = feed(maxRows: 2);
foreach ($feed as $batch) {
    $first ??= $batch->rows[0];
    $seen[] = messages($batch);
    if (count($seen) === 3) {
        $feed->stop();
    }
}
same($seen, ['a b', 'c', 'd'], 'batches, and a row that comes while the reader waits');
same($first->item, ['id' => $first->id, 'part' => 'mine', 'fence' => 7, 'deleted' => 'no', 'message' => 'a'],
    'the columns of a row');
same($first->deleted, false, 'which is not deleted');
same(state(), 'all done, tries: 0', 'the last batch is acknowledged, too');

// A loop that is left acknowledges nothing, and no row is to blame.
foreach ([true, false] as $fails) {
    restart('a', 'b');
    try {
        foreach (feed() as $batch) {
            same([messages($batch), state()], ['a b', 'leased, tries: 0'], 'a batch is not acknowledged yet');
            if ($fails) {
                throw new DomainException();
            }
            break;
        }
    } catch (DomainException) {
    }
    same(state(), 'free, tries: 0', 'the rows are given back');
}
foreach (feed() as $batch) {
    same(messages($batch), 'a b', 'and come again, at once and together');
    $batch->fail($batch->rows[1], 'full');
    break;
}
same(state(), 'free, tries: 1', 'a row that failed before the loop was left counts a try');

// Rows that fail
restart('a', 'bad', 'c', 'd');
$seen = [];
$handled = '';
$feed = feed();
foreach ($feed as $batch) {
    $seen[] = messages($batch);
    foreach ($batch as $row) {
        if ($row->item['message'] === 'bad') {
            $batch->fail($row, new DomainException("it's \\ ?\0wrong\xff"));
            $batch->fail(null, 'not the first');
        } else {
            $handled .= $row->item['message'];
        }
    }
    if ($handled === 'acd') {
        $feed->stop();
    }
}
same($seen, ['a bad c d', 'bad', 'c d'], 'a row that failed comes again alone, and is set aside');
same($handled, 'acd', 'a batch ends with the row that failed');
same(value("SELECT tries || ' ' || error FROM sno_feed_aside(NULL::" . TABLE . ', ?)', READER),
    "2 DomainException: it's \\ ?\\0wrong\u{fffd}", 'with its error');
same(state(), 'all done, tries: 0', 'the other rows are acknowledged');
value('SELECT sno_feed_retry(?, ?)', TABLE, READER);
foreach (feed() as $batch) {
    same([$batch->part, messages($batch)], [-1, 'bad'], 'a row that was set aside is retried, as part -1');
    raises(InvalidArgumentException::class, fn () => $batch->fail(new FeedRow('1', false, []), 'wrong'),
        "a row of another batch can't fail");
    break;
}
same(value('SELECT tries FROM sno_feed_aside(NULL::' . TABLE . ', ?)', READER), 2, 'and no try counts');

// It isn't known which row failed, or it was no row's fault.
restart('a', 'b');
$seen = [];
$errors = [null, 'one is bad'];
$feed = feed();
foreach ($feed as $batch) {
    $seen[] = messages($batch) . ' ' . state();
    if ($errors !== []) {
        $batch->fail(null, array_shift($errors), 0.001);
    } elseif (count($seen) === 4) {
        $feed->stop();
    }
}
same($seen, ['a b leased, tries: 0', 'a b leased, tries: 0', 'a leased, tries: 0', 'b leased, tries: 0'],
    'rows come one by one');
same(state(), 'all done, tries: 0', 'and are acknowledged');

// The lease is extended, or lost between two rows, or at the end.
foreach ([3600 => 1, '0.001' => 2] as $lease => $leases) {
    restart('a', 'b');
    $begins = [];
    $feed = feed(lease: (float) $lease);
    foreach ($feed as $batch) {
        foreach ($batch as $row) {
            $begins[value('SELECT busy_at FROM ' . PLACES . ' WHERE upto IS NOT NULL')] = true;
            usleep(1000);
        }
        $feed->stop();
    }
    same([count($begins), state()], [$leases, 'all done, tries: 0'], "lease of $lease seconds");
}
restart('a', 'b');
$seen = $caught = [];
$handled = '';
$feed = feed(lease: 0.01, onError: function (PDOException $error) use (&$caught): void {
    $caught[] = $error->errorInfo[0];
});
foreach ($feed as $batch) {
    $seen[] = messages($batch);
    foreach ($batch as $row) {
        $handled .= $row->item['message'];
        if (strlen($handled) === 1 || strlen($handled) === 3) {
            value("SELECT sno_feed_rewind(?, ?, 'oldest')", TABLE, READER);
        }
        usleep(strlen($handled) === 1 ? 10_000 : 0);
    }
    if (count($seen) === 3) {
        $feed->stop();
    }
}
same([$seen, $handled, $caught], [['a b', 'a b', 'a b'], 'aabab', ['55P03', '55P03']], 'leases that are lost');

// Servers that are away
restart('a');
$seen = $caught = [];
$connections = 0;
$feed = feed(
    connect: function () use (&$connections): PDO {
        $connections++;
        return new PDO($connections > 3 ? 'pgsql:application_name=fed' : 'pgsql:host=/nonexistent');
    },
    onError: function (PDOException $error) use (&$caught): void { $caught[] = $error; },
);
foreach ($feed as $batch) {
    $seen[] = messages($batch);
    same(count($caught), count($seen) + 2, 'errors are reported');
    if (count($seen) === 1) {
        terminate();
        insert('b');
    } else {
        $feed->stop();
    }
}
same([$seen, $connections, state()], [['a', 'b'], 5, 'all done, tries: 0'], 'the server comes back');

foreach ([true, false] as $stops) {
    restart('a');
    $caught = [];
    $feed = feed(
        connect: fn () => new PDO('pgsql:application_name=fed'),
        onError: function (PDOException $error) use (&$caught): void { $caught[] = $error; },
    );
    foreach ($feed as $batch) {
        terminate();
        if (!$stops) {
            break;
        }
        $feed->stop();
    }
    same([count($caught), state()], [1, 'leased, tries: 0'], 'the loop ends while the connection is lost');
}

// A connection to a former primary, and one that is lost while the reader waits
restart('a');
$seen = $caught = [];
$feed = feed(
    connect: function () use (&$caught): PDO {
        return new PDO('pgsql:' . ($caught === [] ? "options='-c default_transaction_read_only=on'" : ''));
    },
    onError: function (PDOException $error) use (&$caught): void { $caught[] = $error->errorInfo[0]; },
);
$terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'CALL sno_feed_wait(%'";
whenWaiting('psql -qXAtc "' . $terminate . '" -c "INSERT INTO \"Out \"\"box\" (message) VALUES (\'b\')" >/dev/null');
foreach ($feed as $batch) {
    $seen[] = messages($batch);
    if (count($seen) === 2) {
        $feed->stop();
    }
}
same([$seen, $caught[0], count($caught)], [['a', 'b'], '25006', 2], 'other connections');

value("SELECT sno_feed_rewind(?, ?, 'now')", TABLE, READER);
whenWaiting('kill -TERM $PPID');
$feed = feed();
pcntl_signal(SIGTERM, fn () => $feed->stop());
foreach ($feed as $batch) {
    report(false, 'no rows', $batch);
}
same(proc_close($process), 0, 'stopped while it waits');

// Changes of a table: the rows that it had, and then its updates and deletes
value('CREATE TABLE "a Person" (fence integer PRIMARY KEY, name text)');
value("INSERT INTO \"a Person\" VALUES (1, 'Ada'), (2, 'Bob')");
value("CALL sno_feed_create_changes('\"a Person\"')");
value("SELECT sno_feed_create_reader('\"a Person\"', 'copy')");
$seen = [];
$feed = feed(feed: '"a Person"', reader: 'copy');
foreach ($feed as $batch) {
    foreach ($batch as $row) {
        $seen[] = $row->item + ['deleted' => $row->deleted];
        match (count($seen)) {
            2 => value("UPDATE \"a Person\" SET name = 'Bea' WHERE fence = 2"),
            3 => value('DELETE FROM "a Person"'),
            5 => $feed->stop(),
            default => null,
        };
    }
}
same(array_map(array_values(...), $seen), [[1, 'Ada', false], [2, 'Bob', false], [2, 'Bea', false], [1, null, true],
    [2, null, true]], 'rows of a table, and their changes');

// Errors that don't pass
foreach ([['nowhere', 'mail', '42P01'], ['customers', 'mail', '55000'], ['0', 'mail', '42P01'],
    ['outbox', 'nobody', '42704']] as [$name, $reader, $state]) {
    try {
        foreach (feed(feed: $name, reader: $reader) as $rows) {
            report(false, "wrong: $state", $rows);
        }
    } catch (PDOException $error) {
        same($error->errorInfo[0], $state, "wrong: $state");
    }
}

done();
