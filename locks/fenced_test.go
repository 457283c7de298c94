package locks

import (
	"errors"
	"testing"
	"time"
)

func TestFencedClaimsUntilTheLeaseCountedFromBeforeTheRequest(t *testing.T) {
	c := newClient(t, 0)
	before := time.Now()
	lease := acquire(t, newLock(t, "fenced", c, time.Minute))
	if least, most := before.Add(time.Minute), time.Now().Add(time.Minute); lease.Deadline.Before(least) || lease.Deadline.After(most) {
		t.Errorf("deadline %v, want %v to %v", lease.Deadline, least, most)
	}
	if lease.Lost() == nil {
		t.Error("nothing tells when the lease is over")
	}
}

func TestAGrantThatComesWhenTheLeaseIsOverIsGivenBack(t *testing.T) {
	for _, recipe := range []string{"fenced", "rw-hash-owners"} {
		c := newClient(t, 0)
		loadScripts(t, c, setAndCount, ownersEnter)
		before(c, "evalsha", func() { time.Sleep(3 * time.Millisecond) })
		lease, err := newLock(t, recipe, c, 2*time.Millisecond).TryLock(t.Context())
		if !errors.Is(err, ErrBusy) || lease.Token == "" || !lease.Deadline.IsZero() {
			t.Errorf("%s: got %+v, %v, want ErrBusy, the token that was sent and no deadline", recipe, lease, err)
		}
	}
}
