package locks

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestBoundedRenewalAsksForTheOwnerAtOnce(t *testing.T) {
	c := newClient(t, 0)
	loadScripts(t, c, compareAndDelete, compareAndExpire)
	l := newLock(t, "set-nx-ex-bounded-renewal", c, 1500*time.Millisecond)
	var lease Lease
	renewed := make(chan struct{})
	c.Nodes[0].AddHook(hook(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if cmd.Name() == "evalsha" {
			close(renewed)
		}
		return err
	}))
	got := wire(seen(t, func() {
		lease = acquire(t, l)
		<-renewed
	}))
	want := withToken([]string{"SET k $token EX 2 NX", "EVALSHA compare-and-expire 1 k $token 2", "lua GET k", "lua EXPIRE k 2"}, lease.Token)
	if !slices.Equal(got, want) {
		t.Errorf("the node saw\n%q, want\n%q", got, want)
	}
	checkLife(t, c, 2*time.Second)
}

func TestBoundedRenewalLeavesAnothersKeyAlone(t *testing.T) {
	c := newClient(t, 0)
	if err := c.Nodes[0].Set(t.Context(), "k", "another's", time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	renewed, err := compareAndExpire.Run(t.Context(), c.Nodes[0], []string{"k"}, "mine", 100).Int()
	if err != nil || renewed != 0 {
		t.Errorf("renewal answers %d, %v, want 0", renewed, err)
	}
	if got := life(t, c, "k"); got > time.Second {
		t.Errorf("the other's key lives for %v", got)
	}
}

// diaryOf is a redis.Scripter that answers each script with reply and err. It records when the script
// ran for each key, counted from start by the clock of the synctest bubble.
type diaryOf struct {
	redis.Scripter
	start time.Time
	err   error
	reply int64

	mu    sync.Mutex
	calls map[string][]time.Duration
}

func (d *diaryOf) EvalSha(_ context.Context, _ string, keys []string, _ ...any) *redis.Cmd {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[keys[0]] = append(d.calls[keys[0]], time.Since(d.start).Truncate(time.Millisecond))
	return redis.NewCmdResult(d.reply, d.err)
}

func newDiary(reply int64, err error) *diaryOf {
	return &diaryOf{start: time.Now(), reply: reply, err: err, calls: map[string][]time.Duration{}}
}

func TestBoundedRenewalComesAfterWholeLeasesFourTimes(t *testing.T) {
	for name, reply := range map[string]int64{"renewed": 1, "lost: the reply is ignored": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, r := newDiary(reply, nil), &boundedRenewal{}
				r.open.Store(true)
				r.run(t.Context(), d, "k", "token", 1500*time.Millisecond)
				if want := []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second}; !slices.Equal(d.calls["k"], want) {
					t.Errorf("renewals at %v, want %v", d.calls["k"], want)
				}
			})
		})
	}
}

func TestReleasingOneLockEndsTheRenewalOfAllOthersOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDiary(1, nil), &boundedRenewal{}
		r.open.Store(true)
		for _, key := range []string{"a", "b"} {
			go r.run(t.Context(), d, key, "token", time.Second)
		}
		time.Sleep(500 * time.Millisecond)
		r.stop() // as the release of lock "a" does
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(d.calls["b"]); got != 1 {
			t.Errorf("b was renewed %d times, want only before a was released", got)
		}
	})
}

func TestAFailingRenewalSpinsUncountedUntilTheClientProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d, r := newDiary(0, errConnectionLost), &boundedRenewal{}
		r.open.Store(true)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.run(ctx, d, "k", "token", time.Second)
		}()
		time.Sleep(time.Second)
		cancel()
		<-ended
		if got := len(d.calls["k"]); got < 100 {
			t.Errorf("%d attempts within a lease time, want a spin", got)
		}
	})
}
