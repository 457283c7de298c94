package documents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// disturb does to nodes, links and clocks what the settings ask for. Only the simulation is disturbed,
// which can do all of it.
func (u *run) disturb(ctx context.Context, env testbed.Env, seed uint64) error {
	err := testbed.Sleep(ctx, u.After)
	for n := range u.Kill {
		err = errors.Join(err, env.(testbed.Nodes).Kill(ctx, node(n), nil))
	}
	for n := range u.Hang {
		_, failed := env.(testbed.Nodes).Pause(ctx, node(n))
		err = errors.Join(err, failed)
	}
	for i := range u.Clients * u.Cut {
		_, failed := env.(testbed.Network).Cut(ctx, link(i/u.Cut, i%u.Cut), testbed.Both)
		err = errors.Join(err, failed)
	}
	if u.Ahead > 0 {
		env.(testbed.Clocks).Skew(1, u.Ahead)
	}
	if u.Slow {
		err = errors.Join(err, u.slow(ctx, env, seed))
	}
	return err
}

func node(n int) string          { return fmt.Sprint("n", n) }
func link(c, n int) testbed.Link { return testbed.Link{From: fmt.Sprint("c", c), To: node(n)} }

// slow delays the answers on each link between a client and a node by successive holds. Each hold lasts
// 1 to 20,000 µs, drawn independently. An answer that comes during a hold arrives when the hold ends.
func (u *run) slow(ctx context.Context, env testbed.Env, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(u.Clients)))
	undo := make([]testbed.Undo, u.Clients*u.Nodes) // ends a link's current hold
	until := make([]time.Duration, len(undo))       // when it ends, since the beginning of the first
	hold := func(i int) (err error) {
		undo[i], err = env.(testbed.Network).Hold(ctx, link(i/u.Nodes, i%u.Nodes), testbed.Downstream)
		until[i] += time.Duration(1+r.Int64N(20_000)) * time.Microsecond
		return err
	}
	for i := range undo {
		if err := hold(i); err != nil {
			return err
		}
	}
	// One loop serves all links. If several holds end at the same instant, they end in the same order in
	// every run.
	for start := env.Now(); slices.Min(until) < u.Lasts; {
		next := slices.Index(until, slices.Min(until))
		if err := testbed.Sleep(ctx, start+until[next]-env.Now()); err != nil {
			return err
		}
		if _, err := undo[next](ctx); err != nil {
			return err
		}
		if err := hold(next); err != nil {
			return err
		}
	}
	var err error
	for _, end := range undo {
		_, failed := end(ctx)
		err = errors.Join(err, failed)
	}
	return err
}

// processor returns the share of one processor that node n0's server uses during the given time.
func processor(ctx context.Context, env testbed.Env, during time.Duration) (float64, error) {
	used := func() (sum float64, err error) {
		info := env.Client(0).Locks().Nodes[0].InfoMap(ctx, "cpu")
		for _, item := range []string{"used_cpu_sys", "used_cpu_user"} {
			seconds, _ := strconv.ParseFloat(info.Item("CPU", item), 64) // a number
			sum += seconds
		}
		return sum, info.Err()
	}
	before, err := used()
	if err == nil {
		err = testbed.Sleep(ctx, during)
	}
	if err != nil {
		return 0, err
	}
	after, err := used()
	return (after - before) / during.Seconds(), err
}
