<?php

declare(strict_types=1);

namespace Sno\Doctrine;

use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\Type;
use Sno\Sno;

/** Columns of type sno[], of one dimension: lists of ids and nulls. */
final class SnoArrayType extends Type
{
    public const NAME = 'sno[]';

    public function getName(): string
    {
        return self::NAME;
    }

    public function getSQLDeclaration(array $column, AbstractPlatform $platform): string
    {
        return 'sno[]';
    }

    public function getMappedDatabaseTypes(AbstractPlatform $platform): array
    {
        return ['_sno'];
    }

    /** @return list<?Sno>|null */
    public function convertToPHPValue($value, AbstractPlatform $platform): ?array
    {
        if ($value === null || $value === '{}') {
            return $value === null ? null : [];
        }
        if (!is_string($value) || !preg_match('/\A\{(.*)\}\z/', $value, $elements)) {
            throw SnoType::error($value, self::NAME);
        }
        return array_map(
            fn (string $element): ?Sno => $element === 'NULL' ? null : SnoType::id($element, self::NAME),
            explode(',', $elements[1]),
        );
    }

    public function convertToDatabaseValue($value, AbstractPlatform $platform): ?string
    {
        if ($value !== null && !is_array($value)) {
            throw SnoType::error($value, self::NAME);
        }
        $elements = array_map(
            fn (mixed $element): string => SnoType::id($element, self::NAME)?->__toString() ?? 'NULL',
            $value ?? [],
        );
        return $value === null ? null : '{' . implode(',', $elements) . '}';
    }
}
