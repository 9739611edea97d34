<?php

declare(strict_types=1);

namespace Sno;

use DateTimeImmutable;
use DateTimeInterface;
use DateTimeZone;
use InvalidArgumentException;

/** An id of the PostgreSQL extension sno.  Ids compare by ==, < and <=> as in the database. */
final class Sno implements \JsonSerializable, \Stringable
{
    private const DIGITS = '23456789abcdefghijklmnopqrstuvwx';
    private const EPOCH = 1_262_304_000_000; // 2010-01-01 UTC, in ms since 1970
    private const UNIT = 4; // ms
    private const LAST_UNIT = (1 << 39) - 1;
    private const HALF = 40; // bits
    private const LAST_HALF = (1 << self::HALF) - 1;

    private const UUID = '[0-9A-Fa-f]{4}(-?[0-9A-Fa-f]{4}){7}';
    /** Texts that are given as ids by mistake, and what to do with them */
    private const MISTAKES = [
        '/\A-?[0-9]+\z/' => 'it is a number',
        '/\A(' . self::UUID . '|\{' . self::UUID . '\})\z/' => 'fromUuid() converts a uuid',
        '/\A.+[_-][2-9a-x]{16}\z/s' => 'Prefixes::read() converts an id with a prefix',
        '/\A[2-9a-x]{16}\z/i' => 'ids are in lower case',
        '/\A[0-9]{4}-[0-9]{2}-[0-9]{2}/' => 'min() and max() convert a time',
    ];

    /** PHP compares objects by these, as numbers.  It might take texts for numbers. */
    private readonly int $high;
    private readonly int $low;

    public function __construct(string $text)
    {
        if (!preg_match('/\A[2-9a-x]{16}\z/', $text)) {
            $advice = array_filter(self::MISTAKES, fn($pattern) => preg_match($pattern, $text), ARRAY_FILTER_USE_KEY);
            throw new InvalidArgumentException('not a sno: ' . self::quoted($text)
                . ($advice ? ' (' . reset($advice) . ')' : ''));
        }
        $numerals = strtr($text, self::DIGITS, '0123456789abcdefghijklmnopqrstuv');
        $this->high = (int) base_convert(substr($numerals, 0, 8), 32, 10);
        $this->low = (int) base_convert(substr($numerals, 8), 32, 10);
    }

    /**
     * A text for a message, without control characters. JSON leaves DEL as it is.
     *
     * @internal
     */
    public static function quoted(string $text): string
    {
        return str_replace("\x7f", '\u007f', json_encode($text, JSON_INVALID_UTF8_SUBSTITUTE));
    }

    /** The id of 10 bytes. */
    public static function fromBytes(string $bytes): self
    {
        if (strlen($bytes) !== 10) {
            throw new InvalidArgumentException('not the bytes of a sno: ' . bin2hex($bytes));
        }
        return self::ofHalves(...array_map(hexdec(...), str_split(bin2hex($bytes), 10)));
    }

    /** The id of a uuid that toUuid() or toUuidv8() wrote. */
    public static function fromUuid(string $uuid): self
    {
        if (!preg_match('/\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\z/i', $uuid)) {
            throw new InvalidArgumentException('not a uuid: ' . self::quoted($uuid));
        }
        $hex = str_replace('-', '', $uuid);
        if (preg_match('/\A.{12}8...[89ab].{4}[048c]0{10}\z/i', $hex)) {
            $last = hexdec(substr($hex, 16, 6)) >> 2 & 0xfffff;
            return self::fromBytes(hex2bin(substr($hex, 0, 12) . substr($hex, 13, 3) . sprintf('%05x', $last)));
        }
        return new self(hex2bin($hex));
    }

    /**
     * The lowest id of the 4 ms that hold the time.  As in the database, a time out of range
     * gives the lowest or the highest of all ids.
     */
    public static function min(DateTimeInterface $time): self
    {
        return self::bound($time, 0, 0);
    }

    /** The highest id of the 4 ms that hold the time. */
    public static function max(DateTimeInterface $time): self
    {
        return self::bound($time, 1, self::LAST_HALF);
    }

    public function toBytes(): string
    {
        return hex2bin(sprintf('%010x%010x', $this->high, $this->low));
    }

    /** The uuid whose 16 bytes are the text, as id::uuid. */
    public function toUuid(): string
    {
        return self::uuid(bin2hex((string) $this));
    }

    /** The uuid of version 8 that begins with the id, as sno_to_uuidv8(id). */
    public function toUuidv8(): string
    {
        $hex = bin2hex($this->toBytes());
        $last = PHP_INT_MIN | ($this->low & 0xfffff) << 42;
        return self::uuid(substr($hex, 0, 12) . '8' . substr($hex, 12, 3) . sprintf('%016x', $last));
    }

    /** When the id was made: the start of its 4 ms, in UTC. */
    public function time(): DateTimeImmutable
    {
        $ms = self::EPOCH + ($this->high >> 1) * self::UNIT;
        return DateTimeImmutable::createFromFormat(
            'U.v',
            sprintf('%d.%03d', intdiv($ms, 1000), $ms % 1000),
        )->setTimezone(new DateTimeZone('UTC'));
    }

    public function tickTock(): bool
    {
        return ($this->high & 1) === 1;
    }

    public function meta(): int
    {
        return $this->low >> 32;
    }

    public function partition(): int
    {
        return $this->low >> 16 & 0xffff;
    }

    public function sequence(): int
    {
        return $this->low & 0xffff;
    }

    public function __toString(): string
    {
        $text = '';
        foreach ([$this->high, $this->low] as $half) {
            for ($shift = self::HALF - 5; $shift >= 0; $shift -= 5) {
                $text .= self::DIGITS[$half >> $shift & 31];
            }
        }
        return $text;
    }

    public function jsonSerialize(): string
    {
        return (string) $this;
    }

    private static function ofHalves(int $high, int $low): self
    {
        $id = (new \ReflectionClass(self::class))->newInstanceWithoutConstructor();
        $id->high = $high;
        $id->low = $low;
        return $id;
    }

    private static function bound(DateTimeInterface $time, int $side, int $rest): self
    {
        $ms = (int) $time->format('U') * 1000 + (int) $time->format('v') - self::EPOCH;
        return match (true) {
            $ms < 0 => self::ofHalves(0, 0),
            intdiv($ms, self::UNIT) > self::LAST_UNIT => self::ofHalves(self::LAST_HALF, self::LAST_HALF),
            default => self::ofHalves(intdiv($ms, self::UNIT) << 1 | $side, $rest),
        };
    }

    private static function uuid(string $hex): string
    {
        return preg_replace('/\A(.{8})(.{4})(.{4})(.{4})/', '$1-$2-$3-$4-', $hex);
    }
}
