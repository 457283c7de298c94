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

// nodeRestart kills nodes and restarts them with the keys that their durability kept. Two kinds of
// keys are the proof: keys of the killed nodes that no quorum of surviving nodes has, and old keys
// that came back. Keys are lost between the node-down and the node-up event. If the recipe demands
// it (history.Claims.Away), nodes that may have lost keys stay down for a while.
var nodeRestart = Fault{
	Name:       "node-restart",
	Doc:        "Redis is killed and restarted, with nothing kept (volatile), up to 1 s of writes lost (everysec), or all kept (always); some named schedules (.slow) freeze a client meanwhile",
	Color:      "#388e3c",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Impossible: func(w World) *Unsupported {
		if k := w.KeyLife; w.Topology == testbed.Cluster && k > 0 && k <= rejoining {
			return &Unsupported{Why: ExpiredBefore, Span: rejoining, Life: k}
		}
		return nil
	},
	Plans:     drawnRestarts,
	schedules: namedRestarts,
	effect:    history.Restarted,
	aim:       aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
		before, err := s.snapshot(ctx, s.env.(testbed.Nodes).List()...)
		if err != nil {
			return nil, err
		}
		// A killed node is restarted even if ctx ends.
		ctx = context.WithoutCancel(ctx)
		killing, giveUp := context.WithCancel(ctx)
		killed, err := s.killAll(killing)
		if err != nil {
			defer giveUp()
			_, rerr := s.restart(ctx, before, killed)
			return nil, errors.Join(err, rerr)
		}
		return func(ctx context.Context) (result, error) {
			defer giveUp()
			// No client is held during a restart, which may take longer than a lease. On
			// virtual time the struck client goes on before the restart.
			s.letGo()
			// Nodes stay down for Away, even if the window ended early.
			err := sleepUntil(ctx, s.env, s.action.slot(s.from+max(s.action.Away, 1)))
			r, rerr := s.restart(ctx, before, killed)
			return r, errors.Join(err, rerr)
		}, nil
	},
}

// rejoining is the shortest time until a restarted master of a Redis Cluster serves again.
const rejoining = 2 * time.Second

// stayAway sets the action's Away, the minimum time that its nodes stay down: the time that the
// recipe demands (history.Claims.Away) if the nodes may have lost keys, else 0.
func (w World) stayAway(a *Action) {
	a.Away = 0
	if a.Durability != "" && a.Durability != testbed.Always {
		a.Away = w.Claims.Away
	}
}

// restart waits for the deaths of the killed nodes, and restarts each node that died.
func (s *injection) restart(ctx context.Context, before snapshot, killed []*death) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, healing)
	defer cancel()
	nodes, up := s.env.(testbed.Nodes), time.Duration(-1) // up: time of the first restart; -1 = none yet
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
	after, err := s.snapshot(ctx, s.action.Nodes...)
	return s.restarted(before, after, up), err
}

// restarted returns the fate of each key, and counts the keys that the restart endangered. It does not
// count keys that had expired before the restart, or that were written after it. The operator may have to
// keep nodes down until their keys expire. Then a key counts if it would have outlived an immediate
// restart: the trial tests whether the operator's rule saves the lock.
func (s *injection) restarted(before, after snapshot, up time.Duration) result {
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

// fateOf returns the fate of a key that a node had before its restart.
func (s *injection) fateOf(k history.KeyState, node string, before, after snapshot) history.Fate {
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

// elsewhere counts the nodes that had the key and were not struck.
func (s *injection) elsewhere(before snapshot, k history.KeyState) int {
	n := 0
	for node, keys := range before.keys {
		if !slices.Contains(s.action.Nodes, node) && holds(keys, k) {
			n++
		}
	}
	return n
}

func drawnRestarts(w World, r *rand.Rand) []Plan {
	durabilities := []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}
	var plans, more []Plan
	for _, d := range durabilities {
		whole := w.restarts(d, r)
		p, ok := w.cutAndRestart(d, r)
		switch {
		case ok && d == testbed.Volatile:
			// Volatile loses the most keys: its plans come first, with and without cut links.
			plans = append(append(plans, p), whole...)
		case ok:
			plans, more = append(plans, p), append(more, whole...)
		default:
			plans = append(plans, whole...)
		}
	}
	return append(plans, more...)
}

// restart makes an action restart a quorum of nodes with this durability.
func (w World) restart(d testbed.Durability) func(*Action) {
	return func(a *Action) { a.Nodes, a.Durability, a.Quorum = w.together().nodes, d, w.Claims.Quorum }
}

// restarts returns plans that restart a quorum of nodes.
func (w World) restarts(durability testbed.Durability, r *rand.Rand) []Plan {
	d := w.draw()
	restarts := func(spots []spot, idea string) {
		d.add(spots, fmt.Sprintf("restart (%s) %s", durability, idea), func(m *move) {
			w.restart(durability)(&m.Action)
			w.stayAway(&m.Action)
			m.cost, m.gap = w.TTL/5+m.Away, w.TTL+w.TTL/10
		})
	}
	restarts(begins(testbed.StepHold), "while the lock is held")
	restarts(w.lastCommand(testbed.Replied, testbed.StepAcquire), "when the lock is granted, before its client knows")
	restarts(w.firstCommand(testbed.Before, testbed.StepRelease), "as the holder releases")
	plans := d.plans(3, r)
	for i, p := range plans {
		plans[i] = w.slowHolders(p)
	}
	return plans
}

// slowHolders delays the client that holds the lock when its node is killed. The delay ends within
// the client's lease. Without the delay, the holder would often be done before the node serves
// again, and the lost key would not matter. Recipes that rely on clients' clocks are excluded:
// delayed clients break them anyway.
func (w World) slowHolders(p Plan) Plan {
	if w.Claims.ClientClock || !slices.Contains(w.Capabilities, testbed.CanClients) {
		return p
	}
	for _, a := range p {
		if a.Point.Step != testbed.StepHold || a.By+w.late() > w.Duration {
			continue
		}
		p = append(p, Action{
			ID: len(p) + 1, Fault: clientPauseName, Idea: "the holder is late, but within its lease", Client: history.NoClient,
			At: a.At, After: a.After, Delay: a.Delay, By: a.By, Point: a.Point, For: w.late(),
		})
	}
	return p
}

// cutAndRestart returns a plan that restarts one node while the holder has its key on exactly a
// quorum of nodes. Before the restart, each client is cut off from a different minority of nodes,
// so that another client needs only the restarted node to complete a quorum. Keys from before the
// cut must have expired by the restart.
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
	node := w.Nodes[w.quorum()-1]
	p := Plan{cutOff}
	for i := range 3 {
		a := Action{
			ID: i + 2, Idea: fmt.Sprintf("restart (%s) of one node of exactly a quorum", d),
			At: expired, By: cutOff.At + cutOff.For, Client: history.NoClient,
			Point: beginning(testbed.StepHold).trigger(w.sharing(node)),
			Nodes: []string{node}, Durability: d, Quorum: w.Claims.Quorum,
		}
		if i > 0 {
			a.At, a.After, a.Delay = 0, i+1, w.TTL+w.TTL/10
		}
		w.stayAway(&a)
		a.By -= a.Away
		p = append(p, a)
	}
	return p, true
}

// sharing returns the clients that need this node to meet another client: while the ring's links
// are cut, the two clients have no other node in common. If there are no such clients, sharing
// returns all clients.
func (w World) sharing(node string) []int {
	ring := w.ring()
	reached := make([][]string, w.Clients)
	for c := range reached {
		for _, n := range w.Nodes {
			if !slices.Contains(ring, testbed.Link{From: clientName(c), To: n}) {
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
		return clientsTo(w.Clients)
	}
	return clients
}

// namedRestarts kills and restarts nodes at each spot. The nodes come back with no keys. At spots where
// a key exists, other schedules bring the nodes back with their keys of a second ago. At the first
// command of a release, still others bring them back with all keys.
func namedRestarts(w World) []Schedule {
	e, one := w.enumerate(), w.one()
	idea := w.together().words + " restarts"
	add := func(spots []spot, d testbed.Durability) {
		for _, s := range spots {
			e.add(one, s, string(d), idea, w.restart(d))
		}
	}
	add(w.losing(), testbed.Volatile)
	add(w.kept(), testbed.EverySec)
	for _, s := range first(w.releases()) {
		add([]spot{s}, testbed.Always) // the nodes keep the grant, but the release is lost
		e.writers(s, string(testbed.Always), idea, w.restart(testbed.Always))
	}
	for _, s := range last(w.boundaries(testbed.Replied, testbed.StepRelease)) {
		for _, l := range []lineup{one, alone} {
			e.undone(l, s)
		}
	}
	for _, s := range w.holding() {
		for _, d := range []testbed.Durability{testbed.Volatile, testbed.EverySec} {
			e.exactQuorum(s, string(d), "one node restarts", func(a *Action) { a.Durability = d })
		}
	}
	e.slowly("restarts", string(testbed.Volatile), w.restart(testbed.Volatile))
	for _, s := range e.all {
		for i := range s.Plan {
			w.stayAway(&s.Plan[i])
		}
	}
	return e.all
}

// undone restarts nodes just after a release. The client held the lock for so long that its
// grant, but not its release, is on disk.
func (e *enumeration) undone(l lineup, s spot) {
	slow := e.pause(beginning(testbed.StepRead), "holds until its grant is on disk", []int{0}, l)
	slow.For = 3 * e.TTL / 5
	restart := e.at(s, e.together().words+" restarts, the release was not written", []int{0}, l)
	e.restart(testbed.EverySec)(&restart)
	restart.After = 1
	e.plan(l, scheduleName(s, "undone"), slow, restart)
}
