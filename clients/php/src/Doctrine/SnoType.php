<?php

declare(strict_types=1);

namespace Sno\Doctrine;

use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\ConversionException;
use Doctrine\DBAL\Types\Exception\ValueNotConvertible;
use Doctrine\DBAL\Types\PhpIntegerMappingType;
use Doctrine\DBAL\Types\Type;
use Sno\Sno;

/** Columns of type sno.  Doctrine writes the defaults of integers as they are, and so those of ids: sno_generate(1). */
final class SnoType extends Type implements PhpIntegerMappingType
{
    public const NAME = 'sno';

    public function getName(): string
    {
        return self::NAME;
    }

    public function getSQLDeclaration(array $column, AbstractPlatform $platform): string
    {
        return 'sno';
    }

    public function getMappedDatabaseTypes(AbstractPlatform $platform): array
    {
        return ['sno'];
    }

    public function convertToPHPValue($value, AbstractPlatform $platform): ?Sno
    {
        return self::id($value, self::NAME);
    }

    public function convertToDatabaseValue($value, AbstractPlatform $platform): ?string
    {
        return self::id($value, self::NAME)?->__toString();
    }

    /** @internal */
    public static function id(mixed $value, string $type): ?Sno
    {
        try {
            return $value === null || $value instanceof Sno ? $value : new Sno($value);
        } catch (\InvalidArgumentException | \TypeError $error) {
            throw self::error($value, $type, $error);
        }
    }

    /** @internal */
    public static function error(mixed $value, string $type, ?\Throwable $cause = null): ConversionException
    {
        return class_exists(ValueNotConvertible::class)
            ? ValueNotConvertible::new($value, $type, null, $cause)
            : ConversionException::conversionFailed($value, $type, $cause);
    }
}
