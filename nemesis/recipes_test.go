package nemesis

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// fakeRecipe is a lock in a few lines, to see whether plans find what they are
// made for. Results: "ok", "busy".
type fakeRecipe struct {
	acquire func(c *fakeClient, token string) (string, error)
	release func(c *fakeClient, token string) error
	claims  history.Claims
	keyLife time.Duration // that acquire gives the key; 0 = none
}

const testTTL = time.Second

func set(token string, ttl time.Duration) func(*fakeNode) string {
	return func(n *fakeNode) string {
		n.keys["k"] = fakeKey{value: token, expires: ttl}
		return "OK"
	}
}

// setNX is SET NX with a life; 0 = for ever.
func (c *fakeClient) setNX(node, token string, ttl time.Duration) (string, error) {
	return c.do(node, "SET", func(n *fakeNode) string {
		if _, taken := n.keys["k"]; taken {
			return "busy"
		}
		if ttl > 0 {
			ttl += c.env.Now()
		}
		n.keys["k"] = fakeKey{value: token, expires: ttl}
		return "ok"
	})
}

func (c *fakeClient) get() (string, error) {
	return c.do("n0", "GET", func(n *fakeNode) string { return n.keys["k"].value })
}

func (c *fakeClient) del(node, onlyIf string) error {
	_, err := c.do(node, "DEL", func(n *fakeNode) string {
		if onlyIf == "" || n.keys["k"].value == onlyIf {
			delete(n.keys, "k")
		}
		return "1"
	})
	return err
}

func bareDel(c *fakeClient, _ string) error { return c.del("n0", "") }

var fakeRecipes = map[string]fakeRecipe{
	"exists-set": {
		acquire: func(c *fakeClient, token string) (string, error) {
			if v, err := c.get(); err != nil || v != "" {
				return "busy", err
			}
			_, err := c.do("n0", "SET", set(token, 0))
			return "ok", err
		},
		release: bareDel,
	},
	"setnx": {
		acquire: func(c *fakeClient, token string) (string, error) { return c.setNX("n0", token, 0) },
		release: bareDel,
	},
	"set-nx-ex": {
		acquire: func(c *fakeClient, token string) (string, error) { return c.setNX("n0", token, testTTL) },
		release: bareDel,
		claims:  history.Claims{Recovery: testTTL},
		keyLife: testTTL,
	},
	"get-del": {
		acquire: func(c *fakeClient, token string) (string, error) { return c.setNX("n0", token, testTTL) },
		release: func(c *fakeClient, token string) error {
			v, err := c.get()
			if err != nil || v != token {
				return err
			}
			return c.del("n0", "")
		},
		claims:  history.Claims{Recovery: testTTL},
		keyLife: testTTL,
	},
	"set-nx-px": {
		acquire: func(c *fakeClient, token string) (string, error) { return c.setNX("n0", token, testTTL) },
		release: func(c *fakeClient, token string) error { return c.del("n0", token) },
		claims:  history.Claims{Recovery: testTTL},
		keyLife: testTTL,
	},
	"takeover": {
		acquire: takeover,
		release: bareDel,
		claims:  history.Claims{Recovery: testTTL},
	},
	"redlock": {
		acquire: func(c *fakeClient, token string) (string, error) {
			c.timeout = 20 * time.Millisecond
			granted := 0
			for _, node := range fiveNodes {
				r, err := c.setNX(node, token, testTTL)
				if err != nil && c.proceed() != nil {
					return "", err
				}
				if r == "ok" {
					granted++
				}
			}
			if granted >= 3 {
				return "ok", nil
			}
			return "busy", unlockAll(c, token)
		},
		release: unlockAll,
		claims:  history.Claims{Recovery: testTTL, Quorum: 3},
		keyLife: testTTL,
	},
}

var fiveNodes = []string{"n0", "n1", "n2", "n3", "n4"}

func unlockAll(c *fakeClient, token string) error {
	for _, node := range fiveNodes {
		if err := c.del(node, token); err != nil && c.proceed() != nil {
			return err
		}
	}
	return nil
}

// takeover stores when the lock is stale and deletes stale locks.
func takeover(c *fakeClient, _ string) (string, error) {
	value := func() string { return fmt.Sprintf("%020d", c.locks.Now().Add(testTTL).UnixMilli()) }
	if r, err := c.setNX("n0", value(), 0); err != nil || r == "ok" {
		return r, err
	}
	v, err := c.get()
	if err != nil || v == "" || v >= fmt.Sprintf("%020d", c.locks.Now().UnixMilli()) {
		return "busy", err
	}
	if err := c.del("n0", ""); err != nil {
		return "", err
	}
	return c.setNX("n0", value(), 0)
}

// trial is what a run of a recipe under a plan showed.
type trial struct {
	ops      []history.Op
	faults   []string
	together int           // most clients that believed to hold the lock at one time
	idle     time.Duration // at the end without any grant
}

// runTrial runs a recipe with three clients under the plan, in a bubble.
func runTrial(t *testing.T, w World, recipe fakeRecipe, p Plan) trial {
	var out trial
	synctest.Test(t, func(t *testing.T) {
		nodes := w.Nodes
		e := newFakeEnv(t, w.Clients, nodes...)
		rec := history.NewRecorder(nil, e.Now)
		ctx, cancel := context.WithTimeout(t.Context(), w.Duration)
		defer cancel()
		b := &belief{env: e, holds: map[int]bool{}}
		for i, c := range e.clients {
			go func() {
				time.Sleep(time.Duration(i) * 7 * time.Millisecond)
				_ = c.live(ctx, w, recipe, b)
			}()
		}
		if err := Run(ctx, p, e, rec); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if e.Now() > w.Duration {
			t.Errorf("Run returned at %v, want before %v", e.Now(), w.Duration)
		}
		e.clean(t)
		<-ctx.Done()
		synctest.Wait()
		e.mu.Lock()
		out = trial{rec.Ops(), slices.Clone(e.faults), b.most, w.Duration - b.granted}
		e.mu.Unlock()
		time.Sleep(5 * time.Second) // clients unwind
	})
	return out
}

// belief is what the clients believe.
type belief struct {
	env     *fakeEnv
	holds   map[int]bool
	most    int
	granted time.Duration
}

func (b *belief) set(client int, held bool) {
	b.env.mu.Lock()
	defer b.env.mu.Unlock()
	if delete(b.holds, client); held {
		b.holds[client] = true
		b.granted = b.env.Now()
	}
	b.most = max(b.most, len(b.holds))
}

func (c *fakeClient) live(ctx context.Context, w World, recipe fakeRecipe, b *belief) error {
	for k := 0; ; k++ {
		token := fmt.Sprintf("t%d-%d", c.id, k)
		if err := c.Step(ctx, testbed.StepAcquire); err != nil {
			return err
		}
		r, err := recipe.acquire(c, token)
		if c.proceed() != nil {
			return testbed.ErrCrashed
		}
		if err != nil || r != "ok" {
			time.Sleep(w.Retry)
			continue
		}
		b.set(c.id, true)
		err = c.section(ctx, w)
		b.set(c.id, false)
		if err != nil {
			return err
		}
		if err := recipe.release(c, token); err != nil && c.proceed() != nil {
			return err
		}
		if err := c.Step(ctx, testbed.StepRest); err != nil {
			return err
		}
		time.Sleep(w.Hold/2 + time.Duration(c.id)*time.Millisecond)
	}
}

// workOn begins a step and works on for as long as a fault wants it.
func (c *fakeClient) workOn(ctx context.Context, step string) error {
	if err := c.Step(ctx, step); err != nil {
		return err
	}
	done, err := c.Work(ctx)
	if err == nil && done != nil {
		<-done
	}
	return err
}

func (c *fakeClient) section(ctx context.Context, w World) error {
	if err := c.workOn(ctx, testbed.StepHold); err != nil {
		return err
	}
	time.Sleep(w.Hold)
	if err := c.workOn(ctx, testbed.StepTouch); err != nil {
		return err
	}
	// A client that is paused here still believes that it holds the lock, until the release.
	return c.Step(ctx, testbed.StepRelease)
}
