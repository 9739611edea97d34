<?php

declare(strict_types=1);

namespace Sno\Doctrine;

use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;
use Sno\Blocks;
use Sno\Sno;

/** Keys for entities.  A class that extends it may have another metabyte or count. */
class SnoGenerator extends AbstractIdGenerator
{
    protected const META = 0;
    protected const COUNT = 50;

    /** @var \WeakMap<EntityManagerInterface, Blocks> */
    private \WeakMap $blocks;

    public function __construct()
    {
        $this->blocks = new \WeakMap();
    }

    public function generateId(EntityManagerInterface $em, $entity): Sno
    {
        $this->blocks[$em] ??= new Blocks(
            $em->getConnection()->fetchAllNumeric(...),
            static::COUNT,
            static::META,
        );
        return $this->blocks[$em]->next();
    }
}
