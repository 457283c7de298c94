package locks

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// keyed makes one client process's handles on n locks, "k1" to "kn".
func keyed(t *testing.T, recipe string, c *Client, n int) []Lock {
	t.Helper()
	r, _ := ByID(recipe)
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]Lock, n)
	for i := range all {
		if all[i], err = maker(fmt.Sprintf("k%d", i+1), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// checkRenewals checks the times of a key's renewals, to the millisecond, counted from the start of the
// node.
func checkRenewals(t *testing.T, n *virtualNode, key string, want ...time.Duration) {
	t.Helper()
	got := n.times("compare-and-expire", key)
	for i := range got {
		got[i] = got[i].Truncate(time.Millisecond)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s was renewed at %v, want %v", key, got, want)
	}
}

func TestReentrantRenewalRenewsTheFirstEntryUntilTheLastRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newVirtualNode()
		l := keyed(t, "reentrant-renewal", virtualClient(t, n), 1)[0]
		lease := acquire(t, l)
		if again := acquire(t, l); again.Token != lease.Token || n.count("SET") != 1 {
			t.Errorf("re-entry has token %q after %d SETs, want %q after 1", again.Token, n.count("SET"), lease.Token)
		}
		for i := range 2 {
			time.Sleep(400 * time.Millisecond)
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Errorf("release %d: %v", i+1, err)
			}
		}
		time.Sleep(time.Minute)
		checkRenewals(t, n, "k1", 0)
		if err := l.Unlock(t.Context(), lease); err != ErrRefused {
			t.Errorf("release without an entry: got %v, want ErrRefused", err)
		}
	})
}

func TestTheEleventhRenewalWaitsForAThreadAndItsLockExpires(t *testing.T) {
	for _, recipe := range []string{"reentrant-renewal", "set-nx-ex-bounded-renewal"} {
		synctest.Test(t, func(t *testing.T) {
			n := newVirtualNode()
			for _, l := range keyed(t, recipe, virtualClient(t, n), 11) {
				acquire(t, l)
			}
			synctest.Wait()
			checkRenewals(t, n, "k10", 0)
			checkRenewals(t, n, "k11")
			time.Sleep(1001 * time.Millisecond)
			if n.holds("k11") != "" {
				t.Errorf("%s: the eleventh lock has not expired", recipe)
			}
			time.Sleep(time.Minute)
			checkRenewals(t, n, "k11", 4*time.Second, 5*time.Second, 6*time.Second, 7*time.Second)
		})
	}
}

func TestAReleasedRenewalKeepsItsThreadWhileItSleeps(t *testing.T) {
	for name, tt := range map[string]struct {
		again bool            // the client still holds the eleventh lock when the other renewals wake
		want  []time.Duration // when the eleventh lock was renewed
	}{
		"the flag is up again when they wake: they go on":   {true, []time.Duration{4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second}},
		"the flag is down when they wake: they end, as all": {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newVirtualNode()
				all := keyed(t, "reentrant-renewal", virtualClient(t, n), 11)
				for _, l := range all[:10] {
					lease := acquire(t, l)
					synctest.Wait()
					if err := l.Unlock(t.Context(), lease); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(500 * time.Millisecond)
				eleventh := acquire(t, all[10])
				if !tt.again {
					if err := all[10].Unlock(t.Context(), eleventh); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				checkRenewals(t, n, "k11", tt.want...)
			})
		})
	}
}

func TestReleasingOneLockEndsTheRenewalOfAnother(t *testing.T) {
	for _, recipe := range []string{"reentrant-renewal", "set-nx-ex-bounded-renewal"} {
		synctest.Test(t, func(t *testing.T) {
			n := newVirtualNode()
			all := keyed(t, recipe, virtualClient(t, n), 2)
			lease := acquire(t, all[0])
			acquire(t, all[1])
			time.Sleep(500 * time.Millisecond)
			if err := all[0].Unlock(t.Context(), lease); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			checkRenewals(t, n, "k2", 0)
		})
	}
}

func TestASlowCallForOneKeyHoldsUpTheCallsForAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newVirtualNode()
		n.slow = func(name, key string) time.Duration {
			if key == "k1" {
				return 3 * time.Second
			}
			return 0
		}
		all := keyed(t, "reentrant-renewal", virtualClient(t, n), 2)
		go func() { _, _ = all[0].TryLock(t.Context()) }()
		synctest.Wait()
		other := acquire(t, all[1])
		if got := time.Since(n.start); got != 3*time.Second {
			t.Errorf("the other lock was acquired after %v, want 3s", got)
		}
		// A re-entry sends no command, but it waits as well while the slow release runs.
		go func() { _ = all[0].Unlock(t.Context(), Lease{}) }()
		synctest.Wait()
		if again := acquire(t, all[1]); again.Token != other.Token || time.Since(n.start) != 6*time.Second {
			t.Errorf("the other lock was re-entered after %v, want 6s", time.Since(n.start))
		}
	})
}

func TestErrorsAreBusyAndReleasesSucceedRegardless(t *testing.T) {
	for _, recipe := range []string{"reentrant-local", "reentrant-renewal", "set-nx-ex-bounded-renewal"} {
		synctest.Test(t, func(t *testing.T) {
			n := newVirtualNode()
			l := keyed(t, recipe, virtualClient(t, n), 1)[0]
			n.failing(func(name, _ string) error {
				if name == "SET" {
					return errConnectionLost
				}
				return nil
			})
			if _, err := l.TryLock(t.Context()); !errors.Is(err, ErrBusy) || !errors.Is(err, ErrPresumed) || !errors.Is(err, errConnectionLost) {
				t.Errorf("%s: acquire without a reply: got %v, want ErrBusy, presumed for a lost connection", recipe, err)
			}
			n.failing(nil)
			lease := acquire(t, l)
			n.failing(func(string, string) error { return errConnectionLost })
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Errorf("%s: release without a reply: got %v, want nil", recipe, err)
			}
			n.failing(nil)
			time.Sleep(time.Minute)
			lease = acquire(t, l)
			time.Sleep(time.Minute)
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Errorf("%s: release of what has expired: got %v, want nil", recipe, err)
			}
		})
	}
}
