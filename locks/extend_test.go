package locks

import (
	"errors"
	"testing"
	"time"
)

// nodesFor returns how many nodes a test gives a recipe.
func nodesFor(r Recipe) int {
	if r.Topology == Independent {
		return fiveNodes
	}
	return 1
}

// modesOf returns the handles of a lock: the read and the write handle of a read-write lock, else
// the lock itself.
func modesOf(l Lock) []Lock {
	if rw, ok := l.(RWLocker); ok {
		return []Lock{rw.Read(), rw.Write()}
	}
	return []Lock{l}
}

func TestRecipesClaimThatTheyExtendIfTheirHandlesDo(t *testing.T) {
	for _, r := range All() {
		c := newClientOn(t, 0, nodesFor(r))
		for _, l := range modesOf(newLock(t, r.ID, c, time.Minute)) {
			if _, extends := l.(Extender); extends != r.Claims(time.Minute, nodesFor(r)).Extends {
				t.Errorf("%s: the handle extends: %v; the recipe claims otherwise", r.ID, extends)
			}
		}
	}
}

// extenders calls test with a lock of each recipe whose locks can extend a lease.
func extenders(t *testing.T, test func(t *testing.T, c *Client, l Lock)) {
	for _, r := range All() {
		if r.Claims(time.Minute, nodesFor(r)).Extends {
			t.Run(r.ID, func(t *testing.T) {
				c := newClientOn(t, 0, nodesFor(r))
				test(t, c, newLock(t, r.ID, c, time.Minute))
			})
		}
	}
}

func TestAnExtensionMovesKeyAndDeadlineAndKeepsTokenAndFence(t *testing.T) {
	extenders(t, func(t *testing.T, c *Client, l Lock) {
		lease := acquire(t, l)
		for _, node := range c.Nodes {
			if err := node.PExpire(t.Context(), "k", time.Second).Err(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Millisecond)
		extended, err := l.(Extender).Extend(t.Context(), lease)
		if err != nil {
			t.Fatal(err)
		}
		if extended.Token != lease.Token || extended.Fence != lease.Fence || !extended.Deadline.After(lease.Deadline) {
			t.Errorf("got %+v of %+v", extended, lease)
		}
		if extended.Lost() == lease.Lost() {
			t.Error("the channel of the old deadline tells of the new one's end")
		}
		if left := life(t, c, "k"); left < 59*time.Second {
			t.Errorf("the key lives on for %v, want about a minute", left)
		}
	})
}

func TestWhatIsGoneOrAnothersIsNotExtended(t *testing.T) {
	extenders(t, func(t *testing.T, c *Client, l Lock) {
		lease := acquire(t, l)
		for _, node := range c.Nodes {
			if err := node.Del(t.Context(), "k").Err(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.(Extender).Extend(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
			t.Errorf("of a key that is gone: got %v, want ErrNotHeld", err)
		}
		for _, node := range c.Nodes {
			if err := node.Set(t.Context(), "k", "another's", time.Second).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.(Extender).Extend(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
			t.Errorf("of another's key: got %v, want ErrNotHeld", err)
		}
		if left := life(t, c, "k"); left > time.Second {
			t.Errorf("another's key lives on for %v", left)
		}
	})
}
