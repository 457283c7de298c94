package process

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/testbed"
)

// stormLasts is how long each world of the storm is disturbed.
const stormLasts = 500 * time.Millisecond

func TestAnyMixOfFaultsLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	var worlds sync.WaitGroup
	for seed := range uint64(9) {
		worlds.Go(func() {
			s := testbed.Setup{
				Topology:   []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}[seed%3],
				Durability: []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}[seed/3],
				Nodes:      3, Clients: 3, CommandTimeout: hasty,
			}
			w, err := try(t, s, func(w *trial) error { return storm(w, rand.New(rand.NewPCG(seed, 0))) })
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			checkStamps(t, w)
		})
	}
	worlds.Wait()
}

// checkStamps checks what holds for every command, whatever became of it.
func checkStamps(t *testing.T, w *trial) {
	seen := map[int]bool{}
	for _, c := range w.commands {
		if seen[c.Index] {
			t.Errorf("command %d was delivered twice", c.Index)
		}
		seen[c.Index] = true
		if c.Arrived > 0 && c.Arrived < c.Sent || c.Served > 0 && (c.Arrived == 0 || c.Served < c.Arrived) ||
			c.Replied > 0 && (c.Served == 0 || c.Replied < c.Served) || (c.Exec > 0) != (c.Arrived > 0) {
			t.Errorf("stamps out of order: %+v", c)
		}
	}
	if len(seen) == 0 || len(seen) != w.gate.Next() {
		t.Errorf("got %d commands of %d", len(seen), w.gate.Next())
	}
}

// storm disturbs busy clients at random, and leaves some faults for teardown.
func storm(w *trial, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(w.ctx, stormLasts)
	defer cancel()
	var clients sync.WaitGroup
	for c := range 3 {
		clients.Go(func() { w.keepBusy(ctx, c) })
	}
	for ctx.Err() == nil {
		undo, mustUndo, err := w.disturb(rng)
		if err != nil {
			w.Error(err)
		}
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		if undo == nil || !mustUndo && rng.IntN(5) == 0 {
			continue
		}
		if _, err := undo(ctx); err != nil {
			w.Error(err)
		}
	}
	err := w.CrashClient(0)
	clients.Wait()
	return err
}

// keepBusy sends single commands and pipelines; that they fail is expected.
func (w *trial) keepBusy(ctx context.Context, client int) {
	for i := 0; w.Client(client).Step(ctx, "busy") == nil; i++ {
		for _, r := range w.Client(client).Locks().Nodes {
			r.Incr(w.ctx, "n")
			_, _ = r.Pipelined(w.ctx, func(p redis.Pipeliner) error {
				p.Set(w.ctx, "k", i, 0)
				p.Get(w.ctx, "k")
				return nil
			})
		}
	}
}

// disturb does one thing at random. A pause must be undone, or the client never
// ends.
func (w *trial) disturb(rng *rand.Rand) (undo testbed.Undo, mustUndo bool, err error) {
	names := w.List()
	node := names[rng.IntN(len(names))]
	link := testbed.Link{From: fmt.Sprintf("c%d", rng.IntN(3)), To: node}
	direction := []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both}[rng.IntN(3)]
	switch rng.IntN(6) {
	case 0:
		undo, err = w.Cut(w.ctx, link, direction)
	case 1:
		undo, err = w.Hold(w.ctx, link, direction)
	case 2:
		undo, err = w.Reset(w.ctx, link)
	case 3:
		mustUndo = true
		undo, err = w.PauseClient(rng.IntN(3))
	case 4:
		undo, err = w.Pause(w.ctx, node)
	case 5:
		undo, err = w.lose(node)
	}
	return undo, mustUndo, err
}

// lose kills a node and goes on without it, or with what is left of it.
func (w *trial) lose(node string) (undo testbed.Undo, err error) {
	if w.setup.Topology == testbed.Replicated && node == "n0" {
		if undo, err = w.StopReplication(w.ctx); err != nil {
			return nil, err
		}
	}
	if err := w.Kill(w.ctx, node); err != nil {
		return undo, err
	}
	if undo != nil {
		return undo, w.Promote(w.ctx, "n1")
	}
	_, err = w.Restart(w.ctx, node)
	return nil, err
}
