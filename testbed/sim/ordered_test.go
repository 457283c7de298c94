package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// pool returns a redigo pool of a client. The pool dials with locks.Client.Dial.
func (w *simulation) pool(client int) *redis.Pool {
	c := w.Client(client).Locks()
	return &redis.Pool{MaxIdle: 8, DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := c.Dial(ctx, "tcp", c.Addrs[0])
		if err != nil {
			return nil, err
		}
		return redis.NewConn(conn, time.Second, time.Second), nil
	}}
}

// atOnce makes n calls of do at one instant, with i from 0, and returns when all have returned.
func atOnce(n int, do func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// crowded makes goroutines of two clients send commands to one node through redigo's pools, all
// at one instant, in several rounds. The connections are new in the first round, and idle ones
// later.
func crowded(ctx context.Context, w *simulation) error {
	const each, rounds = 4, 5
	pools := []*redis.Pool{w.pool(0), w.pool(1)}
	for range rounds {
		err := atOnce(2*each, func(i int) error {
			c, err := pools[i%2].GetContext(ctx)
			if err != nil {
				return err
			}
			if _, err = c.Do("SET", fmt.Sprint("k", i), "v", "PX", 1000); err == nil && i < each {
				_, err = c.Do("GET", fmt.Sprint("k", i))
			}
			return errors.Join(err, c.Close())
		})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.Join(pools[0].Close(), pools[1].Close())
}

func TestWhoDialsForItselfIsServedInOrderToo(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	first := ""
	for run := range 30 {
		got := history.Hash(history.Evidence{Commands: in(t, testbed.Setup{Seed: 5}, crowded)})
		if first == "" {
			first = got
		}
		if got != first {
			t.Fatalf("run %d differs from the first", run+1)
		}
	}
}

// The simulation may exchange idle connections of a client. It must not exchange a connection in a
// transaction for another one, because their sessions differ.
func TestAConnectionInATransactionKeepsItsPlace(t *testing.T) {
	in(t, testbed.Setup{Seed: 5}, func(ctx context.Context, w *simulation) error {
		p := w.pool(0)
		defer p.Close()
		one, another := p.Get(), p.Get()
		defer one.Close()
		defer another.Close()
		if _, err := one.Do("SET", "k", "before"); err != nil {
			return err
		}
		if _, err := another.Do("WATCH", "k"); err != nil {
			return err
		}
		if _, err := one.Do("SET", "k", "after"); err != nil {
			return err
		}
		return atOnce(2, func(i int) error {
			if i == 0 {
				_, err := one.Do("SET", "z", "v")
				return err
			}
			for _, args := range [][]any{{"MULTI"}, {"SET", "k", "mine"}} {
				if _, err := another.Do(args[0].(string), args[1:]...); err != nil {
					return err
				}
			}
			reply, err := another.Do("EXEC")
			if err != nil {
				return err
			}
			return want("what EXEC answers", reply, nil)
		})
	})
}

// If a fault stops one of several dials, the other dials must not wait for it.
func TestAStoppedDialKeepsTheOthersNot(t *testing.T) {
	in(t, testbed.Setup{Seed: 5, CommandTimeout: time.Second}, func(ctx context.Context, w *simulation) error {
		c := w.Client(0).Locks()
		dial := func() (time.Duration, error) {
			began := w.Now()
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			conn, err := c.Dial(ctx, "tcp", c.Addrs[0])
			if err == nil {
				err = conn.Close()
			}
			return w.Now() - began, err
		}
		next := w.clients[0].links[0].conns
		last := next[len(next)-1].number
		undo, err := w.Hold(ctx, testbed.Link{From: "c0", To: "n0", Conn: last + 1}, testbed.Upstream)
		if err != nil {
			return err
		}
		var took [2]time.Duration
		var errs [2]error
		_ = atOnce(2, func(i int) error { took[i], errs[i] = dial(); return nil })
		if _, err := undo(ctx); err != nil {
			return err
		}
		if (errs[0] == nil) == (errs[1] == nil) {
			return fmt.Errorf("got %v, want one dial that fails and one that does not", errs)
		}
		if quick := min(took[0], took[1]); quick > time.Millisecond {
			return fmt.Errorf("the other dial took %v", quick)
		}
		return nil
	})
}
