package locks

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnExplicitLeaseEndsWhateverItsHolderDoes(t *testing.T) {
	holder := newLock(t, "redisson-lease", newClient(t, 0), 100*time.Millisecond)
	waiter := newLock(t, "redisson-lease", newClient(t, 1), time.Hour)
	var lease Lease
	got := wire(seen(t, func() {
		lease = acquire(t, holder)
		if err := waiting(t, t.Context(), waiter)(); err != nil {
			t.Errorf("a waiter: %v, want the lock after the lease", err)
		}
	}))
	if slices.ContainsFunc(got, func(cmd string) bool { return strings.HasPrefix(cmd, "EVALSHA redisson-renew") }) {
		t.Errorf("the node saw %q, want no renewal", got)
	}
	if err := holder.Unlock(t.Context(), lease); err != ErrNotHeld {
		t.Errorf("release: got %v, want %v", err, ErrNotHeld)
	}
}
