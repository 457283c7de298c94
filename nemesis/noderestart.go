package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// nodeRestart kills nodes and brings them back with what their durability
// kept. The proof are the keys that were on them when they were killed, and
// without which no quorum of nodes carries the lock. What is lost, is lost
// between the node-down and the node-up event.
var nodeRestart = Fault{
	Name:     "node-restart",
	Doc:      "Redis is killed and restarted: volatile (nothing kept), everysec (up to 1 s lost), always",
	Color:    "#388e3c",
	Needs:    []string{NeedNodes},
	Topology: sameTopology,
	Plans:    restartPlans,
	target:   nodeTarget,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		r, err := s.restart(ctx)
		return func(context.Context) (result, error) { return r, nil }, err
	},
}

// restart kills the action's nodes, all before the first comes back.
func (s *strike) restart(ctx context.Context) (result, error) {
	nodes := s.env.(testbed.Nodes)
	before, err := keysOf(ctx, nodes, nodes.List())
	if err != nil {
		return result{}, err
	}
	// A node that was killed is brought back whatever becomes of ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healing)
	defer cancel()
	var killed []string
	for _, node := range s.action.Nodes {
		if err = s.event(history.Op{Client: history.NoClient, F: history.FNodeDown, Node: node}); err != nil {
			break
		}
		if err = nodes.Kill(ctx, node); err != nil {
			err = fmt.Errorf("kill %s: %w", node, err)
			break
		}
		killed = append(killed, node)
	}
	for _, node := range killed {
		lost, rerr := nodes.Restart(ctx, node)
		if rerr != nil {
			err = errors.Join(err, fmt.Errorf("restart %s: %w", node, rerr))
			continue
		}
		err = errors.Join(err, s.event(history.Op{Client: history.NoClient, F: history.FNodeUp, Node: node, Error: lost}))
	}
	if err != nil {
		return result{}, err
	}
	after, err := keysOf(ctx, nodes, s.action.Nodes)
	return s.restarted(before, after), err
}

// restarted says what the restart put at stake and what it lost.
func (s *strike) restarted(before, after map[string][]history.KeyState) result {
	var atStake int
	var words []string
	for _, node := range s.action.Nodes {
		for _, k := range before[node] {
			left := 0
			for other, keys := range before {
				if !slices.Contains(s.action.Nodes, other) && holds(keys, k) {
					left++
				}
			}
			fate := "kept"
			if !holds(after[node], k) {
				fate = "lost"
			}
			if left < max(1, s.action.Quorum) {
				atStake++
				words = append(words, fmt.Sprintf("%s %s %s", node, fate, k.Key))
			} else {
				words = append(words, fmt.Sprintf("%s %s %s, which a quorum of others has", node, fate, k.Key))
			}
		}
	}
	if len(words) == 0 {
		words = []string{"no key was there"}
	}
	return result{atStake, fmt.Sprintf("%s: %s restarted at %s: %s",
		s.place(), strings.Join(s.action.Nodes, " "), instant(s.env.Now()), strings.Join(words, "; "))}
}

// keysOf lists what is on each node.
func keysOf(ctx context.Context, n testbed.Nodes, nodes []string) (map[string][]history.KeyState, error) {
	all := map[string][]history.KeyState{}
	for _, node := range nodes {
		keys, err := n.Keys(ctx, node)
		if err != nil {
			return nil, fmt.Errorf("list the keys of %s: %w", node, err)
		}
		all[node] = keys
	}
	return all, nil
}

// holds says whether the keys include k with the same value.
func holds(keys []history.KeyState, k history.KeyState) bool {
	return slices.ContainsFunc(keys, func(o history.KeyState) bool { return o.Key == k.Key && o.Value == k.Value })
}

func restartPlans(w World, r *rand.Rand) []Plan {
	var plans []Plan
	durabilities := []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}
	if len(w.Nodes) > 1 {
		for _, d := range durabilities {
			if p, ok := w.cutAndRestart(d, r); ok {
				plans = append(plans, p)
			}
		}
	}
	for _, d := range durabilities {
		plans = append(plans, w.restarts(d, r)...)
	}
	return plans
}

// restarts are plans of restarts of a quorum of nodes.
func (w World) restarts(d testbed.Durability, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action) {
		a.Nodes, a.Durability, a.Quorum = w.Nodes, d, w.Claims.Quorum
		if len(w.Nodes) > 1 {
			a.Nodes = w.Nodes[:max(1, min(w.Claims.Quorum, len(w.Nodes)))]
		}
		moves = append(moves, move{Action: a, cost: w.TTL / 5, gap: w.TTL + w.TTL/10})
	}
	idea := fmt.Sprintf("restart (%s) ", d)
	add(w.during("node-restart", idea+"while the lock is held", stepHold))
	for _, p := range w.last(stepAcquire) {
		add(w.action("node-restart", idea+"when the lock is granted, before its client knows", p, testbed.Replied))
	}
	for _, p := range w.first(stepRelease) {
		add(w.action("node-restart", idea+"as the holder releases", p, testbed.Before))
	}
	return w.pack(moves, 3, r)
}

// cutAndRestart restarts one node while the lock is held by exactly a quorum:
// before, one client is cut from all nodes that it can do without. What it left
// on those must have expired first. They are the last, so that it has asked the
// others by the time it waits for them.
func (w World) cutAndRestart(d testbed.Durability, r *rand.Rand) (Plan, bool) {
	if len(w.Nodes) <= w.Claims.Quorum || w.Claims.Quorum < 2 {
		return nil, false
	}
	lonely := r.IntN(w.Clients)
	cutOff := Action{
		ID: 1, Fault: "partition", Idea: "a client can get no more than a quorum", Client: lonely,
		At: w.TTL / 10, By: w.TTL / 2, Nodes: w.Nodes[w.Claims.Quorum:], Direction: testbed.Both,
	}
	cutOff.For = w.Duration - cutOff.By
	expired := cutOff.At + w.outlast()
	if cutOff.For <= 0 || expired+w.TTL > w.Duration {
		return nil, false
	}
	restart := Action{
		ID: 2, Fault: "node-restart", Idea: fmt.Sprintf("restart (%s) of one node of the quorum", d),
		At: expired, By: cutOff.At + cutOff.For, Client: history.NoClient,
		Point: &Trigger{Clients: []int{lonely}, Step: stepHold},
		Nodes: w.Nodes[:1], Durability: d, Quorum: w.Claims.Quorum,
	}
	again := restart
	again.ID, again.At, again.After, again.Delay = 3, 0, 2, time.Duration(1.1*float64(w.TTL))
	again.Nodes = w.Nodes[1:2]
	return Plan{cutOff, restart, again}, true
}
