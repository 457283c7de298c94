package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/nodetest"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// This file runs a story's commands on simulated nodes, so that its key changes are
// what Redis would make of them. What the nodes reply must be what the story says.

// scriptSources are the recipes' scripts.
var scriptSources = sync.OnceValues(func() (map[string]string, error) { return nodetest.Scripts("../locks") })

// staging is one way in which a story can have happened.
type staging struct {
	s     *story
	world *nodetest.World
	ops   []history.Op // with what the nodes say of keys
	parts map[string]*part
	// primary is whose place a promoted node takes, unless it is said.
	primary string
	// choices are which of its earlier states a node had after each upheaval, the
	// latest first; options how many there were.
	choices, options []int
	wrong            string        // what the story says that no node would
	wrongAt          time.Duration // when
}

// scene is something that happens to nodes.
type scene struct {
	at   time.Duration
	play func()
}

// part is a node's part in a story.
type part struct {
	*nodetest.Node
	replica bool
	down    int // the last connection of before it was killed, 0 if it is up
	lost    *history.Lost
}

// stage finds the staging in which the nodes reply as the story says: where they may
// have lost something, the one in which they lost least.
func (s *story) stage(e history.Evidence) *staging {
	s.t.Helper()
	best := (*staging)(nil)
	var choices []int
	for range 10_000 {
		st := s.perform(e, choices)
		if st.wrong == "" {
			return st
		}
		if best == nil || st.wrongAt > best.wrongAt {
			best = st
		}
		choices = slices.Clone(st.choices)
		for len(choices) > 0 && choices[len(choices)-1]+1 >= st.options[len(choices)-1] {
			choices = choices[:len(choices)-1]
		}
		if len(choices) == 0 {
			break
		}
		choices[len(choices)-1]++
	}
	s.t.Errorf("no Redis does as the story says: %s", best.wrong)
	return best
}

// perform goes through the story once.
func (s *story) perform(e history.Evidence, choices []int) *staging {
	st := &staging{s: s, world: nodetest.NewWorld(s.t), ops: slices.Clone(e.Ops), parts: map[string]*part{}, primary: "n0", choices: slices.Clone(choices)}
	defer st.world.Close()
	st.cast(e)
	var all []scene
	for i := range st.ops {
		if op := &st.ops[i]; op.Process == history.Nemesis && op.Window == nil {
			all = append(all, scene{op.Time, func() { st.event(op) }})
		}
	}
	for _, m := range s.meddled {
		all = append(all, scene{m.at, func() { st.part(m.node).Meddle(m.at, m.by, m.args...) }})
	}
	for _, c := range e.Commands {
		if c.Exec > 0 {
			all = append(all, scene{c.Arrived, func() { st.command(c) }})
		}
	}
	slices.SortStableFunc(all, func(a, b scene) int { return cmp.Compare(a.at, b.at) })
	for _, x := range all {
		st.world.Expire(x.at)
		x.play()
	}
	return st
}

// cast makes replicas of those nodes that clients only use once they are promoted.
func (st *staging) cast(e history.Evidence) {
	first := map[string]time.Duration{}
	for _, c := range e.Commands {
		if at, ok := first[c.Node]; !ok || c.Arrived < at {
			first[c.Node] = c.Arrived
		}
	}
	for _, op := range e.Ops {
		if op.F != history.FPromote && op.F != history.FSplit || op.Node == st.primary {
			continue
		}
		if at, used := first[op.Node]; !used || at >= op.Time {
			p := st.part(op.Node)
			p.replica = true
			p.Follow()
		}
	}
}

func (st *staging) part(name string) *part {
	p := st.parts[name]
	if p == nil {
		p = &part{Node: st.world.Node(name)}
		st.parts[name] = p
	}
	return p
}

// unlike notes what no node would reply.
func (st *staging) unlike(at time.Duration, format string, args ...any) {
	if st.wrong == "" {
		st.wrong, st.wrongAt = fmt.Sprintf(format, args...), at
	}
}

// refusals begin replies of nodes that ran nothing.
var refusals = []string{"MOVED ", "ASK ", "CROSSSLOT ", "CLUSTERDOWN "}

func (st *staging) command(c history.Command) {
	p := st.part(c.Node)
	switch said := string(c.Reply); {
	case st.wrong != "":
		return
	case p.down > 0 && c.Served == 0: // it was not there any more
		return
	case slices.ContainsFunc(refusals, func(r string) bool { return strings.HasPrefix(said, r) }):
		return
	case p.down > 0 && c.Conn > p.down:
		st.restart(p, c.Arrived)
	}
	var args []string
	for _, a := range c.Args {
		args = append(args, string(a))
	}
	if sha, ok := c.Script(); ok {
		sources, err := scriptSources()
		if err != nil {
			st.s.t.Fatal(err)
		}
		if source := sources[sha]; source != "" {
			p.Load(source)
		}
	}
	if strings.HasPrefix(string(c.Reply), "NOSCRIPT ") {
		p.Flush()
	}
	if got := p.Run(c.Arrived, c.Exec, args...); c.Reply != "" && got != c.Reply {
		st.unlike(c.Arrived, "at %v %s replies %s to c%d's %s, and not %s", c.Arrived, c.Node, got, c.Client, c.Args, c.Reply)
	}
}

// event is what the nemesis does to nodes.
func (st *staging) event(op *history.Op) {
	at := op.Time
	switch op.F {
	case history.FNodeDown:
		st.part(op.Node).down = max(1, st.s.conns[op.Index])
		st.part(op.Node).lost = st.lost(*op)
	case history.FNodeUp:
		if p := st.part(op.Node); p.down > 0 || p.lost == nil {
			p.lost = op.Lost
			st.restart(p, at)
		}
	case history.FSplit:
		st.promote(op.Node, cmp.Or(op.From, st.primary), at)
	case history.FPromote:
		old := cmp.Or(op.From, st.primary)
		st.promote(op.Node, old, at)
		if p := st.part(old); old != op.Node {
			p.replica = true
			p.Follow()
		}
		if st.primary == old {
			st.primary = op.Node
		}
	case history.FEvict:
		var names []string
		for _, k := range op.Keys {
			names = append(names, k.Key)
		}
		op.Keys = st.part(op.Node).Evict(at, names...)
	case history.FMigrate:
		op.Keys = st.part(op.From).MoveTo(at, st.part(op.Node).Node)
	case history.FNodeClock:
		st.part(op.Node).SetClock(at, op.Offset)
	case history.FUnseen:
		st.part(op.Node).Unsee()
	case history.FKeys:
		op.Keys = st.part(op.Node).Keys(at)
	}
}

// lost is what a node that was killed has lost, nil if nobody says so.
func (st *staging) lost(down history.Op) *history.Lost {
	for _, up := range st.ops {
		if up.F == history.FNodeUp && up.Node == down.Node && up.Index >= down.Index {
			return up.Lost
		}
	}
	return nil
}

// restart brings a node back with one of its earlier states.
func (st *staging) restart(p *part, at time.Duration) {
	p.down = 0
	switch {
	case p.lost != nil && p.lost.Keys:
		p.Restart(at, node.Snapshot{})
	case p.lost != nil && p.lost.Writes == 0 && len(p.Past) > 0:
		p.Restart(at, p.Past[len(p.Past)-1])
	default:
		p.Restart(at, st.choose(p.Past))
	}
}

// promote makes a replica a primary with one of the states that the other has had.
func (st *staging) promote(name, old string, at time.Duration) {
	if p := st.part(name); p.replica {
		p.replica = false
		p.Promote(at, st.choose(st.part(old).Past))
	}
}

// choose picks a state, the latest first; what a node began with is none at all.
func (st *staging) choose(past []node.Snapshot) node.Snapshot {
	n := len(st.options)
	st.options = append(st.options, len(past)+1)
	if n == len(st.choices) {
		st.choices = append(st.choices, 0)
	}
	if i := len(past) - 1 - st.choices[n]; i >= 0 {
		return past[i]
	}
	return node.Snapshot{}
}

func TestAStoryThatNoRedisTellsIsRefused(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", setPX("t0")...)
	s.take(20, 1, "OK", setPX("t1")...)
	if st := s.perform(s.e, nil); st.wrong == "" {
		t.Error("two SET NX were granted")
	}
}
