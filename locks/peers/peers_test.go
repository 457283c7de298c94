package peers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
)

const (
	name  = "k"
	lease = time.Minute
)

// world is nodes with one client process each for two people.
type world struct {
	nodes []redis.UniversalClient
	ours  locks.Lock
	other locks.Lock
}

// newWorld makes both people's handles on one lock of a recipe.
func newWorld(t *testing.T, r locks.Recipe, ttl time.Duration) world {
	t.Helper()
	n := 1
	if r.Topology == locks.Independent {
		n = 3
	}
	w := world{}
	var addrs []string
	for range n {
		addrs = append(addrs, redistest.Test(t).Addr())
	}
	w.ours, w.nodes = handle(t, r, "c0", addrs, ttl)
	w.other, _ = handle(t, r, "c1", addrs, ttl)
	return w
}

func handle(t *testing.T, r locks.Recipe, id string, addrs []string, ttl time.Duration) (locks.Lock, []redis.UniversalClient) {
	t.Helper()
	c := &locks.Client{
		ID: id, Addrs: addrs, Dial: (&net.Dialer{}).DialContext, Now: time.Now, Rand: rand.Reader, Context: t.Context(),
	}
	for _, addr := range addrs {
		node := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = node.Close() }) // the server goes with the test
		c.Nodes = append(c.Nodes, node)
	}
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := maker(name, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return l, c.Nodes
}

// onEach runs a test for each of the libraries.
func onEach(t *testing.T, test func(t *testing.T, r locks.Recipe)) {
	for _, r := range Recipes() {
		t.Run(r.ID, func(t *testing.T) { test(t, r) })
	}
}

func TestClaimsCanBeMeant(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		for _, ttl := range []time.Duration{time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute} {
			if err := r.CheckClaims(ttl, 5); err != nil {
				t.Errorf("a lease of %v: %v", ttl, err)
			}
		}
	})
}

func TestOneHoldsTheLockUntilItIsReleased(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		w := newWorld(t, r, lease)
		for range 2 {
			held, err := w.ours.TryLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.other.TryLock(t.Context()); !errors.Is(err, locks.ErrBusy) {
				t.Errorf("the other got %v, want ErrBusy", err)
			}
			if err := w.ours.Unlock(t.Context(), held); err != nil {
				t.Errorf("release: %v", err)
			}
			held, err = w.other.TryLock(t.Context())
			if err != nil {
				t.Fatalf("the other, after the release: %v", err)
			}
			if err := w.other.Unlock(t.Context(), held); err != nil {
				t.Errorf("the other's release: %v", err)
			}
		}
	})
}

// forget removes all keys from all nodes.
func (w world) forget(t *testing.T) {
	t.Helper()
	for _, n := range w.nodes {
		if err := n.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReleaseOfWhatIsAnothersSaysSoAndLeavesIt(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		w := newWorld(t, r, lease)
		held, err := w.ours.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.forget(t)
		lostSoon(t, held)
		theirs, err := w.other.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.ours.Unlock(t.Context(), held); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("release: %v, want ErrNotHeld", err)
		}
		if err := w.other.Unlock(t.Context(), theirs); err != nil {
			t.Errorf("the other's release: %v", err)
		}
	})
}

// lostSoon waits until a lease is known to be lost, where the library looks after it;
// where it does not, a lease ends with its deadline.
func lostSoon(t *testing.T, held locks.Lease) {
	t.Helper()
	if held.LostC == nil || !held.Deadline.IsZero() {
		return
	}
	select {
	case <-held.LostC:
	case <-time.After(10 * time.Second):
		t.Error("nobody told that the lease is lost")
	}
}

func TestALeaseIsProlongedWhileItIsHeld(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		w := newWorld(t, r, lease)
		extender, ok := w.ours.(locks.Extender)
		if !ok {
			t.Skip("the library renews by itself")
		}
		held, err := w.ours.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range w.nodes {
			n.PExpire(t.Context(), name, lease/2)
		}
		if _, err := extender.Extend(t.Context(), held); err != nil {
			t.Errorf("extend: %v", err)
		}
		if left := w.nodes[0].PTTL(t.Context(), name).Val(); left <= lease/2 {
			t.Errorf("the key lives for %v, want about %v", left, lease)
		}
		w.forget(t)
		if _, err := extender.Extend(t.Context(), held); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("extend what is lost: %v, want ErrNotHeld", err)
		}
	})
}

func TestAKeyEndsWithItsLease(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		w := newWorld(t, r, lease)
		held, err := w.ours.TryLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		keys := w.nodes[0].Keys(t.Context(), "*").Val()
		if len(keys) != 1 || !strings.HasSuffix(keys[0], name) {
			t.Fatalf("keys %q, want one", keys)
		}
		if left := w.nodes[0].PTTL(t.Context(), keys[0]).Val(); left <= lease/2 || left > lease {
			t.Errorf("the key lives for %v, want about %v", left, lease)
		}
		if d := held.Deadline; !d.IsZero() && (time.Until(d) > lease || time.Until(d) < lease*9/10) {
			t.Errorf("the lease is claimed for %v, want a little less than %v", time.Until(d), lease)
		}
	})
}

// Of a lock on one node nobody can tell who has it if the node does not answer; who
// has too few nodes of several has nothing.
func TestAnAttemptThatNobodyAnswersIsNoGrant(t *testing.T) {
	for _, r := range []locks.Recipe{redsyncOnOne(), redsyncQuorum(), redislockRecipe()} {
		t.Run(r.ID, func(t *testing.T) {
			w := newWorld(t, r, time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := w.ours.TryLock(ctx); err == nil || errors.Is(err, locks.ErrBusy) {
				t.Errorf("on a context that has ended: %v, want an unknown outcome", err)
			}
		})
	}
}

func TestRefusesWhatIsNoLock(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		maker, err := r.New(&locks.Client{Context: t.Context()})
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct {
			key string
			ttl time.Duration
		}{{"", time.Second}, {name, 0}, {name, time.Microsecond}} {
			if _, err := maker(bad.key, bad.ttl); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad.key)) {
				t.Errorf("lock %q with a lease of %v: %v, want an error that names it", bad.key, bad.ttl, err)
			}
		}
	})
}
