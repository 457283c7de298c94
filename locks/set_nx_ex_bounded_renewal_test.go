package locks

import (
	"context"
	"slices"
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

func TestBoundedRenewalComesAfterWholeLeasesFourTimes(t *testing.T) {
	for name, lost := range map[string]bool{"renewed": false, "lost: the reply is ignored": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newVirtualNode()
				acquire(t, newLock(t, "set-nx-ex-bounded-renewal", virtualClient(t, n), 1500*time.Millisecond))
				if synctest.Wait(); lost {
					n.do("DEL", "k")
				}
				time.Sleep(time.Minute)
				checkRenewals(t, n, "k", 0, 2*time.Second, 4*time.Second, 6*time.Second)
			})
		})
	}
}

func TestAFailingRenewalSpinsUncountedUntilTheClientProcessEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newVirtualNode()
		c := virtualClient(t, n)
		var end context.CancelFunc
		c.Context, end = context.WithCancel(t.Context())
		n.failing(func(name, _ string) error {
			if name == "compare-and-expire" {
				return errConnectionLost
			}
			return nil
		})
		acquire(t, newLock(t, "set-nx-ex-bounded-renewal", c, time.Second))
		time.Sleep(time.Second)
		end()
		synctest.Wait()
		tries := n.count("compare-and-expire")
		time.Sleep(time.Second)
		if after := n.count("compare-and-expire"); tries < 100 || after != tries {
			t.Errorf("%d attempts within a lease time and %d after the process's end, want a spin and none", tries, after-tries)
		}
	})
}
