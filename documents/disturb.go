package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// disturb does to nodes, links and clocks what the settings ask for. Only the simulation is disturbed,
// which can do all of it.
func (u *usage) disturb(ctx context.Context, env testbed.Env, seed uint64) error {
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

// held is a link whose answers are held back by one hold after another.
type held struct {
	link  testbed.Link
	undo  testbed.Undo  // ends the current hold
	until time.Duration // when the current hold ends, since the beginning of the first
}

// slow delays the answers on each link between a client and a node by successive holds. Each hold lasts
// 1 to 20,000 µs, drawn independently. An answer that comes during a hold arrives when the hold ends.
func (u *usage) slow(ctx context.Context, env testbed.Env, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(u.Clients)))
	hold := func(h *held) (err error) {
		h.undo, err = env.(testbed.Network).Hold(ctx, h.link, testbed.Downstream)
		h.until += time.Duration(1+r.Int64N(20_000)) * time.Microsecond
		return err
	}
	var links []*held
	for i := range u.Clients * u.Nodes {
		links = append(links, &held{link: link(i/u.Nodes, i%u.Nodes)})
		if err := hold(links[i]); err != nil {
			return err
		}
	}
	// One loop serves all links. If several holds end at the same instant, they end in the same order in
	// every run.
	for start := env.Now(); ; {
		next := slices.MinFunc(links, func(a, b *held) int { return cmp.Compare(a.until, b.until) })
		if next.until >= u.Lasts {
			break
		}
		if err := testbed.Sleep(ctx, start+next.until-env.Now()); err != nil {
			return err
		}
		if _, err := next.undo(ctx); err != nil {
			return err
		}
		if err := hold(next); err != nil {
			return err
		}
	}
	var err error
	for _, h := range links {
		_, failed := h.undo(ctx)
		err = errors.Join(err, failed)
	}
	return err
}

// cpu matches the seconds of processor time in the answer to INFO cpu.
var cpu = regexp.MustCompile(`used_cpu_(?:sys|user):(\d+\.\d+)`)

// processor returns the share of one processor that node n0's server uses during the given time.
func processor(ctx context.Context, env testbed.Env, during time.Duration) (float64, error) {
	used := func() (sum float64, err error) {
		info, err := env.Client(0).Locks().Nodes[0].Info(ctx, "cpu").Result()
		for _, found := range cpu.FindAllStringSubmatch(info, -1) {
			seconds, _ := strconv.ParseFloat(found[1], 64) // a number
			sum += seconds
		}
		return sum, err
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
