package locks

import (
	"errors"
	"testing"
	"time"
)

func TestFencesGrowWithEveryGrantAndOutliveTheLock(t *testing.T) {
	c := newClient(t, 0)
	l, rival := newLock(t, "fenced", c, time.Minute), newLock(t, "fenced", newClient(t, 1), time.Minute)
	for want := int64(1); want <= 3; want++ {
		lease := acquire(t, l)
		if lease.Fence != want {
			t.Errorf("fence %d, want %d", lease.Fence, want)
		}
		if busy, err := rival.TryLock(t.Context()); !errors.Is(err, ErrBusy) || busy.Fence != 0 {
			t.Errorf("rival: fence %d, %v, want none and ErrBusy", busy.Fence, err)
		}
		if want == 2 {
			expireNow(t, c, "k")
		} else if err := l.Unlock(t.Context(), lease); err != nil {
			t.Error(err)
		}
		if got := life(t, c, "{k}:fence"); got != -1 {
			t.Errorf("the counter's life is %v, want none", got)
		}
	}
}

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
