<?php

// Doctrine over tables of its own, and the examples of clients/php/README.md.

declare(strict_types=1);

require __DIR__ . '/tap.php';

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Exception\DriverException;
use Doctrine\DBAL\Schema\Column;
use Doctrine\DBAL\Types\ConversionException;
use Doctrine\DBAL\Types\TextType;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;
use Doctrine\ORM\Proxy\ProxyFactory;
use Doctrine\ORM\Tools\SchemaTool;
use Sno\Doctrine\SnoArrayType;
use Sno\Doctrine\SnoType;
use Sno\Sno;

extension_loaded('pdo_pgsql') || skip_all('no pdo_pgsql');
stream_resolve_include_path('Doctrine/ORM/autoload.php') || skip_all('no Doctrine');
require 'Doctrine/ORM/autoload.php';

eval(example('blocks'));
same([$id->meta(), $ids->next() > $id], [1, true], 'the example of blocks');

eval(example('doctrine'));
$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([]));
if (PHP_VERSION_ID >= 80400 && method_exists($configuration, 'enableNativeLazyObjects')) {
    $configuration->enableNativeLazyObjects(true);
} else {
    $configuration->setProxyDir(sys_get_temp_dir());
    $configuration->setProxyNamespace('Proxies');
    $configuration->setAutoGenerateProxyClasses(ProxyFactory::AUTOGENERATE_EVAL);
}
eval(example('settings'));

/** Counts the statements. */
class Counter extends Psr\Log\AbstractLogger
{
    public array $statements = [];

    public function log($level, $message, array $context = []): void
    {
        if (isset($context['sql'])) {
            $this->statements[] = $context['sql'];
        }
    }
}

$counter = new Counter();
$configuration->setMiddlewares([new Doctrine\DBAL\Logging\Middleware($counter)]);
$settings = array_filter(array_map('getenv', [
    'host' => 'PGHOST', 'port' => 'PGPORT', 'user' => 'PGUSER', 'password' => 'PGPASSWORD', 'dbname' => 'PGDATABASE',
]));
$connection = DriverManager::getConnection(['driver' => 'pdo_pgsql'] + $settings, $configuration);
$manager = new EntityManager($connection, $configuration);
$classes = [$manager->getClassMetadata(Customer::class), $manager->getClassMetadata(Order::class)];

// Introspection: the tables that SQL made, and the same tables made by Doctrine.
$columns = fn (): array => array_merge(...array_map(fn (string $table): array => array_map(
    fn (Column $column): array => [$table, $column->getName(), $column->getType()::class, $column->getDefault()],
    array_values($connection->createSchemaManager()->listTableColumns($table)),
), ['customers', 'orders']));
$wanted = [
    ['customers', 'id', SnoType::class, 'sno_generate(1)'],
    ['customers', 'name', TextType::class, null],
    ['orders', 'id', SnoType::class, 'sno_generate(2)'],
    ['orders', 'customer_id', SnoType::class, null],
    ['orders', 'related', SnoArrayType::class, null],
];
same($columns(), $wanted, 'introspection');
same($connection->createSchemaManager()->introspectSchema()->hasTable('sno_catalog.sno_lease'), false,
    "the extension's own tables aren't seen");
$database->exec('DROP TABLE customers, orders');
$tool = new SchemaTool($manager);
$tool->createSchema($classes);
same($tool->getUpdateSchemaSql($classes), [], 'the schema tool makes the tables, and sees no difference');
$made = $columns();
same([sort($made), sort($wanted), $made], [true, true, $wanted], 'their columns and defaults');
$value = fn (string $sql): mixed => $database->query($sql)->fetchColumn();
eval("use Sno\\Sno;\n" . example('queries'));
same([$ada->id->meta(), (string) $ada->id, (string) $order->id],
    [1, $value('SELECT id FROM customers'), $value('SELECT id FROM orders')], 'the example of entities');

// Keys that the application makes: rows, and rows that refer to them, in one flush.
$counter->statements = [];
$customers = $orders = [];
for ($n = 0; $n < 120; $n++) {
    $customer = new Customer();
    $customer->name = "customer $n";
    $order = new Order();
    $order->customer = $customer;
    $manager->persist($order);
    $manager->persist($customer);
    $customers[] = (string) $customer->id;
    $orders[(string) $order->id] = (string) $customer->id;
}
$taken = preg_grep('/sno_generate_many/', $counter->statements);
same([count($counter->statements), count($taken)], [4, 4], '240 keys need 4 statements, because 98 keys were left');
$manager->flush();
$manager->clear();
$found = $manager->createQuery("SELECT o, c FROM \\Order o JOIN o.customer c WHERE c.name LIKE 'customer %' ORDER BY o.id")
    ->getResult();
same(array_column(array_map(fn (Order $order): array => [(string) $order->id, (string) $order->customer->id], $found), 1, 0),
    $orders, 'read back');
same(array_unique(array_map(fn (Order $order): string => $order->customer->id::class, $found)), [Sno::class], 'as ids');

$first = $customers[0];
$found = $manager->find(Customer::class, $first);
same([$found->name, $manager->find(Customer::class, new Sno($first)) === $found], ['customer 0', true],
    'find by an id and by its text');
$names = fn (string $where, mixed $ids): array => $manager
    ->createQuery("SELECT c.name FROM Customer c WHERE $where ORDER BY c.id")
    ->setParameter('ids', $ids)->getSingleColumnResult();
same($names('c.id IN (:ids)', [new Sno($first), $customers[5]]), ['customer 0', 'customer 5'], 'IN');
same($names('c.id > :ids', new Sno($customers[117])), ['customer 118', 'customer 119'], 'a range');
$hour = Sno::min(new DateTime('1 hour ago'));
same([$names('c.id < :ids', $hour), count($names('c.id > :ids', $hour))], [[], 121], 'a range of time');
$manager->clear();
$lazy = $manager->find(Order::class, array_key_first($orders));
same([(string) $lazy->customer->id, $lazy->customer->name], [$first, 'customer 0'], 'a reference that is loaded later');
$lazy->customer->name = 'Ada';
$manager->flush();
same($value("SELECT name FROM customers WHERE id = '$first'"), 'Ada', 'a row that is changed');
$manager->remove($lazy);
$manager->flush();
same((int) $value('SELECT count(*) FROM orders'), 120, 'and one that is deleted');

// Arrays.
$order = $manager->find(Order::class, array_key_last($orders));
foreach ([[], [null], [new Sno($first), null, $customers[1]], null] as $related) {
    $order->related = $related;
    $manager->flush();
    $manager->refresh($order);
    same(json_encode($order->related), json_encode($related), 'an array of ids: ' . json_encode($related));
}

// Keys that the database makes, in SQL of one's own.
$made = $connection->fetchOne("INSERT INTO customers (name) VALUES ('Bob') RETURNING id");
same($manager->find(Customer::class, $made)->name, 'Bob', 'a key that the database made');

raises(ConversionException::class, fn () => $manager->find(Customer::class, 'not an id'), 'find by a wrong id');
try {
    $names('c.id = :ids', 'not an id');
    report(false, 'the server finds a wrong id');
} catch (DriverException $error) {
    same($error->getSQLState(), '22P02', 'the server finds a wrong id');
}

done();
