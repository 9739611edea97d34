<?php

// What the tests need to report TAP.  Any warning is an error.

declare(strict_types=1);

error_reporting(E_ALL);
set_error_handler(fn (int $level, string $message, string $file, int $line) =>
    throw new ErrorException($message, 0, $level, $file, $line));
spl_autoload_register(function (string $class): void {
    if (str_starts_with($class, 'Sno\\')) {
        require dirname(__DIR__) . '/src/' . str_replace('\\', '/', substr($class, 4)) . '.php';
    }
});

$tests = $failures = 0;

function report(bool $passed, string $name, mixed $seen = null): void
{
    global $tests, $failures;
    $tests++;
    $failures += $passed ? 0 : 1;
    echo $passed ? '' : 'not ', "ok $tests - $name\n";
    if (!$passed) {
        echo preg_replace('/^/m', '# ', var_export($seen, true)), "\n";
    }
}

/** The same values of the same types, or ids that are equal. */
function same(mixed $seen, mixed $wanted, string $name): void
{
    report(serialize($seen) === serialize($wanted), $name, $seen);
}

function raises(string $error, callable $code, string $name): void
{
    try {
        report(false, $name, $code());
    } catch (Throwable $thrown) {
        report($thrown instanceof $error, $name, get_class($thrown) . ': ' . $thrown->getMessage());
    }
}

/** The block of README.md that begins with ```php NAME. */
function example(string $name): string
{
    preg_match("/^```php $name\n(.*?)^```$/ms", file_get_contents(dirname(__DIR__) . '/README.md'), $found);
    return $found[1];
}

function skip_all(string $why): never
{
    echo "1..0 # SKIP $why\n";
    exit;
}

function done(): never
{
    global $tests, $failures;
    echo "1..$tests\n";
    exit($failures === 0 ? 0 : 1);
}
