package locks

import (
	"context"
	"errors"
	"testing"
	"time"
)

// waiting runs l.Lock in the background. The test gets the result by calling result.
func waiting(t *testing.T, ctx context.Context, l Lock) (result func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := l.(Blocker).Lock(ctx)
		done <- err
	}()
	return func() error {
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("still waiting after 10s")
		}
	}
}

// subscribed waits until a client subscribes to the lock's channel.
func subscribed(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, "a waiter subscribed", func() bool {
		n, err := c.Nodes[0].PubSubNumSub(t.Context(), "redisson_lock__channel:{k}").Result()
		return err == nil && n["redisson_lock__channel:{k}"] == 1
	})
}

func TestRedissonWaiterIsWokenByTheRelease(t *testing.T) {
	ca := newClient(t, 0)
	a, b := newLock(t, "redisson", ca, time.Hour), newLock(t, "redisson", newClient(t, 1), time.Hour)
	lease := acquire(t, a)
	result := waiting(t, t.Context(), b)
	subscribed(t, ca)
	if err := a.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := result(); err != nil {
		t.Errorf("waiter: %v", err)
	}
	eventually(t, "the waiter left the channel", func() bool {
		n, err := ca.Nodes[0].PubSubNumSub(t.Context(), "redisson_lock__channel:{k}").Result()
		return err == nil && n["redisson_lock__channel:{k}"] == 0
	})
}

func TestRedissonWaiterThatMissesTheMessageWaitsForTheRemainingLife(t *testing.T) {
	c := newClient(t, 0)
	if err := c.Nodes[0].HSet(t.Context(), "k", "crashed", 1).Err(); err != nil {
		t.Fatal(err)
	}
	shorten(t, c, "k", 200*time.Millisecond)
	if err := waiting(t, t.Context(), newLock(t, "redisson", c, time.Minute))(); err != nil {
		t.Errorf("waiter: %v", err)
	}
}

func TestRedissonWaiterEndsWith(t *testing.T) {
	for _, ends := range []string{"its context", "the client process"} {
		t.Run(ends, func(t *testing.T) {
			ca, cb := newClient(t, 0), newClient(t, 1)
			call, hangUp := context.WithCancel(t.Context())
			process, exit := context.WithCancel(t.Context())
			defer hangUp()
			defer exit()
			cb.Context = process
			acquire(t, newLock(t, "redisson", ca, time.Minute))
			// The waiter asks once before it subscribes and once more after that. An end that interrupted
			// the second attempt would leave its outcome unknown.
			waits := answered(cb, "redisson-enter", 2)
			result := waiting(t, call, newLock(t, "redisson", cb, time.Minute))
			<-waits
			if ends == "its context" {
				hangUp()
			} else {
				exit()
			}
			if err := result(); !errors.Is(err, ErrBusy) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want busy and cancelled", err)
			}
		})
	}
}

func TestRedissonWaiterReturnsAtOnceOnAnError(t *testing.T) {
	c := newClient(t, 0)
	failing(c, "redisson-enter", func(int) bool { return true })
	if err := waiting(t, t.Context(), newLock(t, "redisson", c, time.Minute))(); !errors.Is(err, errConnectionLost) {
		t.Errorf("got %v, want the connection's error", err)
	}
}
