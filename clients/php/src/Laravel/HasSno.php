<?php

declare(strict_types=1);

namespace Sno\Laravel;

use DateTimeInterface;
use Illuminate\Database\Eloquent\ModelNotFoundException;
use InvalidArgumentException;
use Sno\Sno;

/** For models of Eloquent whose key is an id that the database makes.  Without it Eloquent takes ids for numbers. */
trait HasSno
{
    public function getKeyType(): string
    {
        return 'string';
    }

    /** The database makes the key, so Eloquent asks for it by RETURNING. */
    public function getIncrementing(): bool
    {
        return true;
    }

    /** The rows whose ids were made from one time on, and before the other.  Null leaves a side open. */
    public function scopeDuring($query, ?DateTimeInterface $from, ?DateTimeInterface $to)
    {
        $column = $query->getQuery()->getGrammar()->wrap($this->getQualifiedKeyName());
        // Laravel writes times without their zone.
        $bounds = array_map(fn (?DateTimeInterface $at): ?string => $at?->format('Y-m-d\TH:i:s.uP'), [$from, $to]);
        return $query->whereRaw("$column <@ tstzrange(?, ?)", $bounds);
    }

    /** A wrong id in a URL is not found, and is no error of the server. */
    public function resolveRouteBindingQuery($query, $value, $field = null)
    {
        try {
            ($field ?? $this->getRouteKeyName()) === $this->getKeyName() && new Sno((string) $value);
        } catch (InvalidArgumentException) {
            throw (new ModelNotFoundException())->setModel(static::class, [$value]);
        }
        return parent::resolveRouteBindingQuery($query, $value, $field);
    }
}
