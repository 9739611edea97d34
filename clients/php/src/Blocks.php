<?php

declare(strict_types=1);

namespace Sno;

use InvalidArgumentException;
use UnexpectedValueException;

/**
 * Ids that the database makes ahead, a block at a time.  The query is a function that runs one
 * SQL text and returns its rows: arrays of texts.
 */
final class Blocks
{
    private const REMEMBERED = 16;

    private readonly string $sql;
    private readonly \Closure $query;

    /** @var list<Sno> the last one first */
    private array $ids = [];
    private int $process = 0;

    /** @var list<string> the first ids of the last blocks */
    private array $given = [];

    public function __construct(callable $query, private readonly int $count = 50, private readonly int $meta = 0)
    {
        if ($count < 1 || $count > 65536) {
            throw new InvalidArgumentException("not a number of ids: $count");
        }
        if ($meta < 0 || $meta > 255) {
            throw new InvalidArgumentException("not a metabyte: $meta");
        }
        $this->query = $query(...);
        $this->sql = "SELECT id::text FROM sno_generate_many($count, $meta) AS id";
    }

    /** The next id.  An error of the query passes through. */
    public function next(): Sno
    {
        // A process that forked leaves its ids to the parent.
        if ($this->ids === [] || $this->process !== getmypid()) {
            $this->ids = $this->take();
            $this->process = getmypid();
        }
        return array_pop($this->ids);
    }

    private function take(): array
    {
        $ids = array_map(fn (array $row): Sno => new Sno(reset($row)), ($this->query)($this->sql));
        $wrong = array_filter($ids, fn (Sno $id): bool => $id->meta() !== $this->meta);
        if (count($ids) !== $this->count || $wrong !== []) {
            throw new UnexpectedValueException("not $this->count ids of metabyte $this->meta");
        }
        // A cache that gives a block again would let ids come twice.
        if (in_array((string) $ids[0], $this->given, true)) {
            throw new UnexpectedValueException('the query gave ids that it had given before');
        }
        $this->given = array_slice([...$this->given, (string) $ids[0]], -self::REMEMBERED);
        return array_reverse($ids);
    }
}
