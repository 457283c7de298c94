package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/testbed"
)

// tolerance measures D0's reason for the red lock: if the only Redis dies, nobody can acquire the
// lock any more. If one of several dies, the others still form a majority, which grants the lock.
var tolerance = Experiment{
	ID:   "dead-nodes",
	Asks: "What do one node and five nodes serve when some of them die?",
	How: "Three clients take the lock for 10 ms at a time, for 10 s, with a lease of 1 s. After 5 s nodes die: either *killed*, so that connections are refused at once, " +
		"or *cut off*, so that no answer ever comes. *Longest gap*: the longest time without any acquisition since then.",
	run: runTolerance,
}

// toleranceHalf is the time before the nodes die, and the time after.
const toleranceHalf = 5 * time.Second

func runTolerance(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = []string{"recipe", "nodes", "dead", "how", "acquisitions a second before", "and after", "longest gap"}
	after := map[string]float64{}
	gaps := map[string]time.Duration{}
	for _, c := range []struct {
		recipe      string
		nodes, dead int
		how         string
	}{
		{"set-nx-px", 1, 0, "–"}, {"set-nx-px", 1, 1, "killed"}, {"set-nx-px", 1, 1, "cut off"},
		{"redlock", 5, 0, "–"}, {"redlock", 5, 1, "killed"}, {"redlock", 5, 2, "killed"}, {"redlock", 5, 3, "killed"},
		{"redlock", 5, 1, "cut off"}, {"redlock", 5, 2, "cut off"}, {"redlock", 5, 3, "cut off"},
		{"redlock-naive", 5, 0, "–"}, {"redlock-naive", 5, 2, "killed"}, {"redlock-naive", 5, 1, "cut off"},
	} {
		end := endNodes
		if c.how == "cut off" {
			end = cutNodes
		}
		r, err := recipe(c.recipe)
		if err != nil {
			return result, err
		}
		used, err := l.use(ctx, users{
			recipe: r, nodes: c.nodes, clients: 3, seed: l.seed, ttl: time.Second, work: 10 * time.Millisecond,
			rest: 10 * time.Millisecond, retry: 10 * time.Millisecond, lasts: 2 * toleranceHalf, timeout: time.Second / 2,
			meanwhile: func(ctx context.Context, env testbed.Env) error {
				if err := sleep.For(ctx, toleranceHalf); err != nil {
					return err
				}
				return end(ctx, env, 3, c.dead)
			},
		})
		if err != nil {
			return result, err
		}
		died := used.start + toleranceHalf
		rate := perSecond(used.between(died, used.end), toleranceHalf)
		gap := used.longestGap(died)
		result.row(c.recipe, c.nodes, c.dead, c.how, perSecond(used.between(used.start, died), toleranceHalf), rate, milli(gap))
		key := fmt.Sprintf("%s %d %s", c.recipe, c.dead, c.how)
		after[key], gaps[key] = rate, gap
	}
	result.says("one", "With its one node dead, set-nx-px makes %.1f acquisitions a second: none until the node is back.", after["set-nx-px 1 killed"])
	result.says("quorum", "Of five nodes, redlock makes %.1f acquisitions a second with none dead, %.1f with two killed, and %.1f with three; with two cut off %.1f, because every attempt waits for them.",
		after["redlock 0 –"], after["redlock 2 killed"], after["redlock 3 killed"], after["redlock 2 cut off"])
	result.says("naive", "D0's own form, redlock-naive, asks all at once and makes %.1f with none dead and %.1f with two killed, but %.1f with only one cut off: each attempt waits for the client's own timeout, here 0.5 s.",
		after["redlock-naive 0 –"], after["redlock-naive 2 killed"], after["redlock-naive 1 cut off"])
	result.says("price", "The price is speed: one node serves %.1f acquisitions a second where five, asked in turn, serve %.1f.", after["set-nx-px 0 –"], after["redlock 0 –"])
	return result, nil
}

// perSecond returns a rate, rounded to tenths.
func perSecond(n int, in time.Duration) float64 {
	return float64(int(10*float64(n)/in.Seconds()+0.5)) / 10
}

// longestGap returns the longest time without a grant, from the given instant to the end.
func (u usage) longestGap(from time.Duration) (gap time.Duration) {
	last := from
	for _, g := range u.grants {
		if g.got > from {
			gap, last = max(gap, g.got-last), g.got
		}
	}
	return max(gap, u.end-last)
}

// endNodes kills the given number of nodes: n0, n1 and so on.
func endNodes(ctx context.Context, env testbed.Env, _, nodes int) error {
	n, ok := env.(testbed.Nodes)
	if !ok {
		return errors.New("the testbed cannot kill nodes")
	}
	for i := range nodes {
		if err := n.Kill(ctx, fmt.Sprint("n", i), nil); err != nil {
			return err
		}
	}
	return nil
}

// cutNodes cuts the given number of nodes (n0, n1 and so on) off from the given number of clients (c0,
// c1 and so on).
func cutNodes(ctx context.Context, env testbed.Env, clients, nodes int) error {
	n, ok := env.(testbed.Network)
	if !ok {
		return errors.New("the testbed cannot cut links")
	}
	for c := range clients {
		for i := range nodes {
			if _, err := n.Cut(ctx, testbed.Link{From: fmt.Sprint("c", c), To: fmt.Sprint("n", i)}, testbed.Both); err != nil {
				return err
			}
		}
	}
	return nil
}
