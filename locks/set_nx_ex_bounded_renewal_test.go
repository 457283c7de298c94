package locks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

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
