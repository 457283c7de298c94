package locks

import (
	"errors"
	"testing"
	"time"
)

func TestACallerMayChooseTheToken(t *testing.T) {
	for _, r := range All() {
		c := newClientOn(t, 0, nodesFor(r))
		l, ok := newLock(t, r.ID, c, time.Minute).(TokenLocker)
		if !ok {
			continue
		}
		lease, err := l.TryLockWith(t.Context(), "request-7")
		if err != nil || lease.Token != "request-7" {
			t.Fatalf("%s: got %+v, %v", r.ID, lease, err)
		}
		if got := values(t, c); got[0] != "request-7" {
			t.Errorf("%s: the key has %q", r.ID, got)
		}
		if _, err := l.TryLockWith(t.Context(), "request-8"); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: while it is held: got %v, want ErrBusy", r.ID, err)
		}
		if err := l.(Lock).Unlock(t.Context(), lease); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
}
