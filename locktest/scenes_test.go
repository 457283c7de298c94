package locktest_test

import (
	"context"
	"crypto/rand"
	"flag"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// asScene is an environment variable. Its value is the key of the scene in scenes that TestScene
// runs, such as "bareDelete".
const asScene = "LOCKSTORM_LOCKTEST_SCENE"

// scenes are tests of locks. Most of them fail. Each scene is played in a process of its own, like
// a user's go test.
var scenes = map[string]func(t *testing.T){
	"right":      func(t *testing.T) { locktest.Run(t, right, whole) },
	"bareDelete": func(t *testing.T) { locktest.Run(t, bareDelete, few("client-pause", "delay")) },
	"everybody":  func(t *testing.T) { locktest.Run(t, everybody, few("none")) },
	"nobody":     func(t *testing.T) { locktest.Run(t, unconfigured, few("none")) },
	"busy":       func(t *testing.T) { locktest.Run(t, alwaysBusy, few("none")) },
	"noRelease":  func(t *testing.T) { locktest.Run(t, withoutRelease, few("none")) },
	"noFence":    func(t *testing.T) { locktest.Run(t, right, few("none"), locktest.RequireFencing) },
	"fenced": func(t *testing.T) {
		locktest.Run(t, fenced, few("none", "client-pause", "delay"), locktest.RequireFencing)
	},
	"extended":      func(t *testing.T) { locktest.Run(t, extended(true), few("client-pause", "delay")) },
	"extendedOften": func(t *testing.T) { locktest.Run(t, extended(true), few("none", "client-pause", "delay")) },
	"extendedByAnybody": func(t *testing.T) {
		locktest.Run(t, extended(false), few("none"))
	},
	// The deadline is the monotonic clock's, which the fault does not change.
	"untilSkewed":  func(t *testing.T) { locktest.Run(t, until(0), few("none", "client-skew")) },
	"untilTooLate": func(t *testing.T) { locktest.Run(t, until(time.Second), few("none", "client-pause")) },
	"until":        func(t *testing.T) { locktest.Run(t, until(-time.Second), few("none", "client-pause", "delay"), whole) },
	"untilByWallClock": func(t *testing.T) {
		locktest.Run(t, untilByWallClock, few("none", "client-skew"), locktest.WallClock)
	},
	"untilUndeclared": func(t *testing.T) { locktest.Run(t, untilByWallClock, few("none", "client-skew")) },
	"untilBesideWallClock": func(t *testing.T) {
		locktest.Run(t, untilBesideWallClock, few("none", "client-skew"), locktest.WallClock, locktest.Monotonic)
	},
	"byWallClock": func(t *testing.T) { locktest.Run(t, byWallClock, few("none", "client-skew"), locktest.WallClock) },
	"readWriteUntil": func(t *testing.T) {
		locktest.Run(t, readWriteUntil(0), few("none", "client-pause", "slow-work", "hung-work"), whole)
	},
	"readWriteUntilTooLate": func(t *testing.T) { locktest.Run(t, readWriteUntil(20*time.Second), few("none")) },
	"untilOfNoLease":        func(t *testing.T) { locktest.Run(t, untilOfNoLease, few("none")) },
	"panics":                func(t *testing.T) { locktest.Run(t, panics, few("none", "script-flush")) },
	"pooled":                func(t *testing.T) { locktest.Run(t, pooled, few("none", "delay", "partition")) },
	"kept":                  func(t *testing.T) { locktest.Run(t, kept, few("none", "delay")) },
	"short":                 func(t *testing.T) { locktest.Run(t, shortLease, few("none")) },
	"unrenewed": func(t *testing.T) {
		locktest.Run(t, right, few("slow-work"), locktest.PromiseRenewal)
	},
	"heartbeat": func(t *testing.T) {
		locktest.Run(t, heartbeat(0), few("none", "delay", "partition"), locktest.PromiseRenewal, whole)
	},
	"heartbeatTooLate": func(t *testing.T) {
		locktest.Run(t, heartbeat(5*time.Second), few("none", "delay"), locktest.PromiseRenewal, whole)
	},
	"renewed":         func(t *testing.T) { locktest.Run(t, renewing, few("none", "slow-work")) },
	"promisedRenewal": func(t *testing.T) { locktest.Run(t, renewing, few("none"), locktest.PromiseRenewal) },
	"slow":            func(t *testing.T) { locktest.Run(t, right, few("slow-work")) },
	"twice": func(t *testing.T) {
		locktest.Run(t, right, few("none"))
		locktest.Run(t, everybody, few("none"))
	},
	"parallel": func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"a b", "c"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				locktest.Run(t, right, few("delay"))
			})
		}
	},
	"flagged": func(t *testing.T) { locktest.Run(t, flagged, few("none")) },
	"redigo": func(t *testing.T) {
		locktest.Run(t, onRedigo, few("none", "client-pause", "lost-reply", "client-crash"))
	},
	"elsewhere": func(t *testing.T) { locktest.Run(t, elsewhere, few("none")) },
	"inMemory":  func(t *testing.T) { locktest.Run(t, inMemory, few("none", "delay")) },
	"varying":   func(t *testing.T) { locktest.Run(t, varying, few("client-pause")) },
	"entersLate": func(t *testing.T) {
		locktest.Run(t, polled, few("none", "client-pause"), locktest.Reentrant, locktest.Blocking)
	},
	"givesUp":      func(t *testing.T) { locktest.Run(t, right, few("none"), locktest.Blocking) },
	"waitsUnasked": func(t *testing.T) { locktest.Run(t, polled, few("none")) },
	"bareForAll":   func(t *testing.T) { locktest.Run(t, bareDelete, whole, locktest.Trials(-1)) },
	"undialed":     func(t *testing.T) { locktest.Run(t, undialed, few("none")) },
	"budget":       func(t *testing.T) { locktest.Run(t, right, few("none", "delay"), locktest.Budget(1)) },
	"longer":       func(t *testing.T) { locktest.Run(t, right, locktest.TTL(10*time.Minute), locktest.Trials(-1), whole) },
	"brief": func(t *testing.T) {
		locktest.Run(t, right, few("none", "delay", "partition"), locktest.TTL(time.Second))
	},
	"bubble":    func(t *testing.T) { synctest.Test(t, func(t *testing.T) { locktest.Run(t, right) }) },
	"badTTL":    func(t *testing.T) { locktest.Run(t, right, locktest.TTL(1)) },
	"badFault":  func(t *testing.T) { locktest.Run(t, right, locktest.Faults("delai")) },
	"readWrite": func(t *testing.T) { locktest.Run(t, readWrite, whole) },
	"waitingQueue": func(t *testing.T) {
		locktest.Run(t, waitingQueue, few("none", "client-crash"), locktest.Blocking, whole)
	},
	"sharedByAll": func(t *testing.T) { locktest.Run(t, sharedByAll, few("none")) },
	"reentrant":   func(t *testing.T) { locktest.Run(t, reentrant, locktest.Reentrant, whole) },
	"uncounted":   func(t *testing.T) { locktest.Run(t, uncounted, few("none"), locktest.Reentrant) },
	"notReentrant": func(t *testing.T) {
		locktest.Run(t, right, few("none"), locktest.Reentrant)
	},
	"polled": func(t *testing.T) {
		locktest.Run(t, polled, few("none", "client-crash", "lost-reply"), locktest.Blocking, whole)
	},
	"deaf": func(t *testing.T) { locktest.Run(t, deaf, few("none"), locktest.Blocking) },
	"woken": func(t *testing.T) {
		locktest.Run(t, woken(true), few("none", "client-pause", "hung-work"), locktest.Blocking, whole)
	},
	"lostWakeup": func(t *testing.T) { locktest.Run(t, woken(false), few("client-pause"), locktest.Blocking) },
	"reentrantReadWrite": func(t *testing.T) {
		locktest.Run(t, readWrite, few("none"), locktest.Reentrant)
	},
	"noSubject": func(t *testing.T) { locktest.Run(t, nil, few("none")) },
	"noAcquire": func(t *testing.T) { locktest.Run(t, returnsNil, few("none")) },
	"noReaders": func(t *testing.T) { locktest.Run(t, nilReaders, few("none")) },
	"fatalSubject": func(t *testing.T) {
		locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) {
			t.Fatal("the service has no configuration")
			return nil, nil
		}, few("none"))
	},
	"fatalAcquire":    func(t *testing.T) { locktest.Run(t, instead(func() { t.Fatal("no connection") }), few("none")) },
	"panickySubject":  func(t *testing.T) { locktest.Run(t, panicky, few("none")) },
	"checkedPanicky":  func(t *testing.T) { check(t, panicky) },
	"checkedNothing":  func(t *testing.T) { check(t, nil) },
	"checkedStuck":    func(t *testing.T) { check(t, stuck) },
	"checkedCanceled": canceled,
	"checkedBriefly":  func(t *testing.T) { check(t, right, few("delay"), locktest.Budget(1)) },
	"waits":           func(t *testing.T) { locktest.Run(t, waitsForNobody, few("none")) },
	"unscripted":      func(t *testing.T) { locktest.Run(t, bareDelete, few("script-flush")) },
	"majority":        func(t *testing.T) { locktest.Run(t, majority, few("node-restart", "client-pause"), locktest.Nodes(3)) },
}

// letIn is a flag of the tests themselves. Run must hand such flags on to its worker processes.
var letIn = flag.Bool("let-in", false, "the lock of the scene flagged lets everybody in")

// flagged is a correct lock, unless the flag -let-in is set.
func flagged(c *locktest.Client) (locktest.Acquire, error) {
	if *letIn {
		return everybody(c)
	}
	return right(c)
}

// few restricts a Run to these faults.
func few(faults ...string) locktest.Option { return locktest.Faults(faults...) }

// whole is a budget that no Run uses up, so every trial runs even on a slow machine.
var whole = locktest.Budget(time.Hour)

// TestScene runs the scene that asScene names. The function play starts TestScene in a process of
// its own. In an ordinary go test, TestScene does nothing.
func TestScene(t *testing.T) {
	if play := scenes[os.Getenv(asScene)]; play != nil {
		play(t)
	}
}

func unconfigured(*locktest.Client) (locktest.Acquire, error) {
	return func(context.Context, string, time.Duration) (locktest.Held, error) { return locktest.Held{}, errDown }, nil
}

func alwaysBusy(*locktest.Client) (locktest.Acquire, error) {
	return func(context.Context, string, time.Duration) (locktest.Held, error) {
		return locktest.Held{}, locktest.ErrBusy
	}, nil
}

func withoutRelease(*locktest.Client) (locktest.Acquire, error) {
	return func(context.Context, string, time.Duration) (locktest.Held, error) { return locktest.Held{}, nil }, nil
}

// setThenCount takes the lock and replies with the next fencing token, or with nil if the lock is
// taken.
var setThenCount = redis.NewScript(`
if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
return redis.call('incr', KEYS[2])`)

// fenced is a correct lock with a fencing token for each grant.
func fenced(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		fence, err := setThenCount.Run(ctx, rdb, []string{key, key + ":fence"}, token, ttl.Milliseconds()).Int64()
		if err == redis.Nil {
			err = locktest.ErrBusy
		}
		return locktest.Held{Token: token, Fence: fence, Release: func(ctx context.Context) error {
			return released(compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64())
		}}, err
	}, nil
}

var compareAndExpire = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

// extended is a lock with Held.Extend. If byOwner is set, only the owner can extend the lease and
// the lock is correct; else anybody can.
func extended(byOwner bool) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := connect(c)
		acquire, err := right(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			held, err := acquire(ctx, key, ttl)
			held.Extend = func(ctx context.Context) error {
				if byOwner {
					return released(compareAndExpire.Run(ctx, rdb, []string{key}, held.Token, ttl.Milliseconds()).Int64())
				}
				ok, err := rdb.PExpire(ctx, key, ttl).Result()
				if err == nil && !ok {
					err = locktest.ErrNotHeld
				}
				return err
			}
			return held, err
		}, err
	}
}

// until is a lock whose deadline is the time of the request plus the lease plus late. The lock is
// correct unless late is positive.
func until(late time.Duration) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		acquire, err := right(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			asked := time.Now()
			held, err := acquire(ctx, key, ttl)
			held.Until = func() time.Time { return asked.Add(ttl + late) }
			return held, err
		}, err
	}
}

// lease is the lock object of a library that returns a nil lease with an error.
type lease struct {
	release func(context.Context) error
	end     time.Time
}

func (l *lease) Release(ctx context.Context) error { return l.release(ctx) }
func (l *lease) Until() time.Time                  { return l.end }

// untilOfNoLease is a correct lock, but its adapter fills in Held without checking the error.
func untilOfNoLease(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := right(c)
	obtain := func(ctx context.Context, key string, ttl time.Duration) (*lease, error) {
		end := time.Now().Add(ttl - time.Second)
		held, err := acquire(ctx, key, ttl)
		if err != nil {
			return nil, err
		}
		return &lease{held.Release, end}, nil
	}
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		l, err := obtain(ctx, key, ttl)
		return locktest.Held{Release: l.Release, Until: l.Until}, err
	}, err
}

// panics is a correct lock, except that one of its goroutines panics at the fourth attempt.
func panics(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := right(c)
	n := 0
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		if n++; n == 4 {
			go func() { panic("the watchdog has no lease") }()
		}
		return acquire(ctx, key, ttl)
	}, err
}

// pooled is a correct lock. Several goroutines compete for the only connection of its Redis client.
func pooled(c *locktest.Client) (locktest.Acquire, error) {
	rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial, PoolSize: 1})
	c.Cleanup(func() { _ = rdb.Close() })
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		var looks sync.WaitGroup
		for range 3 {
			looks.Go(func() { rdb.Exists(ctx, key+":paused") })
		}
		looks.Wait()
		return owned(rdb, key, token), setNX(ctx, rdb, key, token, ttl)
	}, nil
}

// turns is a channel that a careless service keeps in a package variable. It belongs to the bubble
// of the process's first trial.
var turns = sync.OnceValue(func() chan int {
	c := make(chan int, 1)
	c <- 1
	return c
})

// kept is a correct lock, except that it uses a channel of an earlier trial. Go then kills the
// process, and Run runs the trial again in a new process.
func kept(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := right(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		turn := <-turns()
		defer func() { turns() <- turn }()
		return acquire(ctx, key, ttl)
	}, err
}

// shortLease takes milliseconds for seconds: its key lives for a thousandth of the lease.
func shortLease(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := right(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		return acquire(ctx, key, ttl/1000)
	}, err
}

// majority asks one node after the other for the lock. It holds the lock if a majority of the nodes
// granted it before the lease ended.
func majority(c *locktest.Client) (locktest.Acquire, error) {
	var nodes []*redis.Client
	for _, addr := range c.Addrs {
		rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: c.Dial, MaxRetries: -1, ReadTimeout: time.Second})
		c.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token, end, granted := rand.Text(), time.Now().Add(ttl-ttl/100), 0
		for _, rdb := range nodes {
			if setNX(ctx, rdb, key, token, ttl) == nil {
				granted++
			}
		}
		release := func(ctx context.Context) (err error) {
			for _, rdb := range nodes {
				_, err = compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64()
			}
			return err
		}
		held := locktest.Held{Token: token, Release: release, Until: func() time.Time { return end }}
		if granted <= len(nodes)/2 || !time.Now().Before(end) {
			_ = release(ctx)
			return held, locktest.ErrBusy
		}
		return held, nil
	}, nil
}
