package workloads_test

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/workloads"
)

// accounts returns the balances after the last writes, by lock.
func accounts(e history.Evidence) map[string]int64 {
	last := map[string]int64{}
	for _, op := range e.Ops {
		if op.F == history.FWrite && op.Type == history.OK {
			last[op.Lock] = op.Value[0]
		}
	}
	return last
}

// nested counts the grants of a second lock to a client that holds a first one.
func nested(t *testing.T, e history.Evidence) (n int) {
	t.Helper()
	holds, err := checker.Holds(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range holds {
		if slices.ContainsFunc(holds, func(g checker.Hold) bool {
			return g.Client == h.Client && g.Lock < h.Lock && g.From < h.From && h.From < g.To
		}) {
			n++
		}
	}
	return n
}

func TestATransferHoldsTwoLocksAndLosesNothing(t *testing.T) {
	for _, lock := range []string{"set-nx-px", "fenced", "redisson"} {
		for seed := range uint64(4) {
			s := spec(lock, "transfer", seed)
			s.Options.Keys = 2 + int(seed%2)
			e := run(t, s)
			sum := int64(0)
			for _, a := range accounts(e) {
				sum += a
			}
			if n := nested(t, e); sum != 0 || n == 0 {
				t.Errorf("%s, seed %d: accounts add up to %d, %d times both locks were held", lock, seed, sum, n)
			}
			for _, oracle := range []string{"exclusion", "resource", "liveness"} {
				if v := said(t, e, oracle); v.Result != checker.Held {
					t.Errorf("%s, seed %d: %s is %s: %s %v", lock, seed, oracle, v.Result, v.Why, v.Findings)
				}
			}
		}
	}
}

// Every workload runs with several locks and with ClientTokens. set-nx-px uses the clients' tokens;
// reentrant-hash accepts no tokens, and still draws its own.
func TestClientsChooseTheirTokens(t *testing.T) {
	for _, p := range suiting("set-nx-px", "reentrant-hash") {
		s := spec(p[0], p[1], 3)
		s.Options.Tokens, s.Options.Keys = workloads.ClientTokens, 2
		e := run(t, s)
		own := 0
		for _, op := range e.Ops {
			if op.F == history.FAcquire && op.Lease != nil && op.Lease.Token == []string{"client-0", "client-1", "client-2"}[op.Client] {
				own++
			}
		}
		if takes := p[0] == "set-nx-px"; takes != (own > 0) {
			t.Errorf("%s, %s: %d acquires with the client's own token", p[0], p[1], own)
		}
		if v := said(t, e, "exclusion"); v.Result != checker.Held {
			t.Errorf("%s, %s: exclusion is %s: %v", p[0], p[1], v.Result, v.Findings)
		}
	}
}
