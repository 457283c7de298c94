package ports

import (
	"testing"

	"example.com/history/ports/bug"
)

// TestHistory fails unless Lockstorm finds each bug in the version with the bug, and not in the
// fixed version.
func TestHistory(t *testing.T) {
	for _, b := range []bug.Bug{
		laravelExpire,
		shedlockUnlock,
		redispyWatch,
		redispyTTL,
		springUnlink,
		leshanRelease,
		nexspenceRelease,
		redisobjectsUnits,
		redlockrbResurrect,
		redlockrbSeconds,
		foundatioUnits,
		pythonredislockExtend,
		redissonRenewal,
		cozyRenewal,
		potteryElapsed,
		redlockpyDrift,
		redlockgoElapsed,
		retoolsExpire,
		retoolsClock,
		semaphoreGetSet,
		yiiredisExpired,
		servicestackGetSet,
		hilarySetEx,
		redissonNested,
		redissonShorter,
		redissonReaders,
		redissonUnwatched,
		redissonZombies,
		gozeroReentry,
		hieroQueue,
	} {
		t.Run(b.Name, b.Test)
	}
}

// TestNotFound runs the bugs that Lockstorm does not find with default options. README.md says why.
func TestNotFound(t *testing.T) {
	for _, b := range []bug.Bug{
		goredisRetry,
		noderedlockStart,
		redismutexGetSet,
		redlocknetUnlock,
		redsyncValidity,
		semaphoreReacquire,
		etcdWaiter,
		hieroRejoin,
	} {
		t.Run(b.Name, b.Missed)
	}
}
