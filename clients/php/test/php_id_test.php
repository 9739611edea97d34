<?php

// Ids, names before them, and blocks, compared with what the database says.  Names as clients/php/README.md has them.

declare(strict_types=1);

require __DIR__ . '/tap.php';

use Sno\Blocks;
use Sno\Prefixes;
use Sno\Sno;

extension_loaded('pdo_pgsql') || skip_all('no pdo_pgsql');

$database = new PDO('pgsql:');
$query = fn (string $sql): array => $database->query($sql)->fetchAll(PDO::FETCH_NUM);

$rows = array_map(
    fn (string $line): array => explode("\t", $line),
    file(getenv('CLIENTS') . '/../test/vectors/sno.tsv', FILE_IGNORE_NEW_LINES),
);
$ids = array_map(fn (array $row): Sno => new Sno($row[1]), $rows);
same(array_filter(array_map(fn (array $row, Sno $id): ?array => [
    bin2hex($id->toBytes()), (string) $id, $id->time()->format('Uv'), (string) (int) $id->tickTock(),
    (string) $id->meta(), (string) $id->partition(), (string) $id->sequence(),
] === $row && Sno::fromBytes($id->toBytes()) == $id && $id->time()->getOffset() === 0 ? null : $row, $rows, $ids)),
    [], count($ids) . ' ids: bytes, text and fields');

// What a terminal would obey: C0, DEL and C1
$hostile = "a\x01\x1b[2J\x7f\u{85}\u{9b}31m_";
$messages = [];
foreach ([fn () => new Sno($hostile), fn () => Sno::fromUuid($hostile), fn () => new Prefixes([1 => $hostile]),
    fn () => (new Prefixes([1 => 'user']))->read($hostile . $ids[0])] as $call) {
    try {
        $call();
    } catch (InvalidArgumentException $error) {
        $messages[] = preg_match('/\A[ -~]*\z/', $error->getMessage());
    }
}
same($messages, [1, 1, 1, 1], 'control characters in messages are escaped');

$array = '{' . implode(',', $ids) . '}';
$seen = $query("SELECT id::uuid, sno_to_uuidv8(id), sno_min(id::timestamptz), sno_max(id::timestamptz)
    FROM unnest('$array'::sno[]) WITH ORDINALITY AS _ (id, n) ORDER BY n");
same(array_map(fn (Sno $id): array => [
    $id->toUuid(), $id->toUuidv8(), (string) Sno::min($id->time()), (string) Sno::max($id->time()),
], $ids), $seen, 'uuids and bounds are those of the database');
same([
    array_map(fn (Sno $id): string => (string) Sno::fromUuid($id->toUuid()), $ids),
    array_map(fn (Sno $id): string => (string) Sno::fromUuid(strtoupper($id->toUuidv8())), $ids),
], array_fill(0, 2, array_map('strval', $ids)), 'ids of uuids');
$sorted = $ids;
usort($sorted, fn (Sno $a, Sno $b): int => $a <=> $b);
same(array_map('strval', $sorted), array_column($query("SELECT unnest('$array'::sno[]) ORDER BY 1"), 0), 'order');

$times = ['1969-12-31 23:59:59.999', '2009-12-31 23:59:59.999999', '2010-01-01 00:00', '2010-01-01 00:00:00.003999',
    '2010-01-01 00:00:00.004', '2026-02-03 04:05:06.789123', '2079-09-07 15:47:35.548', '2079-09-07 15:47:35.551999',
    '2079-09-07 15:47:35.552', '2200-01-01 00:00'];
$bounds = fn (DateTimeInterface $at): array => [(string) Sno::min($at), (string) Sno::max($at)];
same(array_map(fn (string $at): array => $bounds(new DateTimeImmutable("{$at}Z")), $times),
    array_map(fn (string $at): array => $query("SELECT sno_min('{$at}Z'), sno_max('{$at}Z')")[0], $times),
    'bounds of times within and out of range');

$text = 'brpk4q72xwf2m63l';
$id = new Sno($text);
same([json_encode(['id' => $id]), "$id", $id == new Sno($text), unserialize(serialize($id)) == $id],
    ["{\"id\":\"$text\"}", $text, true, true], 'text and JSON');
$huge = [new Sno('22e2222222222222'), new Sno('33e2222222222222')];
same([$huge[0] == $huge[1], $huge[0] < $huge[1], $huge[0] <=> $huge[1]], [false, true, -1],
    'texts that PHP takes for equal numbers');

foreach (['', strtoupper($text), "{$text}2", substr($text, 1), "$text\n", " $text", '1' . substr($text, 1),
    'y' . substr($text, 1), str_repeat("\xff", 16), "aaaaaaaa\0aaaaaaa"] as $wrong) {
    raises(InvalidArgumentException::class, fn () => new Sno($wrong), 'text ' . bin2hex($wrong));
}
foreach (['', str_repeat('a', 9), str_repeat('a', 11)] as $wrong) {
    raises(InvalidArgumentException::class, fn () => Sno::fromBytes($wrong), "bytes $wrong");
}
$uuid = $id->toUuidv8();
foreach (['', $text, str_replace('-', '', $uuid), '{' . $uuid . '}', "{$uuid}0", "$uuid\n", strtr($uuid, '-', 'g'),
    substr_replace($uuid, '7', 14, 1), substr($uuid, 0, -1) . '1', substr_replace($uuid, 'c', 19, 1),
    substr_replace($uuid, dechex(hexdec($uuid[25]) | 1), 25, 1), '00000000-0000-0000-0000-000000000000',
    '72706b34-3471-3732-7877-66326d363359'] as $wrong) {
    raises(InvalidArgumentException::class, fn () => Sno::fromUuid($wrong), 'uuid ' . json_encode($wrong));
}

foreach (file(getenv('CLIENTS') . '/../test/vectors/mistakes.tsv', FILE_IGNORE_NEW_LINES) as $line) {
    [$kind, $text] = explode("\t", $line);
    try {
        $seen = (string) new Sno($text);
    } catch (InvalidArgumentException $error) {
        $seen = $error->getMessage();
    }
    report(str_ends_with($seen, ')') ? str_contains($seen, $kind) : $kind === 'none', "advice for $text", $seen);
}

// Names before ids.
$cases = [];
foreach (file(getenv('CLIENTS') . '/../test/vectors/prefixes.tsv', FILE_IGNORE_NEW_LINES) as $line) {
    [$kind, $first, $second] = [...explode("\t", $line), null, null];
    $cases[$kind][] = [$first, $second];
}
$table = array_column($cases['prefix'], 1, 0);
$prefixes = new Prefixes($table);
foreach ($cases['badprefix'] as [$meta, $prefix]) {
    raises(InvalidArgumentException::class, fn () => new Prefixes([$meta => $prefix] + $table), "row $meta $prefix");
}
same(array_map(fn (array $case): array => [$case[0], (string) $prefixes->read($case[0])], $cases['id']), $cases['id'],
    'texts with prefixes are read');
same(array_map(fn (array $case): array => [$prefixes->write(new Sno($case[1])), $case[1]], $cases['id']), $cases['id'],
    'and written');
foreach ([...array_column($cases['badid'], 0), "user_brpk4q725cf2m63l\n", "user_\0rpk4q725cf2m63l"] as $wrong) {
    raises(InvalidArgumentException::class, fn () => $prefixes->read($wrong), 'text ' . json_encode($wrong));
}
$none = new Sno($cases['noprefix'][0][0]);
same($prefixes->prefix($none), null, 'a metabyte without a prefix');
raises(OutOfBoundsException::class, fn () => $prefixes->write($none), "so it can't be written");
raises(InvalidArgumentException::class, fn () => new Prefixes([2 => "user\n"]), 'a prefix with a line feed');
raises(TypeError::class, fn () => new Prefixes(['two' => 'user']), 'a metabyte that is no number');
(function (): void {
    $id = new Sno('9d5ve82226224222');
    eval(example('prefixes'));
    same([$text, (string) $again], ['user_9d5ve82226224222', (string) $id], "README's example");
})();

// Blocks.
$asked = [];
$noted = function (string $sql) use (&$asked, $query): array {
    $asked[] = $sql;
    return $query($sql);
};
$blocks = new Blocks($noted, 3, 7);
$made = array_map(fn (): Sno => $blocks->next(), range(1, 7));
same([array_unique(array_map(fn (Sno $id): int => $id->meta(), $made)), count(array_unique($made)), $asked],
    [[7], 7, array_fill(0, 3, 'SELECT id::text FROM sno_generate_many(3, 7) AS id')], 'blocks of three');
$sorted = $made;
sort($sorted);
same($sorted, $made, 'in their order');
if (function_exists('pcntl_fork')) {
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    $fed = ['2222222922222222', '2222222922222223', '2222222922222224', '2222222922222225'];
    $forked = new Blocks(function () use (&$fed): array {
        return array_map(fn (string $text): array => [$text], array_splice($fed, 0, 2));
    }, 2);
    $one = $forked->next();
    $child = pcntl_fork();
    if ($child === 0) {
        fwrite($there, (string) $forked->next());
        posix_kill(posix_getpid(), SIGKILL); // without closing the connection of the parent
    }
    pcntl_waitpid($child, $status);
    fclose($there);
    same([(string) $one, stream_get_contents($here), (string) $forked->next()],
        ['2222222922222222', '2222222922222224', '2222222922222223'], 'a child takes a block of its own');
}
foreach ([
    [], [["$made[0]"]], [["$made[0]"], ["$made[1]"], ["$made[2]"]], [["$made[0]"], [str_repeat('2', 16)]],
] as $n => $wrong) {
    raises(UnexpectedValueException::class, fn () => (new Blocks(fn () => $wrong, 2, 7))->next(), "other rows: $n");
}
raises(InvalidArgumentException::class, fn () => (new Blocks(fn () => [['x'], ['y']], 2))->next(), 'rows that are no ids');
raises(PDOException::class, fn () => (new Blocks(fn () => $query('SELECT 1/0')))->next(), 'an error of the query');
$cached = new Blocks(fn () => [['2222222222222222']], 1);
$cached->next();
raises(UnexpectedValueException::class, fn () => $cached->next(), 'ids that come twice');
foreach ([[0, 0], [65537, 0], [1, -1], [1, 256]] as [$count, $meta]) {
    raises(InvalidArgumentException::class, fn () => new Blocks($query, $count, $meta), "$count ids of metabyte $meta");
}

done();
