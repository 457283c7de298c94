<?php
// Symfony Lock with its RedisStore on phpredis, unmodified.
//   apt-get install php-cli php-redis php-symfony-lock
//   lockstorm run --client 'php examples/any-language/symfony_lock.php' --faults all
// A number after the script's name is the store's initialTtl in seconds, 300 by default.
ini_set('display_errors', 'stderr'); // standard output belongs to the protocol
// as php.ini-production has it: an exception must not keep a lock from its destructor, which releases
ini_set('zend.exception_ignore_args', '1');
// phpredis tells a send that failed by a notice alone; frameworks make exceptions of notices too
set_error_handler(fn (int $level, string $text) => throw new ErrorException($text), E_WARNING | E_NOTICE);
require '/usr/share/php/Symfony/Component/Lock/autoload.php';
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

[$host, $port] = explode(':', explode(',', getenv('LOCKSTORM_ADDRS'))[0]);
$timeout = getenv('LOCKSTORM_TIMEOUT_MS') / 1000;
$redis = new Redis();
$connect = fn () => $redis->connect($host, (int) $port, $timeout, null, 0, $timeout);
$factory = new LockFactory(new RedisStore($redis, (float) ($argv[1] ?? 300)));
$held = []; // locks by the id of the acquire that took them

function serve(LockFactory $factory, array &$held, array $q): array
{
    if ($q['do'] === 'acquire') {
        $lock = $factory->createLock($q['key'], $q['ttl'] / 1000);
        if (!$lock->acquire()) {
            return ['error' => 'busy'];
        }
        $held[$q['id']] = $lock;

        return ['until' => (int) ($lock->getRemainingLifetime() * 1000)];
    }
    $lock = $held[$q['lease']];
    if ($q['do'] === 'extend') {
        $lock->refresh($q['ttl'] / 1000);

        return ['until' => (int) ($lock->getRemainingLifetime() * 1000)];
    }
    unset($held[$q['lease']]);
    $lock->release(); // does not tell whether the lock was still held

    return [];
}

function answer(array $line): void
{
    echo json_encode((object) $line), "\n";
}

$connect();
$factory->createLock('warm-up '.getenv('LOCKSTORM_CLIENT'), 1)->acquire(); // the store asks once whether scripts may call TIME
answer(['ready' => true, 'extend' => true, 'until' => true]);
while (($line = fgets(STDIN)) !== false) {
    $q = json_decode($line, true);
    try {
        $redis->isConnected() || $connect(); // after a refused connection, phpredis does not try again
        answer(['id' => $q['id']] + serve($factory, $held, $q));
    } catch (LockConflictedException $e) { // of refresh: Redis has answered that the lock is gone, or another's
        answer(['id' => $q['id'], 'error' => 'not-held']);
    } catch (Throwable $e) { // no answer, or an error: nobody knows whether the script ran
        $cause = $e->getPrevious() ?? $e;
        answer(['id' => $q['id'], 'error' => get_class($cause).': '.$cause->getMessage()]);
    }
}
