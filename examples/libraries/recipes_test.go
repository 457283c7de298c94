package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockstorm/lockstorm/locks"
)

const lease = time.Minute

// handle makes a client process's handle on one lock of a recipe.
func handle(t *testing.T, r locks.Recipe, id, addr, key string, ttl time.Duration) (locks.Lock, error) {
	t.Helper()
	maker, err := r.New(&locks.Client{
		ID: id, Addrs: []string{addr}, Dial: (&net.Dialer{}).DialContext, Now: time.Now, Rand: rand.Reader, Context: t.Context(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return maker(key, ttl)
}

// pair makes two clients' handles on one lock.
func pair(t *testing.T, r locks.Recipe) (node *miniredis.Miniredis, ours, other locks.Lock) {
	t.Helper()
	node = miniredis.RunT(t)
	var both [2]locks.Lock
	for i := range both {
		l, err := handle(t, r, fmt.Sprint("c", i), node.Addr(), "k", lease)
		if err != nil {
			t.Fatal(err)
		}
		both[i] = l
	}
	return node, both[0], both[1]
}

// onEach runs a test for each recipe that miniredis can serve. miniredis has no client-side
// caching.
func onEach(t *testing.T, test func(t *testing.T, r locks.Recipe)) {
	for _, r := range recipes() {
		if strings.HasPrefix(r.ID, "valkeylock") && r.ID != "valkeylock-untracked" {
			continue
		}
		t.Run(r.ID, func(t *testing.T) { test(t, r) })
	}
}

// granted acquires a free lock. Valkeylock waits 20 ms for each reply, which may be too short on a
// busy machine. After a late reply, granted tries again until the key of the late attempt has gone.
func granted(t *testing.T, l locks.Lock) locks.Lease {
	t.Helper()
	late := false
	for range 100 {
		held, err := l.TryLock(t.Context())
		late = late || errors.Is(err, context.DeadlineExceeded)
		switch {
		case err == nil:
			return held
		case !late:
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("no attempt was granted")
	return locks.Lease{}
}

func TestOneHoldsTheLockUntilItIsReleased(t *testing.T) {
	onEach(t, func(t *testing.T, r locks.Recipe) {
		node, ours, other := pair(t, r)
		for range 2 {
			held := granted(t, ours)
			if held.Token != "" {
				if value, err := node.Get("k"); err != nil || value != held.Token {
					t.Errorf("the key has %q, %v; the lease's token is %q", value, err, held.Token)
				}
			}
			_, err := other.TryLock(t.Context())
			for tries := 0; errors.Is(err, context.DeadlineExceeded) && tries < 100; tries++ { // as in granted: the wait may be too short
				_, err = other.TryLock(t.Context())
			}
			if !errors.Is(err, locks.ErrBusy) {
				t.Errorf("the other got %v, want ErrBusy", err)
			}
			if err := ours.Unlock(t.Context(), held); err != nil {
				t.Errorf("release: %v", err)
			}
			held = granted(t, other)
			if err := other.Unlock(t.Context(), held); err != nil {
				t.Errorf("the other's release: %v", err)
			}
		}
	})
}

func TestGoZeroTellsWhatIsLost(t *testing.T) {
	for _, v := range goZeroVariants {
		t.Run(v.id, func(t *testing.T) {
			node, ours, other := pair(t, v.recipe())
			held := granted(t, ours)
			node.FlushAll()
			theirs := granted(t, other)
			if _, err := ours.(locks.Extender).Extend(t.Context(), held); !errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("extend: %v, want ErrNotHeld", err)
			}
			if err := ours.Unlock(t.Context(), held); !errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("release: %v, want ErrNotHeld", err)
			}
			if err := other.Unlock(t.Context(), theirs); err != nil {
				t.Errorf("the other's release: %v", err)
			}
		})
	}
}

func TestGoZeroForgetsReleasedLocks(t *testing.T) {
	for _, v := range goZeroVariants {
		_, l, _ := pair(t, v.recipe())
		for range 3 {
			if err := l.Unlock(t.Context(), granted(t, l)); err != nil {
				t.Fatal(err)
			}
		}
		most := 0
		if v.shared {
			most = 1
		}
		if n := len(l.(*goZeroLock).held); n > most {
			t.Errorf("%s: after 3 releases %d locks are kept, want at most %d", v.id, n, most)
		}
	}
}

func TestGoZeroKeysLiveForWholeSecondsAndAHalf(t *testing.T) {
	for _, c := range []struct {
		variant   goZeroVariant
		ttl, life time.Duration
	}{
		{goZeroVariants[0], time.Second, 1500 * time.Millisecond},
		{goZeroVariants[0], 1001 * time.Millisecond, 2500 * time.Millisecond},
		{goZeroVariants[1], time.Minute, time.Minute + 500*time.Millisecond},
		{goZeroVariants[3], 1500 * time.Millisecond, 500 * time.Millisecond},
	} {
		node := miniredis.RunT(t)
		l, err := handle(t, c.variant.recipe(), "c0", node.Addr(), "k", c.ttl)
		if err != nil {
			t.Fatal(err)
		}
		held := granted(t, l)
		if got := node.TTL("k"); got != c.life {
			t.Errorf("%s with a lease of %v: the key lives for %v, want %v", c.variant.id, c.ttl, got, c.life)
		}
		node.SetTTL("k", time.Millisecond)
		if _, err := l.(locks.Extender).Extend(t.Context(), held); err != nil || node.TTL("k") != c.life {
			t.Errorf("%s: extended with %v, the key lives for %v, want %v", c.variant.id, err, node.TTL("k"), c.life)
		}
	}
}

// A failed command may have run; a command that the circuit breaker refuses has not.
func TestGoZeroTellsARefusalFromAFailure(t *testing.T) {
	l, err := handle(t, goZeroVariants[0].recipe(), "c0", "127.0.0.1:1", "k", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		_, err := l.TryLock(t.Context())
		switch {
		case err == nil, errors.Is(err, locks.ErrBusy):
			t.Fatalf("nobody answers: %v, want an unknown outcome", err)
		case errors.Is(err, locks.ErrRefused):
			return
		}
	}
	t.Error("the breaker never refused")
}

func TestClaimsCanBeMeant(t *testing.T) {
	for _, r := range recipes() {
		for _, ttl := range []time.Duration{time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute} {
			if err := r.CheckClaims(ttl, 1); err != nil {
				t.Errorf("%s, a lease of %v: %v", r.ID, ttl, err)
			}
		}
	}
}

func TestRefusesInvalidKeysAndLeases(t *testing.T) {
	for _, r := range recipes() {
		for _, bad := range []struct {
			key string
			ttl time.Duration
		}{{"", time.Second}, {"k", 0}, {"k", time.Microsecond}} {
			if _, err := handle(t, r, "c0", "127.0.0.1:1", bad.key, bad.ttl); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad.key)) {
				t.Errorf("%s: lock %q with a lease of %v: %v, want an error that names it", r.ID, bad.key, bad.ttl, err)
			}
		}
	}
}
