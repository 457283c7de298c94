<?php
// The lock of Laravel's cache (Cache::lock) on phpredis, unmodified, without the framework around it.
//   apt-get install php-cli php-redis php-illuminate-cache php-illuminate-redis
//   lockstorm run --client 'php examples/any-language/laravel_lock.php' --faults all
ini_set('display_errors', 'stderr'); // standard output belongs to the protocol
// phpredis tells a send that failed by a notice alone; frameworks make exceptions of notices too
set_error_handler(fn (int $level, string $text) => throw new ErrorException($text), E_WARNING | E_NOTICE);
require '/usr/share/php/Illuminate/Cache/autoload.php';
require '/usr/share/php/Illuminate/Redis/autoload.php';
use Illuminate\Cache\PhpRedisLock;
use Illuminate\Redis\Connections\PhpRedisConnection;

$connect = function (): Redis {
    [$host, $port] = explode(':', explode(',', getenv('LOCKSTORM_ADDRS'))[0]);
    $timeout = getenv('LOCKSTORM_TIMEOUT_MS') / 1000;
    $redis = new Redis();
    $redis->connect($host, (int) $port, $timeout, null, 0, $timeout);

    return $redis;
};
$connection = new PhpRedisConnection($connect(), $connect); // the second: how Laravel connects again
$held = []; // locks by the id of the acquire that took them

function serve(PhpRedisConnection $connection, array &$held, array $q): array
{
    $connection->client()->clearLastError();
    if ($q['do'] === 'acquire') {
        $lock = new PhpRedisLock($connection, $q['key'], (int) ceil($q['ttl'] / 1000)); // Laravel counts whole seconds
        if ($lock->acquire()) {
            $held[$q['id']] = $lock;

            return ['token' => $lock->owner()];
        }
        $error = 'busy';
    } else {
        $lock = $held[$q['lease']];
        unset($held[$q['lease']]);
        if ($lock->release()) {
            return [];
        }
        $error = 'not-held';
    }

    // phpredis returns false for some errors too, those that begin with ERR: these are not certain.
    return ['error' => $connection->client()->getLastError() ?? $error];
}

function answer(array $line): void
{
    echo json_encode($line), "\n";
}

answer(['ready' => true]);
while (($line = fgets(STDIN)) !== false) {
    $q = json_decode($line, true);
    try {
        answer(['id' => $q['id']] + serve($connection, $held, $q));
    } catch (Throwable $e) { // no answer, or an error: nobody knows whether the command ran
        answer(['id' => $q['id'], 'error' => get_class($e).': '.$e->getMessage()]);
    }
}
