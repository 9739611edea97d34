<?php

// Eloquent over tables of its own, and the examples of clients/php/README.md.

declare(strict_types=1);

require __DIR__ . '/tap.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\ModelNotFoundException;
use Illuminate\Database\QueryException;
use Illuminate\Support\Facades\Facade;
use Sno\Laravel\SnoServiceProvider;
use Sno\Sno;

extension_loaded('pdo_pgsql') || skip_all('no pdo_pgsql');
stream_resolve_include_path('Illuminate/Database/autoload.php') || skip_all('no Eloquent');
// Eloquent's own code, as it is written for older PHP, isn't what is tested.
error_reporting(E_ALL & ~E_DEPRECATED);
require 'Illuminate/Database/autoload.php';

$database = new Manager(new Container());
$database->addConnection(['driver' => 'pgsql'] + array_filter(array_map('getenv', [
    'host' => 'PGHOST', 'port' => 'PGPORT', 'username' => 'PGUSER', 'password' => 'PGPASSWORD', 'database' => 'PGDATABASE',
])) + ['password' => '', 'charset' => 'utf8', 'search_path' => 'public']);
$database->setAsGlobal();
$database->bootEloquent();
$container = $database->getContainer();
$container->instance('db', $database->getDatabaseManager());
$container->bind('db.schema', fn () => $database->getConnection()->getSchemaBuilder());
Facade::setFacadeApplication($container);
(new SnoServiceProvider($container))->boot();
$connection = $database->getConnection();
$value = fn (string $sql): mixed => array_values((array) $connection->selectOne($sql))[0];
$columns = fn (): mixed => $value("SELECT string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod),
        pg_get_expr(adbin, adrelid)), ', ' ORDER BY attrelid, attnum)
    FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
    WHERE attrelid IN ('customers'::regclass, 'orders'::regclass) AND attnum > 0");

$connection->statement('DROP TABLE customers, orders');
$migration = eval(example('laravel-migration'));
$migration->up();
same($columns(), 'id sno sno_generate(1), name text , id sno sno_generate(2), customer_id sno ', 'a migration');
same($value("SELECT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND conrelid = 'orders'::regclass"),
    'customers', 'its foreign key');
eval(example('laravel'));
eval(example('laravel-use'));

same([$ada->id, (new Sno($ada->id))->meta()], [$value('SELECT id FROM customers'), 1], 'a key of the database');
same([$order->id, $order->customer_id], [$value('SELECT id FROM orders'), $ada->id], 'a row that refers to it');
same([Customer::find($ada->id)->name, Customer::findOrFail($ada->id)->id, $order->refresh()->customer->name],
    ['Ada', $ada->id, 'Ada'], 'find');
$bob = new Customer(['name' => 'Bob']);
$bob->save();
$bob->name = 'Robert';
$bob->save();
same([$bob->fresh()->name, $ada->fresh()->name, $bob->id === $ada->id], ['Robert', 'Ada', false], 'a row that is changed');
same(Customer::find([$bob->id, $ada->id])->sortBy('id')->modelKeys(), [$ada->id, $bob->id], 'find by a list');
same(Customer::whereIn('id', [$bob->id, Sno::max(new DateTime())])->count(), 1, 'IN');
same(Customer::orderBy('id')->get()->map->id->all(), [$ada->id, $bob->id], 'order');
$loaded = Customer::with('orders')->orderBy('id')->get();
same($loaded->map(fn ($one) => $one->orders->map->customer_id->all())->all(), [[$ada->id], []], 'rows with those that refer to them');
same(Order::with('customer')->get()->map(fn ($one) => $one->customer->id)->all(), [$ada->id], 'and the other way');
same([Customer::has('orders')->count(), Order::whereBelongsTo($ada)->count()], [1, 1], 'conditions on relations');
same(json_decode($ada->toJson(), true)['id'], $ada->id, 'JSON');

$given = (string) Sno::min(new DateTime('1 day ago'));
$cy = new Customer(['name' => 'Cy']);
$cy->id = $given;
$cy->save();
same([$cy->id, Customer::find($given)->name], [$given, 'Cy'], 'a key that the application made');
$hour = new DateTime('1 hour ago', new DateTimeZone('Asia/Tokyo'));
same([Customer::during($hour, null)->count(), Customer::during(null, $hour)->count(),
    Order::whereHas('customer', fn ($query) => $query->during($hour, null))->count()], [2, 1, 1], 'a range of time');
$made = (new Sno($given))->time();
same([Customer::during($made, $made->modify('+4 ms'))->count(), Customer::during(null, $made)->count()], [1, 0], 'exactly');
$connection->statement('SET enable_seqscan = off');
same(str_contains(implode(array_column($connection->select(
    'EXPLAIN ' . Customer::during($hour, null)->toSql(), [$hour->format(DATE_ATOM), null]), 'QUERY PLAN')), 'Index Cond'),
    true, 'by the index');

try {
    Customer::find('not an id');
    report(false, 'find by a wrong id');
} catch (QueryException $error) {
    same($error->getCode(), '22P02', 'find by a wrong id');
}
same((new Customer())->resolveRouteBinding($ada->id)->name, 'Ada', 'a model of a route');
same((new Customer())->resolveRouteBinding('Ada', 'name')->id, $ada->id, 'by another column');
same((new Customer())->resolveRouteBinding((string) Sno::max(new DateTime())), null, 'that is not found');
raises(ModelNotFoundException::class, fn () => (new Customer())->resolveRouteBinding('not an id'), 'a wrong id in a route');
Order::destroy([$order->id]);
$ada->delete();
same(Customer::orderBy('id')->pluck('name')->all(), ['Cy', 'Robert'], 'rows that are deleted');

// What the trait is for.
eval('class Bare extends Illuminate\Database\Eloquent\Model
    { public $timestamps = false; protected $table = "customers"; protected $guarded = []; }');
same(Bare::create(['name' => 'Dan'])->id, 9, 'without the trait, Eloquent reads a number');

$migration->down();
same($value("SELECT to_regclass('customers')"), null, 'the migration back');

done();
