package locks

import (
	"testing"
	"time"
)

func TestExistsSetLetsTwoInWithNoFault(t *testing.T) {
	ca, cb := newClient(t, 0), newClient(t, 1)
	a, b := newLock(t, "exists-set", ca, time.Second), newLock(t, "exists-set", cb, time.Second)
	before(ca, "SET", func() { acquire(t, b) })
	acquire(t, a) // succeeds while b holds the lock: that is the flaw
	if err := b.Unlock(t.Context(), Lease{}); err != nil {
		t.Errorf("b's release: %v", err)
	}
	if got := life(t, ca, "k"); got != -2 {
		t.Errorf("a's key lives for %v after b's release, want it gone", got)
	}
}
