package workloads_test

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/workloads"
)

// A lock whose renewals each have their own stop flag keeps its lease when the client releases
// another lock. D3's lock loses the lease, because all its renewals share one flag. The workload
// mutex shows a renewal that races the key's expiry; such a renewal must not count as stopped.
func TestTheReleaseOfOneLockStopsTheRenewalOfAnother(t *testing.T) {
	for _, c := range []struct {
		lock, workload    string
		violated, stopped bool
	}{
		{"set-nx-ex-bounded-renewal", "two-locks", true, true},
		{"set-nx-ex-bounded-renewal", "mutex", true, false},
		{"set-nx-px-watchdog", "two-locks", false, false},
		{"reentrant-hash-watchdog", "two-locks", false, false},
		{"redisson", "two-locks", false, false},
	} {
		violated, stopped := false, false
		for seed := range uint64(4) {
			s := spec(c.lock, c.workload, seed)
			if c.workload == "mutex" {
				s.Options.Overrun = 1
			}
			e := run(t, s)
			if c.workload == "two-locks" && nested(t, e) == 0 {
				t.Fatalf("%s, seed %d: nobody held both locks", c.lock, seed)
			}
			for _, f := range said(t, e, "exclusion").Findings {
				violated = true
				if f.Cause != checker.RenewalFailed {
					t.Errorf("%s, %s, seed %d: %s: %s", c.lock, c.workload, seed, f.Cause, f.Summary)
				}
				stopped = stopped || slices.ContainsFunc(f.Account.Reasons, func(r account.Fact) bool { return r.What == account.RenewalStopped })
			}
		}
		if violated != c.violated || stopped != c.stopped {
			t.Errorf("%s, %s: violated %v, by a stopped renewal %v; want %v, %v", c.lock, c.workload, violated, stopped, c.violated, c.stopped)
		}
	}
}

// two-locks is a standard workload, and suits exactly the recipes with a watchdog that are no
// read-write locks.
func TestTwoLocksSuitsWhatRenews(t *testing.T) {
	w, _ := workloads.ByName("two-locks")
	if !w.Standard {
		t.Error("the workload is not standard")
	}
	for _, r := range locks.All() {
		claims := r.Claims(spec(r.ID, "mutex", 0).Options.TTL, 5)
		if got, want := w.Suits(claims), claims.Renews && !claims.ReadWrite; got != want {
			t.Errorf("%s: suits: %v, want %v", r.ID, got, want)
		}
	}
	if w.Suits(history.Claims{}) {
		t.Error("it suits a lock that nothing renews")
	}
}
