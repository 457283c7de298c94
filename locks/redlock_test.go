package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

const fiveNodes = 5

// redlockLease is long, so that a slow machine does not look like a dead node.
const redlockLease = time.Minute

// foreign makes another owner hold the key on the first n nodes.
func foreign(t *testing.T, c *Client, n int) {
	t.Helper()
	for _, node := range c.Nodes[:n] {
		if err := node.Set(t.Context(), "k", "another's", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// values returns the key's value on each node; "" = no key.
func values(t *testing.T, c *Client) []string {
	t.Helper()
	all := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		all[i] = node.Get(t.Context(), "k").Val()
	}
	return all
}

// freeze stops the node with SIGSTOP until the test ends or thaw is called.
func freeze(t *testing.T, n int) (thaw func()) {
	t.Helper()
	servers.Lock()
	s := servers.running[n]
	servers.Unlock()
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	thaw = func() {
		if err := s.Resume(); err != nil {
			t.Errorf("resume node: %v", err)
		}
	}
	t.Cleanup(thaw)
	return thaw
}

func TestARedlockIsHeldByAMajority(t *testing.T) {
	const drift = redlockLease/100 + 2*time.Millisecond
	for recipe, claims := range map[string]time.Duration{ // from before the first request; 0 = no deadline
		"redlock": redlockLease, "redlock-drift": redlockLease - drift, "redlock-delayed-restart": redlockLease - drift, "redlock-naive": 0,
	} {
		for taken := range fiveNodes + 1 {
			t.Run(fmt.Sprintf("%s, %d of 5 nodes are another's", recipe, taken), func(t *testing.T) {
				c := newClientOn(t, 0, fiveNodes)
				foreign(t, c, taken)
				before := time.Now()
				lease, err := newLock(t, recipe, c, redlockLease).TryLock(t.Context())
				after := time.Now()
				held := taken <= 2
				if held && err != nil || !held && !errors.Is(err, ErrBusy) {
					t.Errorf("got %v, want held %t", err, held)
				}
				if !held || claims == 0 {
					if !lease.Deadline.IsZero() {
						t.Errorf("deadline %v, want none", lease.Deadline)
					}
				} else if least, most := before.Add(claims-time.Millisecond), after.Add(claims); lease.Deadline.Before(least) || lease.Deadline.After(most) {
					t.Errorf("deadline %v, want %v to %v", lease.Deadline, least, most)
				}
				want := slices.Concat(slices.Repeat([]string{"another's"}, taken), slices.Repeat([]string{""}, fiveNodes-taken))
				for i := taken; held && i < fiveNodes; i++ {
					want[i] = lease.Token
				}
				// redlock-naive does not wait until its refused grants are given back.
				eventually(t, "the nodes hold what they should", func() bool { return slices.Equal(values(t, c), want) })
			})
		}
	}
}

func TestRedlockGivesBackOnEveryNodeWhateverItAnswered(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	loadScripts(t, c, compareAndDelete)
	foreign(t, c, 3)
	l := newLock(t, "redlock", c, redlockLease)
	for n, refused := range map[int]bool{0: true, 4: false} {
		var lease Lease
		got := wire(seenOn(t, n, func() { lease, _ = l.TryLock(t.Context()) }))
		want := []string{"SET k $token NX PX 60000", "EVALSHA compare-and-delete 1 k $token", "lua GET k"}
		if !refused {
			want = append(want, "lua DEL k")
		}
		if want = withToken(want, lease.Token); !slices.Equal(got, want) {
			t.Errorf("node %d saw\n%q, want\n%q", n, got, want)
		}
	}
}

func TestRedlockClaimsUntilTheLeaseCountedFromBeforeTheFirstRequest(t *testing.T) {
	tests := []struct {
		name    string
		elapsed time.Duration // by the client's wall clock, during the requests
		held    bool
	}{
		{"at once", 0, true},
		{"just within the lease", redlockLease - time.Millisecond, true},
		{"exactly the lease", redlockLease, false},
		{"longer than the lease", time.Hour, false},
		{"the clock was set back", -time.Hour, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClientOn(t, 0, fiveNodes)
			start := time.UnixMilli(1_000_000)
			readings := 0
			c.Now = func() time.Time {
				readings++
				if readings == 1 {
					return start.Add(300 * time.Microsecond)
				}
				return start.Add(tt.elapsed)
			}
			lease, err := newLock(t, "redlock", c, redlockLease).TryLock(t.Context())
			switch {
			case tt.held && (err != nil || !lease.Deadline.Equal(start.Add(redlockLease))):
				t.Errorf("got deadline %v, %v, want held until %v", lease.Deadline, err, start.Add(redlockLease))
			case !tt.held && !errors.Is(err, ErrBusy):
				t.Errorf("got %v, want ErrBusy", err)
			case !tt.held && !slices.Equal(values(t, c), make([]string, fiveNodes)):
				t.Errorf("the nodes still hold %q", values(t, c))
			}
		})
	}
}

func TestRedlockWithFrozenNodes(t *testing.T) {
	for frozen := 1; frozen <= 3; frozen++ {
		t.Run(fmt.Sprintf("%d of 5", frozen), func(t *testing.T) {
			c := newClientOn(t, 0, fiveNodes)
			var thaw []func()
			for n := range frozen {
				thaw = append(thaw, freeze(t, n))
			}
			l := newLock(t, "redlock", c, redlockLease)
			lease, err := l.TryLock(t.Context())
			if held := frozen <= 2; held && err != nil || !held && !errors.Is(err, ErrBusy) {
				t.Errorf("acquire: got %v, want held %t", err, held)
			}
			if err == nil {
				if err := l.Unlock(t.Context(), lease); err != nil {
					t.Errorf("release by a majority: %v", err)
				}
			} else if err := l.Unlock(t.Context(), lease); err == nil || errors.Is(err, ErrNotHeld) {
				t.Errorf("release with a majority frozen: got %v, want unknown", err)
			}
			for _, resume := range thaw {
				resume()
			}
			eventually(t, "the nodes that live are free", func() bool {
				return slices.Equal(values(t, c)[frozen:], make([]string, fiveNodes-frozen))
			})
		})
	}
}

func TestRedlockGivesBackEvenIfItsContextEnded(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	foreign(t, c, 2)
	ctx, cancel := context.WithCancel(t.Context())
	readings := 0
	c.Now = func() time.Time {
		if readings++; readings == 2 { // after the requests to the nodes
			cancel()
		}
		return time.UnixMilli(1_000_000).Add(time.Duration(readings) * time.Minute)
	}
	lease, err := newLock(t, "redlock", c, redlockLease).TryLock(ctx)
	if !errors.Is(err, context.Canceled) || lease.Token == "" {
		t.Errorf("got %v with token %q, want the context's error and the token that was sent", err, lease.Token)
	}
	if got, want := values(t, c), []string{"another's", "another's", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("the nodes hold %q, want %q", got, want)
	}
}

func TestRedlockWaitsForANodeAFractionOfTheLease(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 5 * time.Millisecond,
		300 * time.Millisecond: 15 * time.Millisecond,
		time.Second:            50 * time.Millisecond,
		10 * time.Second:       50 * time.Millisecond,
		time.Minute:            300 * time.Millisecond,
	} {
		if got := redlockNodeTimeout(ttl); got != want {
			t.Errorf("lease %v: a node is waited for %v, want %v", ttl, got, want)
		}
		for _, id := range []string{"redlock", "redlock-drift", "redlock-delayed-restart"} {
			r, _ := ByID(id)
			if got := r.Claims(ttl, 5).Timeout; got != want {
				t.Errorf("%s, lease %v: claims a timeout of %v, want %v", id, ttl, got, want)
			}
		}
	}
}
