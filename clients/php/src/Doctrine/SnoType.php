<?php

declare(strict_types=1);

namespace Sno\Doctrine;

use Doctrine\DBAL\Platforms\AbstractPlatform;
use Doctrine\DBAL\Types\ConversionException;
use Doctrine\DBAL\Types\Type;
use Sno\Sno;

/** Columns of type sno. */
final class SnoType extends Type
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
        return $this->id($value);
    }

    public function convertToDatabaseValue($value, AbstractPlatform $platform): ?string
    {
        return $this->id($value)?->__toString();
    }

    private function id(mixed $value): ?Sno
    {
        try {
            return $value === null || $value instanceof Sno ? $value : new Sno($value);
        } catch (\InvalidArgumentException | \TypeError $error) {
            throw ConversionException::conversionFailed($value, self::NAME, $error);
        }
    }
}
