package campaign

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// doer sends one command through a Redis library. The reply is nil for a null reply.
type doer func(ctx context.Context, args ...string) (any, error)

// libraries are Redis clients other than go-redis. They know only the testbed's dialer.
var libraries = map[string]func(*locks.Client) (doer, error){
	"test-redigo": redigoDoer,
}

func init() {
	for id, connect := range libraries {
		registerLibrary(id, connect, (*locks.Client).Token)
	}
}

// registerLibrary registers SET NX PX with compare-and-delete over a library.
func registerLibrary(id string, connect func(*locks.Client) (doer, error), token func(*locks.Client) (string, error)) {
	locks.Register(locks.Recipe{
		ID: id, Document: "tests", Summary: "SET NX PX over another library", Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl}
		},
		New: func(c *locks.Client) (locks.Maker, error) {
			var do doer
			return func(key string, ttl time.Duration) (locks.Lock, error) {
				if do == nil {
					var err error
					if do, err = connect(c); err != nil {
						return nil, err
					}
				}
				return &foreign{do: do, key: key, ttl: ttl, token: func() (string, error) { return token(c) }}, nil
			}, nil
		},
	})
}

// foreign is a SET NX PX lock that sends its commands through a doer.
type foreign struct {
	do    doer
	key   string
	ttl   time.Duration
	token func() (string, error)
}

const compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`

func (f *foreign) TryLock(ctx context.Context) (locks.Lease, error) {
	token, err := f.token()
	if err != nil {
		return locks.Lease{}, err
	}
	reply, err := f.do(ctx, "SET", f.key, token, "NX", "PX", "1000")
	switch {
	case err != nil:
		return locks.Lease{Token: token}, err
	case reply == nil:
		return locks.Lease{}, locks.ErrBusy
	}
	return locks.Lease{Token: token}, nil
}

func (f *foreign) Unlock(ctx context.Context, l locks.Lease) error {
	reply, err := f.do(ctx, "EVAL", compareAndDelete, "1", f.key, l.Token)
	if err == nil && reply != int64(1) {
		err = locks.ErrNotHeld
	}
	return err
}

func redigoDoer(c *locks.Client) (doer, error) {
	pool := &redis.Pool{MaxIdle: 4, DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := c.Dial(ctx, "tcp", c.Addrs[0])
		if err != nil {
			return nil, err
		}
		return redis.NewConn(conn, 500*time.Millisecond, 500*time.Millisecond), nil
	}}
	return func(ctx context.Context, args ...string) (any, error) {
		conn, err := pool.GetContext(ctx)
		if err != nil {
			return nil, err
		}
		words := make([]any, len(args)-1)
		for i, a := range args[1:] {
			words[i] = a
		}
		reply, err := conn.Do(args[0], words...)
		return reply, errors.Join(err, conn.Close())
	}, nil
}

// someTrials returns a recipe's trials under some faults, as a campaign plans them.
func someTrials(t *testing.T, tb testbed.Testbed, lock string, faults ...string) (specs []trial.Spec) {
	t.Helper()
	for _, fault := range faults {
		s := specOf(t, tb, simConfig(t), lock, fault, "mutex", 0)
		specs = append(specs, s)
	}
	return specs
}

// simConfig returns a configuration of short trials in the simulation.
func simConfig(t *testing.T) Config {
	c := DefaultConfig()
	c.Testbed, c.Store, c.Duration = "sim", t.TempDir(), 3*time.Second
	return c
}

// Clients of other Redis libraries, which use only the testbed's dialer, are tested like go-redis
// clients, and do the same in every run.
func TestOtherLibrariesDoTheSameEachTime(t *testing.T) {
	tb := sim.New()
	for lock := range libraries {
		t.Run(lock, func(t *testing.T) {
			for _, s := range someTrials(t, tb, lock, undisturbed, "client-pause", "partition", "lost-reply", "reset") {
				want := ""
				for run, procs := range []int{1, 2, 4} {
					e := ran(t, tb, s, procs)
					if got := history.Hash(e); want == "" {
						want = got
					} else if got != want {
						t.Errorf("under %s: run %d differs", s.Fault, run+1)
					}
					if granted := len(trial.AcquireTimes(e)); granted < 3 {
						t.Errorf("under %s: the lock was granted %d times", s.Fault, granted)
					}
				}
			}
		})
	}
}

// ran runs a trial on the given number of processors and returns its evidence.
func ran(t *testing.T, tb testbed.Testbed, s trial.Spec, procs int) history.Evidence {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	e, err := trial.Run(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
