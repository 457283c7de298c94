package redsync_test

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// bugs maps a version of redsync to the bug in it. The flag -modfile chooses the version with which
// the test is built, as in go test -modfile=v4.0.3.mod.
var bugs = map[string]bug.Bug{
	"v4.0.3": {
		Name:     "redsync-extend-always",
		Title:    "go-redsync/redsync 5e3c32b",
		Link:     "https://github.com/go-redsync/redsync/commit/5e3c32b",
		FixedIn:  "v4.0.4",
		Language: "Go",
		Story:    "Unlock and Extend compared the script's answer, an int64 in an interface, with the wrong type: they reported success whatever the script had answered.",
		Command:  "cd redsync && go test -v -modfile=v4.0.3.mod .",
		Fault:    "none", Flaw: "extension by lease-outlived",
	},
	"v4.12.0": {
		Name:     "redsync-extend-cleanup",
		Title:    "go-redsync/redsync #151",
		Link:     "https://github.com/go-redsync/redsync/pull/151",
		FixedIn:  "v4.12.1",
		Language: "Go",
		Story:    "If one node did not answer an extension, all of them were asked to release the lock, while Extend still reported success for the majority that had answered.",
		Options:  locktest.Options{Nodes: 5},
		Command:  "cd redsync && go test -v -modfile=v4.12.0.mod .",
		Fault:    "lost-reply", Flaw: "exclusion by race",
		// Some schedules of the fault eviction also cut a client off from a minority of the nodes.
		// An attempt that waits for these nodes may leave keys behind. Under other faults such keys
		// would be a limit of any lease, but under eviction they count as a flaw of the lock.
		OtherBugsLeft: true,
	},
}

// mended maps a version of redsync that fixed a bug to the version that had the bug.
var mended = map[string]string{"v4.0.4": "v4.0.3", "v4.12.1": "v4.12.0"}

func TestHistory(t *testing.T) {
	v := version(t)
	if had, ok := mended[v]; ok {
		b := bugs[had]
		b.After = subject
		t.Run(b.Name+"/after", func(t *testing.T) { b.Gone(t) })
		return
	}
	b, ok := bugs[v]
	if !ok {
		t.Fatalf("redsync %s is none of the versions that this test knows", v)
	}
	b.Before = subject
	t.Run(b.Name+"/before", func(t *testing.T) { b.Print(b.Found(t)) })
}

// version returns the version of redsync that the test was built with. It reads the path of
// redsync's source, because a test has no other record of the version.
func version(t *testing.T) string {
	f := runtime.FuncForPC(reflect.ValueOf(redsync.New).Pointer())
	file, _ := f.FileLine(f.Entry())
	v := regexp.MustCompile(`/redsync/v4@(v[^/]+)/`).FindStringSubmatch(file)
	if v == nil {
		t.Fatalf("%s names no version of redsync", file)
	}
	return v[1]
}

// subject is redsync on redigo.
func subject(c *locktest.Client) (locktest.Acquire, error) {
	var pools []redsyncredis.Pool
	for _, addr := range c.Addrs {
		pool := &redis.Pool{MaxIdle: 2, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", addr, redis.DialContextFunc(c.Dial), redis.DialReadTimeout(5*time.Second))
		}}
		c.Cleanup(func() { _ = pool.Close() })
		pools = append(pools, redigo.NewPool(pool))
	}
	rs := redsync.New(pools...)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		value := redsync.WithGenValueFunc(func() (string, error) { return token, nil })
		m := rs.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1), value)
		if err := m.LockContext(ctx); errors.Is(err, redsync.ErrFailed) {
			return locktest.Held{}, locktest.ErrBusy
		} else if err != nil {
			return locktest.Held{}, err
		}
		return locktest.Held{
			Token:   token,
			Release: func(ctx context.Context) error { return result(m.UnlockContext(ctx)) },
			Extend:  func(ctx context.Context) error { return result(m.ExtendContext(ctx)) },
		}, nil
	}, nil
}

// result translates the library's results to those of locktest. False without an error means that
// the majority no longer had the lock.
func result(ok bool, err error) error {
	if err == nil && !ok {
		return locktest.ErrNotHeld
	}
	return err
}
