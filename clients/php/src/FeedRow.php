<?php

declare(strict_types=1);

namespace Sno;

/** A row of a batch of a feed. */
final class FeedRow
{
    /**
     * @param string $id its key, or the id of the change
     * @param bool $deleted only a feed of changes has deleted rows; only the keys of their items are not null
     * @param array<string, mixed> $item the values of the columns
     */
    public function __construct(
        public readonly string $id,
        public readonly bool $deleted,
        public readonly array $item,
    ) {
    }
}
