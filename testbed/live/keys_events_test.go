package live_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// befalls are trials, by name, in which keys change without a command.
var befalls = map[string]trial{
	"restart without memory": {setup: testbed.Setup{Topology: testbed.Single}, body: restart},
	"restart with all":       {setup: testbed.Setup{Topology: testbed.Single, Durability: testbed.Always}, body: restart},
	"restart of a primary":   {setup: testbed.Setup{Topology: testbed.Replicated}, body: restart},
	"promotion": {setup: testbed.Setup{Topology: testbed.Replicated}, body: func(ctx context.Context, e testbed.Env) error {
		c, nodes := pool(e), e.(testbed.Nodes)
		err := errors.Join(c.Set(ctx, "k", "1", time.Hour).Err(), c.Wait(ctx, testbed.Replicas, time.Minute).Err())
		resume, serr := nodes.StopReplication(ctx)
		err = errors.Join(err, serr, c.Set(ctx, "k", "2", time.Hour).Err(), c.Set(ctx, "lost", "1", 0).Err(), nodes.Promote(ctx, "n1"))
		if serr == nil {
			_, serr = resume(ctx)
		}
		// n1 is the primary now. Write once more, then promote the third node, and write another key there: a
		// renewal of k would count as a change on a slow machine only.
		return errors.Join(err, serr, again(ctx, c, "k"), c.Wait(ctx, 1, time.Minute).Err(), nodes.Promote(ctx, "n2"), again(ctx, c, "l"))
	}},
	"eviction": {setup: testbed.Setup{Topology: testbed.Single}, body: func(ctx context.Context, e testbed.Env) error {
		c := pool(e)
		err := errors.Join(c.Set(ctx, "k", "1", time.Hour).Err(), c.HSet(ctx, "h", "f", "1").Err())
		_, eerr := e.(testbed.Memory).Evict(ctx, "n0", nil)
		return errors.Join(err, eerr, c.Set(ctx, "k", "2", 0).Err())
	}},
	"pause": {setup: testbed.Setup{Topology: testbed.Single}, body: func(ctx context.Context, e testbed.Env) error {
		c := pool(e)
		err := c.Set(ctx, "k", "1", 40*time.Millisecond).Err()
		resume, perr := e.(testbed.Nodes).Pause(ctx, "n0")
		if perr != nil {
			return errors.Join(err, perr)
		}
		waits := make(chan error, 1)
		go func() { waits <- c.SetNX(ctx, "k", "2", 0).Err() }()
		time.Sleep(80 * time.Millisecond)
		_, perr = resume(ctx)
		return errors.Join(err, perr, <-waits)
	}},
	"clock": {setup: testbed.Setup{Topology: testbed.Single}, body: func(ctx context.Context, e testbed.Env) error {
		c, clocks := pool(e), e.(testbed.NodeClocks)
		err := errors.Join(c.Set(ctx, "k", "1", time.Hour).Err(), c.Set(ctx, "l", "1", 0).Err())
		for _, offset := range []time.Duration{time.Minute, -time.Minute, 2 * time.Hour} {
			_, serr := clocks.SkewNode(ctx, "n0", offset, nil)
			err = errors.Join(err, serr)
		}
		return errors.Join(err, again(ctx, c, "k"))
	}},
}

func pool(e testbed.Env) *redis.Client { return e.Client(0).Locks().Nodes[0].(*redis.Client) }

// again sets a key. It retries until the client has found a node that accepts the write.
func again(ctx context.Context, c *redis.Client, key string) error {
	for {
		err := c.Set(ctx, key, "again", time.Hour).Err()
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func restart(ctx context.Context, e testbed.Env) error {
	c, nodes := pool(e), e.(testbed.Nodes)
	err := errors.Join(
		c.Set(ctx, "k", "1", time.Hour).Err(), c.Set(ctx, "l", "1", 0).Err(), c.SAdd(ctx, "s", "b", "a").Err(),
		nodes.Kill(ctx, "n0", nil),
	)
	time.Sleep(20 * time.Millisecond)
	_, rerr := nodes.Restart(ctx, "n0")
	return errors.Join(err, rerr, again(ctx, c, "l"), c.Del(ctx, "k").Err())
}

// TestTheTapSeesWhatBefallsNodes compares key changes on real servers with those of the simulation,
// for changes that no command makes: expiry, eviction, restart, promotion, a jump of the clock.
func TestTheTapSeesWhatBefallsNodes(t *testing.T) {
	for name, tr := range befalls {
		t.Run(name, func(t *testing.T) { compare(t, tr) })
	}
}
