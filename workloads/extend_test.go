package workloads_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// gullible is a lock whose extension does not check the owner: it sets the key anew even if
// another client has it.
type gullible struct {
	client *locks.Client
	key    string
	ttl    time.Duration
}

func init() {
	locks.Register(locks.Recipe{
		ID: "test-gullible", Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl, Extends: true}
		},
		New: func(c *locks.Client) (locks.Maker, error) {
			return func(key string, ttl time.Duration) (locks.Lock, error) { return &gullible{c, key, ttl}, nil }, nil
		},
	})
}

// TryLock implements locks.Lock.
func (l *gullible) TryLock(ctx context.Context) (locks.Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return locks.Lease{}, err
	}
	lease, start := locks.Lease{Token: token}, l.client.Now()
	err = l.client.Nodes[0].Do(ctx, "SET", l.key, token, "NX", "PX", l.ttl.Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return lease, locks.ErrBusy
	}
	lease.Deadline = start.Add(l.ttl)
	return lease, err
}

// Extend implements locks.Extender.
func (l *gullible) Extend(ctx context.Context, lease locks.Lease) (locks.Lease, error) {
	start := l.client.Now()
	err := l.client.Nodes[0].Do(ctx, "SET", l.key, lease.Token, "PX", l.ttl.Milliseconds()).Err()
	lease.Deadline = start.Add(l.ttl)
	return lease, err
}

// Unlock implements locks.Lock.
func (l *gullible) Unlock(ctx context.Context, lease locks.Lease) error {
	const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`
	n, err := l.client.Nodes[0].Eval(ctx, release, []string{l.key}, lease.Token).Int()
	if err == nil && n == 0 {
		return locks.ErrNotHeld
	}
	return err
}

// said returns the verdict of one oracle on a trial.
func said(t *testing.T, e history.Evidence, oracle string) checker.Verdict {
	t.Helper()
	all := verdicts(t, e)
	i := slices.IndexFunc(all, func(v checker.Verdict) bool { return v.Oracle == oracle })
	if i < 0 {
		t.Fatalf("no oracle %s", oracle)
	}
	return all[i]
}

func extensions(e history.Evidence, of history.Type) (n int) {
	for _, op := range e.Ops {
		if op.F == history.FExtend && op.Type == of {
			n++
		}
	}
	return n
}

func TestGoodLocksExtendInTimeAndRefuseWhatIsLate(t *testing.T) {
	for _, lock := range []string{"fenced", "redlock-drift"} {
		ok, refused := 0, 0
		for seed := range uint64(6) {
			s := spec(lock, "extend", seed)
			if r, _ := locks.ByID(lock); r.Topology == locks.Independent {
				s.Topology, s.Nodes = "independent", 5
			}
			e := run(t, s)
			ok, refused = ok+extensions(e, history.OK), refused+extensions(e, history.Fail)
			for _, oracle := range []string{"exclusion", "extension", "ownership", "liveness"} {
				if v := said(t, e, oracle); v.Result != checker.Held {
					t.Errorf("%s, seed %d: %s is %s: %s %v", lock, seed, oracle, v.Result, v.Why, v.Findings)
				}
			}
		}
		if ok == 0 || refused == 0 {
			t.Errorf("%s: %d extensions were ok and %d refused: want some of each", lock, ok, refused)
		}
	}
}

func TestAnExtensionThatAsksNobodyIsFound(t *testing.T) {
	late, beside := 0, 0
	for seed := range uint64(6) {
		e := run(t, spec("test-gullible", "extend", seed))
		if said(t, e, "extension").Result == checker.Violated {
			late++
		}
		if said(t, e, "exclusion").Result == checker.Violated {
			beside++
		}
	}
	if late == 0 || beside == 0 {
		t.Errorf("of 6 trials extension is violated in %d, exclusion in %d: want some", late, beside)
	}
}

func TestExtendSuitsOnlyLocksThatExtend(t *testing.T) {
	for _, p := range suiting("set-nx-px", "redisson", "rw-hash") {
		if p[1] == "extend" {
			t.Errorf("%s cannot extend", p[0])
		}
	}
}
