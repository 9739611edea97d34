<?php

declare(strict_types=1);

namespace Sno;

/**
 * Rows of a part of a feed, in their order.  An iteration ends after a row that failed, and if the lease is lost.
 * It extends the lease if more than half of its time has passed.
 *
 * @implements \IteratorAggregate<int, FeedRow>
 */
final class FeedBatch implements \IteratorAggregate
{
    /**
     * @internal
     * @var ?array{?string, ?string, string} arguments of sno_feed_fail()
     */
    public ?array $failure = null;

    /**
     * @internal
     * @param list<FeedRow> $rows the lease isn't extended by an iteration over them
     * @param int $part -1 for a row that was set aside, and is tried again
     * @param \Closure(FeedBatch, int): bool $isLeased is called before each row
     */
    public function __construct(
        public readonly array $rows,
        public readonly int $part,
        private readonly \Closure $isLeased,
        private readonly int|float $retryAfter,
    ) {
    }

    public function getIterator(): \Generator
    {
        foreach ($this->rows as $i => $row) {
            if ($this->failure !== null || !($this->isLeased)($this, $i)) {
                return;
            }
            yield $row;
        }
    }

    /**
     * Reports that a row could not be handled.  For a batch, only the first call counts.  When the batch ends, the
     * rows before this row are acknowledged.  This row and those after it come again, unless this row is set aside.
     * If the row is null, one of the rows failed, and all come again one by one.  If the error is null, no row is to
     * blame, and no try counts.
     */
    public function fail(?FeedRow $row, string|\Throwable|null $error, int|float|null $retryAfter = null): void
    {
        if ($row !== null && !in_array($row->id, array_column($this->rows, 'id'), true)) {
            throw new \InvalidArgumentException("row $row->id is not one of the batch");
        }
        if ($error !== null) {
            $error = $error instanceof \Throwable ? $error::class . ': ' . $error->getMessage() : $error;
            $error = json_decode(json_encode(str_replace("\0", '\0', $error), JSON_INVALID_UTF8_SUBSTITUTE));
        }
        $this->failure ??= [$row?->id, $error, ($retryAfter ?? $this->retryAfter) . ' seconds'];
    }
}
