package locks

import (
	"errors"
	"testing"
	"time"
)

// handles makes n handles on the lock "k" for one client process.
func handles(t *testing.T, recipe string, c *Client, ttl time.Duration, n int) []Lock {
	t.Helper()
	r, _ := ByID(recipe)
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]Lock, n)
	for i := range all {
		if all[i], err = maker("k", ttl); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestLocalReentryNeverAsksRedis(t *testing.T) {
	mine := handles(t, "reentrant-local", newClient(t, 0), time.Second, 2)
	first := acquire(t, mine[0])
	got := seen(t, func() {
		if again := acquire(t, mine[1]); again.Token != first.Token {
			t.Errorf("re-entry has token %q, want that of the hold, %q", again.Token, first.Token)
		}
		if err := mine[1].Unlock(t.Context(), first); err != nil {
			t.Errorf("release of the inner entry: %v", err)
		}
	})
	if len(got) > 0 {
		t.Errorf("re-entry and its release sent %q", got)
	}
}

func TestLocalLastEntryGoesBeforeTheReleaseWhateverComesOfIt(t *testing.T) {
	c := newClient(t, 0)
	failing(c, "compare-and-delete", func(int) bool { return true })
	l := newLock(t, "reentrant-local", c, time.Second)
	lease := acquire(t, l)
	if err := l.Unlock(t.Context(), lease); err != nil {
		t.Errorf("release: got %v, want nil: D3 logs errors", err)
	}
	got := seen(t, func() {
		if err := l.Unlock(t.Context(), lease); !errors.Is(err, ErrRefused) {
			t.Errorf("release without an entry: got %v, want ErrRefused", err)
		}
	})
	if len(got) > 0 {
		t.Errorf("a refused release sent %q", got)
	}
	if _, err := l.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("acquire of its own leftover: got %v, want ErrBusy", err)
	}
}

func TestLocalEntriesAreCountedPerKey(t *testing.T) {
	c := newClient(t, 0)
	r, _ := ByID("reentrant-local")
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	k, err := maker("k", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	other, err := maker("other", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	acquire(t, k)
	if got := wire(seen(t, func() { acquire(t, other) })); len(got) != 1 {
		t.Errorf("the first entry of another lock sent %q, want a SET", got)
	}
}
