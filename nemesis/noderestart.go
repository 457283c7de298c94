package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// nodeRestart kills nodes and brings them back with what their durability
// kept. The proof are the keys that were on them when they were killed, and
// without which no quorum of nodes carries the lock, and those that came back.
// What is lost, is lost between the node-down and the node-up event. Where the
// recipe asks its operator for it (history.Claims.Away), nodes that may have lost
// something stay away for a while.
var nodeRestart = Fault{
	Name:       "node-restart",
	Doc:        "Redis is killed and restarted: volatile (nothing kept), everysec (up to 1 s lost), always; some named schedules (.slow) freeze a client meanwhile",
	Color:      "#388e3c",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Impossible: func(w World) Unsupported {
		if k := w.KeyLife; w.Topology == testbed.Cluster && k > 0 && k <= rejoining {
			return Unsupported{Why: ExpiredBefore, Span: rejoining, Life: k}
		}
		return Unsupported{}
	},
	Plans: restartPlans,
	named: func(w World) []Schedule {
		all := namedRestarts(w)
		for _, s := range all {
			w.stayAway(s.Plan)
		}
		return all
	},
	effect: history.Restarted,
	aim:    aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		before, err := s.look(ctx, s.env.(testbed.Nodes).List()...)
		if err != nil {
			return nil, err
		}
		// A node that was killed is brought back whatever becomes of ctx.
		ctx = context.WithoutCancel(ctx)
		killing, giveUp := context.WithCancel(ctx)
		killed, err := s.kill(killing)
		if err != nil {
			defer giveUp()
			_, rerr := s.restart(ctx, before, killed)
			return nil, errors.Join(err, rerr)
		}
		return func(ctx context.Context) (result, error) {
			defer giveUp()
			// Nobody is held while a node comes back: that may take longer than a
			// lease. On virtual time the client that was struck goes on first.
			s.letGo()
			// Whatever ended the window, the operator keeps his word.
			err := sleepUntil(ctx, s.env, s.action.slot(s.from+max(s.action.Away, 1)))
			r, rerr := s.restart(ctx, before, killed)
			return r, errors.Join(err, rerr)
		}, nil
	},
}

// rejoining is how long a master of a Redis Cluster that comes back does not serve.
const rejoining = 2 * time.Second

// stayAway sets how long the plan's nodes stay away when they may have lost
// something.
func (w World) stayAway(p Plan) {
	for i := range p {
		p[i].Away = 0
		if d := p[i].Durability; d != "" && d != testbed.Always {
			p[i].Away = w.Claims.Away
		}
	}
}

// death is a node that has been told to die, and is dead for good when done.
type death struct {
	node string
	done chan struct{}
	err  error // once done
}

// wait returns when the node is dead for good, or says why it is not.
func (d *death) wait(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", d.node, ctx.Err())
	}
}

// outlast waits for a node's end, for which no client is held: a container may take
// most of a second. On virtual time it is over.
func (s *strike) outlast(ctx context.Context, d *death) error {
	select {
	case <-d.done:
	default:
		s.letGo()
	}
	return d.wait(ctx)
}

// kill kills the action's nodes and says which it did.
func (s *strike) kill(ctx context.Context) (killed []*death, err error) {
	for _, node := range s.action.Nodes {
		d, err := s.fell(ctx, node)
		if err != nil {
			return killed, err
		}
		killed = append(killed, d)
	}
	return killed, nil
}

// fell kills a node. It does not wait for a slow killing to end: from the moment that
// is on record on it executes nothing but, until it is dead, the one command that it may
// be busy with.
func (s *strike) fell(ctx context.Context, node string) (*death, error) {
	d, told := &death{node: node, done: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(d.done)
		d.err = s.dies(ctx, node, func() { close(told) })
	}()
	select {
	case <-told:
	case <-d.done:
		if d.err != nil {
			return nil, d.err
		}
	}
	select {
	case <-d.done: // at once, on virtual time
	case <-time.After(noticeable):
	}
	return d, nil
}

// dies kills a node. Told is called when that is on record.
func (s *strike) dies(ctx context.Context, node string, told func()) error {
	err := s.env.(testbed.Nodes).Kill(ctx, node, func() error {
		if err := s.event(history.Op{Client: history.NoClient, F: history.FNodeDown, Node: node}); err != nil {
			return err
		}
		told()
		return nil
	})
	if err != nil {
		return fmt.Errorf("kill %s: %w", node, err)
	}
	return nil
}

// restart brings the nodes that were killed back.
func (s *strike) restart(ctx context.Context, before look, killed []*death) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, healing)
	defer cancel()
	nodes, up := s.env.(testbed.Nodes), time.Duration(-1) // the first is
	var err error
	for _, d := range killed {
		node := d.node
		if derr := d.wait(ctx); derr != nil {
			err = errors.Join(err, derr)
			continue
		}
		lost, rerr := nodes.Restart(ctx, node)
		if up < 0 {
			up = s.env.Now()
		}
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("restart %s: %w", node, rerr))
			continue
		}
		err = errors.Join(err, s.event(history.Op{Client: history.NoClient, F: history.FNodeUp, Node: node, Lost: &lost}))
	}
	if err != nil {
		return result{}, err
	}
	after, err := s.look(ctx, s.action.Nodes...)
	return s.restarted(before, after, up), err
}

// restarted tells what the restart put at stake and what it lost. What was only as
// good as over anyway has lost nothing, and what was written since lost nothing either.
// Where the operator keeps nodes away until their keys are over, whether that saves the
// lock is what is tried: there the kill itself put at stake what outlives a restart.
func (s *strike) restarted(before, after look, up time.Duration) result {
	i, atStake := s.lasted(), 0
	for _, node := range s.action.Nodes {
		for _, k := range before.keys[node] {
			f := history.KeyFate{Node: node, Key: history.Bytes(k.Key), Fate: s.fateOf(k, node, before, after)}
			if f.Fate != history.FateExpired {
				f.Spared = s.elsewhere(before, k) >= max(1, s.action.Quorum)
				if !f.Spared {
					atStake++
				}
			}
			i.Keys = append(i.Keys, f)
		}
	}
	cameBack := s.cameBack(before, up, after)
	for _, node := range s.action.Nodes {
		for _, k := range after.keys[node] {
			if !holds(before.keys[node], k) && cameBack(k) {
				atStake++
				i.Keys = append(i.Keys, history.KeyFate{Node: node, Key: history.Bytes(k.Key), Fate: history.FateRevived})
			}
		}
	}
	return result{atStake, i}
}

// fateOf is what became of a key that a node had before its restart.
func (s *strike) fateOf(k history.KeyState, node string, before, after look) history.Fate {
	switch {
	case holds(after.keys[node], k):
		return history.FateKept
	case before.expired(k, after) && (s.action.Away == 0 || k.TTL <= s.action.For):
		return history.FateExpired
	case before.expired(k, after):
		return history.FateOutlasted
	}
	return history.FateLost
}

// elsewhere is how many nodes that are not struck had the key.
func (s *strike) elsewhere(before look, k history.KeyState) int {
	n := 0
	for node, keys := range before.keys {
		if !slices.Contains(s.action.Nodes, node) && holds(keys, k) {
			n++
		}
	}
	return n
}

func restartPlans(w World, r *rand.Rand) []Plan {
	durabilities := []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}
	var plans, more []Plan
	for _, d := range durabilities {
		whole := w.restarts(d, r)
		p, ok := w.cutAndRestart(d, r)
		switch {
		case ok && d == testbed.Volatile:
			// What loses most is tried both ways before the others.
			plans = append(append(plans, p), whole...)
		case ok:
			plans, more = append(plans, p), append(more, whole...)
		default:
			plans = append(plans, whole...)
		}
	}
	return append(plans, more...)
}

// restarts are plans of restarts of a quorum of nodes.
func (w World) restarts(d testbed.Durability, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action) {
		a.Nodes, a.Durability, a.Quorum = w.Nodes, d, w.Claims.Quorum
		if len(w.Nodes) > 1 {
			a.Nodes = w.Nodes[:max(1, min(w.Claims.Quorum, len(w.Nodes)))]
		}
		p := Plan{a}
		w.stayAway(p)
		moves = append(moves, move{Action: p[0], cost: w.TTL/5 + p[0].Away, gap: w.TTL + w.TTL/10})
	}
	idea := fmt.Sprintf("restart (%s) ", d)
	add(w.during("node-restart", idea+"while the lock is held", testbed.StepHold))
	for _, p := range w.last(testbed.StepAcquire) {
		add(w.action("node-restart", idea+"when the lock is granted, before its client knows", p, testbed.Replied))
	}
	for _, p := range w.first(testbed.StepRelease) {
		add(w.action("node-restart", idea+"as the holder releases", p, testbed.Before))
	}
	plans := w.pack(moves, 3, r)
	for i, p := range plans {
		plans[i] = w.slowHolders(p)
	}
	return plans
}

// slowHolders makes whoever holds the lock when its node is killed late, but within
// its lease: a node that needs longer to come back than a hold lasts has lost
// nothing that anybody would miss. What goes by clients' clocks goes wrong when they
// are late, and would show that instead.
func (w World) slowHolders(p Plan) Plan {
	if w.Claims.ClientClock || !slices.Contains(w.Capabilities, testbed.CanClients) {
		return p
	}
	late := 7 * w.TTL / 10
	for _, a := range p {
		if a.Point.Step != testbed.StepHold || a.By+late > w.Duration {
			continue
		}
		p = append(p, Action{
			ID: len(p) + 1, Fault: clientPauseName, Idea: "the holder is late, but within its lease", Client: history.NoClient,
			At: a.At, After: a.After, Delay: a.Delay, By: a.By, Point: a.Point, For: late,
		})
	}
	return p
}

// cutAndRestart restarts one node while the lock is held by exactly a quorum of
// which it is one: before, each client is cut from all nodes that it can do
// without, others for each, so that another client needs that node only. What
// was left on the nodes by then must have expired first.
func (w World) cutAndRestart(d testbed.Durability, r *rand.Rand) (Plan, bool) {
	ring := w.ring()
	if ring == nil {
		return nil, false
	}
	cutOff := Action{
		ID: 1, Fault: partitionName, Idea: "each client can get no more than a quorum", Client: history.NoClient,
		At: w.TTL / 10, By: w.TTL / 2, Links: ring, Direction: testbed.Both,
	}
	cutOff.For = w.Duration - cutOff.By
	expired := cutOff.At + w.TTL + w.TTL/5 + time.Duration(r.Int64N(int64(w.TTL)/5+1)).Round(max(1, w.TTL/1000))
	if cutOff.For <= 0 || expired+w.TTL+w.Claims.Away > w.Duration {
		return nil, false
	}
	node := w.Nodes[w.Claims.Quorum-1]
	p := Plan{cutOff}
	for i := range 3 {
		a := Action{
			ID: i + 2, Fault: "node-restart", Idea: fmt.Sprintf("restart (%s) of one node of exactly a quorum", d),
			At: expired, By: cutOff.At + cutOff.For, Client: history.NoClient,
			Point: &Trigger{Clients: w.sharing(node), Step: testbed.StepHold},
			Nodes: []string{node}, Durability: d, Quorum: w.Claims.Quorum,
		}
		if i > 0 {
			a.At, a.After, a.Delay = 0, i+1, w.TTL+w.TTL/10
		}
		p = append(p, a)
	}
	w.stayAway(p[1:])
	for i := range p[1:] {
		p[i+1].By -= p[i+1].Away
	}
	return p, true
}

// sharing are the clients that, in a ring, have no other node than this in
// common with some other client; all clients if there are none.
func (w World) sharing(node string) []int {
	reached := make([][]string, w.Clients)
	for c := range reached {
		for _, n := range w.Nodes {
			if !slices.Contains(w.ring(), testbed.Link{From: clientName(c), To: n}) {
				reached[c] = append(reached[c], n)
			}
		}
	}
	var clients []int
	for c := range reached {
		for d := range reached {
			common := slices.DeleteFunc(slices.Clone(reached[c]), func(n string) bool { return !slices.Contains(reached[d], n) })
			if c != d && slices.Equal(common, []string{node}) && !slices.Contains(clients, c) {
				clients = append(clients, c)
			}
		}
	}
	if clients == nil {
		return w.everyone()
	}
	return clients
}
