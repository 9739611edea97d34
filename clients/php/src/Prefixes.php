<?php

declare(strict_types=1);

namespace Sno;

use InvalidArgumentException;
use OutOfBoundsException;

/** Names before ids, such as user_9d5ve82226224222, as sno_prefixed() writes them. */
final class Prefixes
{
    /** @param array<int, string> $prefixes the prefixes of metabytes: [1 => 'user', 2 => 'order'] */
    public function __construct(private readonly array $prefixes)
    {
        foreach ($prefixes as $meta => $prefix) {
            self::check($meta, $prefix);
        }
        if (array_unique($prefixes) !== $prefixes) {
            throw new InvalidArgumentException('a prefix belongs to one metabyte');
        }
    }

    private static function check(int $meta, string $prefix): void
    {
        if ($meta < 0 || $meta > 255) {
            throw new InvalidArgumentException("not a metabyte: $meta");
        }
        if (!preg_match('/\A(?=.{1,63}\z)[a-z]([a-z0-9_]*[a-z0-9])?\z/', $prefix)) {
            throw new InvalidArgumentException('not a prefix: ' . Sno::quoted($prefix));
        }
    }

    /** The prefix of the id's metabyte, as sno_prefix(id). */
    public function prefix(Sno $id): ?string
    {
        return $this->prefixes[$id->meta()] ?? null;
    }

    /** The prefix, an underscore, and the id, as sno_prefixed(id). */
    public function write(Sno $id): string
    {
        $prefix = $this->prefix($id) ?? throw new OutOfBoundsException("metabyte {$id->meta()} has no prefix");
        return "{$prefix}_$id";
    }

    /** The id of such a text, as sno_from_prefixed(text). */
    public function read(string $text): Sno
    {
        $end = strrpos($text, '_');
        $id = new Sno($end === false ? '' : substr($text, $end + 1));
        if (substr($text, 0, (int) $end) !== $this->prefix($id)) {
            throw new InvalidArgumentException(
                'wrong prefix of an id: ' . Sno::quoted($text),
            );
        }
        return $id;
    }
}
