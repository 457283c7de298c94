package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// patience measures D3's rule that a RedLock client with a lease of 10 s should wait 5 to 50 ms for each
// node.
var patience = Experiment{
	ID:   "node-timeout",
	Asks: "What do too short and too long a timeout for one node cost RedLock?",
	How: "Two clients use redlock on five nodes, with a lease of 10 s and work of 100 ms, for 30 s, and wait for each node as long as the first column says. " +
		"*Slow*: each link between a client and a node holds answers back, again and again, for a time of up to 20 ms that is drawn for each hold by itself; a client that gave up waiting for a node connects to it anew, and so waits for one more answer. *Two hang*: two nodes take requests and never answer. " +
		"Each cell: acquisitions in that time; how long an attempt that succeeded took, in the median; the attempts for one acquisition.",
	run: runPatience,
}

// patiences are the timeouts for one node.
var patiences = []time.Duration{time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond, 5 * time.Second}

const (
	patienceLasts   = 30 * time.Second
	patienceClients = 2
	patienceNodes   = 5
)

func runPatience(ctx context.Context, l lab) (result Result, err error) {
	worlds := []struct {
		name  string
		makes func(context.Context, testbed.Env) error
	}{
		{"healthy", nil}, {"slow", slowNodes(l.seed)}, {"two hang", hangNodes},
	}
	result.Columns = []string{"timeout for one node"}
	for _, w := range worlds {
		result.Columns = append(result.Columns, w.name)
	}
	acquired := map[string]int{}
	for _, wait := range patiences {
		cells := []any{milli(wait)}
		for _, w := range worlds {
			used, err := l.use(ctx, users{
				recipe: locks.RedlockWaiting(func(time.Duration) time.Duration { return wait }), nodes: patienceNodes, clients: patienceClients, seed: l.seed,
				ttl: 10 * time.Second, work: 100 * time.Millisecond, rest: 100 * time.Millisecond, retry: 100 * time.Millisecond,
				lasts: patienceLasts, timeout: 20 * time.Second, meanwhile: w.makes,
			})
			if err != nil {
				return result, err
			}
			n := len(used.grants)
			acquired[w.name+" "+wait.String()] = n
			cells = append(cells, used.perAcquisition())
		}
		result.row(cells...)
	}
	result.says("short", "Too short: at 1 ms, nodes that answer up to 20 ms late count as dead: %d acquisitions in half a minute, %d at 5 ms, %d at 50 ms.",
		acquired["slow 1ms"], acquired["slow 5ms"], acquired["slow 50ms"])
	result.says("long", "Too long: with two of five nodes hanging, %d acquisitions in half a minute at 50 ms, %d at 500 ms, %d at 5 s, half of the lease.",
		acquired["two hang 50ms"], acquired["two hang 500ms"], acquired["two hang 5s"])
	return result, nil
}

// perAcquisition returns the number of acquisitions, the median duration of successful attempts,
// and the number of attempts per acquisition. A dash replaces a figure without samples.
func (u usage) perAcquisition() string {
	n := len(u.grants)
	if n == 0 {
		return "0; –; –"
	}
	took := make([]time.Duration, n)
	for i, g := range u.grants {
		took[i] = g.got - g.tried
	}
	return fmt.Sprintf("%d; %s; %.1f", n, milli(quantile(took, 0.5)), float64(u.attempts)/float64(n))
}

// slowNodes returns a function that delays the answers on each link between a client and a node by
// successive holds. Each hold lasts up to 20 ms in whole microseconds, drawn independently. An answer
// that comes during a hold arrives when the hold ends.
func slowNodes(seed uint64) func(context.Context, testbed.Env) error {
	return func(ctx context.Context, env testbed.Env) error {
		network, ok := env.(testbed.Network)
		if !ok {
			return errors.New("the testbed cannot delay answers")
		}
		r := rand.New(rand.NewPCG(seed, patienceClients))
		var links []*slowLink
		for c := range patienceClients {
			for n := range patienceNodes {
				links = append(links, &slowLink{link: testbed.Link{From: fmt.Sprint("c", c), To: fmt.Sprint("n", n)}})
			}
		}
		for _, l := range links {
			if err := l.hold(ctx, network, r); err != nil {
				return err
			}
		}
		// One loop serves all links. If several holds end at the same instant, they end in the
		// same order in every run.
		for start := env.Now(); ; {
			next := slices.MinFunc(links, func(a, b *slowLink) int { return cmp.Compare(a.until, b.until) })
			if next.until >= patienceLasts {
				break
			}
			if err := sleep.For(ctx, start+next.until-env.Now()); err != nil {
				return err
			}
			if _, err := next.undo(ctx); err != nil {
				return err
			}
			if err := next.hold(ctx, network, r); err != nil {
				return err
			}
		}
		for _, l := range links {
			if _, err := l.undo(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// slowLink is a link whose answers are held back by one hold after another.
type slowLink struct {
	link  testbed.Link
	undo  testbed.Undo  // ends the current hold
	until time.Duration // when the current hold ends, counted from the beginning of the first
}

// hold begins the link's next hold, which is to last 1 to 20,000 µs, and sets until. It must be called
// when the previous hold ends.
func (l *slowLink) hold(ctx context.Context, network testbed.Network, r *rand.Rand) (err error) {
	l.undo, err = network.Hold(ctx, l.link, testbed.Downstream)
	l.until += time.Duration(1+r.Int64N(20_000)) * time.Microsecond
	return err
}

// hangNodes pauses n0 and n1 until the end of the run.
func hangNodes(ctx context.Context, env testbed.Env) error {
	nodes, ok := env.(testbed.Nodes)
	if !ok {
		return errors.New("the testbed cannot pause nodes")
	}
	for n := range 2 {
		if _, err := nodes.Pause(ctx, fmt.Sprint("n", n)); err != nil {
			return err
		}
	}
	return nil
}
