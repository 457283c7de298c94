package testbedtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

var storms = []promise{
	{name: "any mix of faults leaves nothing behind", test: storm, needs: testbed.CanNodes, own: true},
}

const (
	stormLasts   = 500 * time.Millisecond // the length of the storm in each environment
	stormWorlds  = 9
	stormClients = 3
)

func storm(s suite) {
	var all sync.WaitGroup
	for seed := range uint64(stormWorlds) {
		setup := testbed.Setup{
			Topology:   []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}[seed%3],
			Durability: []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}[seed/3],
			Nodes:      3, Clients: stormClients, CommandTimeout: hasty,
		}
		all.Go(func() {
			commands, err := s.try(setup, func(w *testEnv) error {
				return w.storm(rand.New(rand.NewPCG(seed, 0)), setup.Topology == testbed.Replicated)
			})
			if err == nil {
				err = checkStamps(commands)
			}
			if err != nil {
				s.Errorf("%s, %s: %v", setup.Topology, setup.Durability, err)
			}
		})
	}
	all.Wait()
}

// checkStamps checks the index and the stamps (Sent, Arrived, Served, Replied) of every command,
// whatever its outcome.
func checkStamps(commands []history.Command) error {
	for i, c := range commands {
		if c.Index != i {
			return fmt.Errorf("command %d is the one of index %d", i, c.Index)
		}
		if c.Arrived > 0 && c.Arrived < c.Sent || c.Served > 0 && (c.Arrived == 0 || c.Served < c.Arrived) ||
			c.Replied > 0 && (c.Served == 0 || c.Replied < c.Served) || (c.Exec > 0) != (c.Arrived > 0) {
			return fmt.Errorf("stamps out of order: %+v", c)
		}
	}
	if len(commands) == 0 {
		return errors.New("got no commands")
	}
	return nil
}

// storm injects random faults while clients are busy, and leaves some faults to teardown.
func (w *testEnv) storm(rng *rand.Rand, replicas bool) error {
	ctx, cancel := context.WithTimeout(w.ctx, stormLasts)
	defer cancel()
	var clients sync.WaitGroup
	for c := range stormClients {
		clients.Go(func() { w.keepBusy(ctx, c) })
	}
	for ctx.Err() == nil {
		undo, mustUndo, err := w.disturb(rng, replicas)
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

// keepBusy sends single commands and pipelines, which may fail, until ctx ends or the client has
// crashed.
func (w *testEnv) keepBusy(ctx context.Context, client int) {
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

// disturb injects one random fault. mustUndo says that the fault pauses a client: without the undo,
// keepBusy would wait for ever.
func (w *testEnv) disturb(rng *rand.Rand, replicas bool) (undo testbed.Undo, mustUndo bool, err error) {
	names := w.List()
	node := names[rng.IntN(len(names))]
	link := testbed.Link{From: fmt.Sprintf("c%d", rng.IntN(stormClients)), To: node}
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
		undo, err = w.PauseClient(rng.IntN(stormClients))
	case 4:
		undo, err = w.Pause(w.ctx, node)
	case 5:
		undo, err = w.lose(node, replicas)
	}
	return undo, mustUndo, err
}

// lose kills a node and restarts it. With replicas, if the node is n0, lose stops replication
// before the kill, and promotes n1 instead of restarting n0; undo lets replication go on.
func (w *testEnv) lose(node string, replicas bool) (undo testbed.Undo, err error) {
	failover := replicas && node == "n0"
	if failover {
		if undo, err = w.StopReplication(w.ctx); err != nil {
			return nil, err
		}
	}
	if err := w.Kill(w.ctx, node, nil); err != nil {
		return undo, err
	}
	if failover {
		return undo, w.Promote(w.ctx, "n1")
	}
	_, err = w.Restart(w.ctx, node)
	return nil, err
}
