<?php

declare(strict_types=1);

namespace Sno\Laravel;

use Illuminate\Database\Schema\Blueprint;
use Illuminate\Database\Schema\ForeignIdColumnDefinition;
use Illuminate\Database\Schema\Grammars\PostgresGrammar;
use Illuminate\Support\ServiceProvider;

/** Columns of type sno for migrations.  Laravel finds this by itself. */
final class SnoServiceProvider extends ServiceProvider
{
    public function boot(): void
    {
        PostgresGrammar::macro('typeSno', fn (): string => 'sno');
        Blueprint::macro('sno', function (string $column) {
            return $this->addColumn('sno', $column);
        });
        Blueprint::macro('foreignSno', function (string $column) {
            return $this->addColumnDefinition(
                new ForeignIdColumnDefinition($this, ['type' => 'sno', 'name' => $column]),
            );
        });
    }
}
