package locks

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func TestNaiveRedlockOnTheWire(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	loadScripts(t, c, compareAndDelete)
	l := newLock(t, "redlock-naive", c, 90500*time.Millisecond).(*redlockNaive)
	for n := range fiveNodes {
		var lease Lease
		got := wire(seenOn(t, n, func() {
			lease = acquire(t, l)
			awaitWatchdog(t, l)
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Error(err)
			}
			eventually(t, "all nodes are free", func() bool { return slices.Equal(values(t, c), make([]string, fiveNodes)) })
		}))
		got = slices.DeleteFunc(got, func(s string) bool { return s == "GET k" })
		want := withToken([]string{"SET k $token NX PX 90500", "EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}, lease.Token)
		if !slices.Equal(got, want) {
			t.Errorf("node %d saw\n%q, want\n%q", n, got, want)
		}
	}
}

func TestNaiveRedlockWaitsForTheSlowestNode(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	thaw := freeze(t, 0)
	const lease = 300 * time.Millisecond
	l := newLock(t, "redlock-naive", c, lease)
	done := make(chan error, 1)
	go func() {
		_, err := l.TryLock(t.Context())
		done <- err
	}()
	// Four nodes grant the lock at once, but the attempt waits for the fifth reply. The keys expire
	// meanwhile.
	eventually(t, "four nodes granted it", func() bool { return !slices.Contains(values(t, &Client{Nodes: c.Nodes[1:]}), "") })
	eventually(t, "their keys expired", func() bool {
		return slices.Equal(values(t, &Client{Nodes: c.Nodes[1:]}), make([]string, fiveNodes-1))
	})
	select {
	case err := <-done:
		t.Fatalf("the attempt ended while a node was frozen: %v", err)
	default:
	}
	thaw()
	if err := <-done; err != nil {
		t.Errorf("got %v, want held: there is no validity time", err)
	}
}

func TestNaiveRedlocksWatchdogsOfAFailedAttemptRenewAnothersLock(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	l := newLock(t, "redlock-naive", c, 600*time.Millisecond).(*redlockNaive)
	lease := acquire(t, l)
	awaitWatchdog(t, l)
	if err := l.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all nodes are free", func() bool { return slices.Equal(values(t, c), make([]string, fiveNodes)) })
	foreign(t, c, 3)
	if _, err := l.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
		t.Fatalf("attempt against a majority: %v", err)
	}
	for range 3 { // nothing stops the watchdogs: they renew again and again
		shorten(t, c, "k", 30*time.Second)
		eventually(t, "the other's key was given the life of ours", func() bool { return life(t, c, "k") <= time.Second })
	}
	if got := values(t, c)[0]; got != "another's" {
		t.Errorf("the node holds %q", got)
	}
}

func TestNaiveRedlocksReleaseIsNotAwaitedAndSucceedsOnce(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	l := newLock(t, "redlock-naive", c, time.Minute).(*redlockNaive)
	lease := acquire(t, l)
	awaitWatchdog(t, l)
	hungUp, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Unlock(hungUp, lease); err != nil {
		t.Errorf("release on a context that ended: %v", err)
	}
	// A release succeeds again if a watchdog of the attempt started only after the last release. So
	// all releases could succeed only if there were one more watchdog than nodes.
	if !slices.ContainsFunc(make([]int, fiveNodes), func(int) bool {
		return panics(func() { _ = l.Unlock(t.Context(), lease) })
	}) {
		t.Errorf("%d more releases: no panic", fiveNodes)
	}
	eventually(t, "the second release took effect", func() bool { return slices.Equal(values(t, c), make([]string, fiveNodes)) })
	if !panics(func() { _ = newLock(t, "redlock-naive", c, time.Minute).Unlock(t.Context(), lease) }) {
		t.Error("release of what was never held: no panic")
	}
	again := acquire(t, l)
	awaitWatchdog(t, l)
	if err := l.Unlock(t.Context(), again); err != nil {
		t.Errorf("release of the next lease: %v", err)
	}
}

// awaitWatchdog waits until a watchdog has started since the last release: without one, a release
// panics.
func awaitWatchdog(t *testing.T, l *redlockNaive) {
	t.Helper()
	eventually(t, "a watchdog has started", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		select {
		case <-l.stop:
			return false
		default:
			return l.stop != nil
		}
	})
}

func panics(do func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	do()
	return false
}

func TestNaiveRedlocksReleaseIsLostWithItsContext(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	l := newLock(t, "redlock-naive", c, time.Minute).(*redlockNaive)
	lease := acquire(t, l)
	awaitWatchdog(t, l)
	hungUp, cancel := context.WithCancel(t.Context())
	cancel()
	got := wire(seenOn(t, 0, func() {
		if err := l.Unlock(hungUp, lease); err != nil {
			t.Error(err)
		}
		time.Sleep(50 * time.Millisecond) // enough for a release that is sent after all
	}))
	if len(got) > 0 {
		t.Errorf("the node saw %q", got)
	}
	if got := values(t, c)[0]; got != lease.Token {
		t.Errorf("the node holds %q, want the lease that was released", got)
	}
}
