package nodetest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// Play is a trial written by hand: the actions of clients and of the nemesis, without key changes.
// Stage runs the play's commands on simulated nodes to find the key changes that Redis would make.
type Play struct {
	Ops []history.Op
	// Commands are the clients' commands. Those with an Exec reached their node.
	Commands []history.Command
	Foreign  []ForeignCommand
	// Conns maps the index of each event of a node's kill to the number of the node's last
	// connection before the kill.
	Conns map[int]int
}

// ForeignCommand is a command that no client of the trial sent.
type ForeignCommand struct {
	At   time.Duration
	Node string
	By   history.ChangedBy
	Args []string
}

// Staged is the outcome of a play that simulated nodes have performed.
type Staged struct {
	Ops  []history.Op // the play's Ops, with the keys that the nodes report
	Keys []history.KeyChange
	// Wrong describes a reply in the play that no node would give; "" if there is none.
	Wrong string
}

// ScriptSources are the recipes' Lua scripts, by the SHA-1 of their source. The error says that
// the recipes' files cannot be read.
var ScriptSources = sync.OnceValues(func() (map[string]string, error) {
	_, file, _, _ := runtime.Caller(0)
	return Scripts(filepath.Join(filepath.Dir(file), "..", "..", "locks"))
})

// staging is one way in which the nodes may have performed a play.
type staging struct {
	Play
	tb    testing.TB
	world *World
	ops   []history.Op
	parts map[string]*part
	// primary is the node that a promoted node replaces, unless the play names another node.
	primary string
	// A restart gives a node one of its own earlier states, and a promotion gives it one of the old
	// primary's states. For each restart and promotion, in order, choices has the number of the
	// chosen state, counted back from the latest, and options has the number of states.
	choices, options []int
	wrong            string
	wrongAt          time.Duration
}

// part is a node that takes part in a play. It is a primary or a replica, and it is up or down.
type part struct {
	*Node
	replica bool
	down    int // number of the last connection before the node was killed; 0 = the node is up
	lost    *history.Lost
}

// Evidence lets simulated nodes run the play, and returns the play as evidence, with the key
// changes that the nodes make. The play's commands may be in any order: Evidence numbers them in
// the order in which they were sent, and runs them in the order in which they arrived. The test
// fails if no nodes reply as the play says.
func (p Play) Evidence(tb testing.TB, claims history.Claims) history.Evidence {
	tb.Helper()
	p.Commands = slices.Clone(p.Commands)
	slices.SortStableFunc(p.Commands, func(a, b history.Command) int { return cmp.Compare(a.Arrived, b.Arrived) })
	ran := map[string]int{}
	for i := range p.Commands {
		if c := &p.Commands[i]; c.Exec > 0 {
			ran[c.Node]++
			c.Exec = ran[c.Node]
		}
	}
	slices.SortStableFunc(p.Commands, func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range p.Commands {
		p.Commands[i].Index = i
	}
	played := Stage(tb, p)
	if played.Wrong != "" {
		tb.Errorf("no Redis does as the play says: %s", played.Wrong)
	}
	return history.Evidence{Ops: played.Ops, Commands: p.Commands, Keys: played.Keys, Watched: true, Claims: claims}
}

// Stage finds the staging in which the nodes reply as the play says. If nodes may have lost
// writes, Stage prefers the smallest loss. Stage tries at most 10,000 stagings. If the nodes reply
// as the play says in none of them, Stage returns the staging whose first wrong reply comes last.
func Stage(tb testing.TB, p Play) Staged {
	tb.Helper()
	best := (*staging)(nil)
	var choices []int
	for range 10_000 {
		st := perform(tb, p, choices)
		if st.wrong == "" {
			return st.staged()
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
	return best.staged()
}

func (st *staging) staged() Staged {
	return Staged{Ops: st.ops, Keys: st.world.Changes, Wrong: st.wrong}
}

// perform runs the play's commands and events once on new nodes, in order of time. Each restart and
// promotion takes the state that choices gives it.
func perform(tb testing.TB, p Play, choices []int) *staging {
	st := &staging{Play: p, tb: tb, world: NewWorld(tb), ops: slices.Clone(p.Ops), parts: map[string]*part{}, primary: "n0", choices: slices.Clone(choices)}
	defer st.world.Close()
	st.cast()
	type moment struct {
		at   time.Duration
		play func()
	}
	var all []moment
	for i := range st.ops {
		if op := &st.ops[i]; op.Process == history.Nemesis && op.Window == nil {
			all = append(all, moment{op.Time, func() { st.event(op) }})
		}
	}
	for _, m := range p.Foreign {
		all = append(all, moment{m.At, func() { st.part(m.Node).Meddle(m.At, m.By, m.Args...) }})
	}
	for _, c := range p.Commands {
		if c.Exec > 0 {
			all = append(all, moment{c.Arrived, func() { st.command(c) }})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for _, x := range all {
		st.world.Expire(x.at)
		x.play()
	}
	return st
}

// cast makes a node a replica if clients do not use the node before its promotion.
func (st *staging) cast() {
	first := map[string]time.Duration{}
	for _, c := range st.Commands {
		if at, ok := first[c.Node]; !ok || c.Arrived < at {
			first[c.Node] = c.Arrived
		}
	}
	for _, op := range st.ops {
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

// unlike notes that the play has a reply that no node would give. Only the first such reply counts.
func (st *staging) unlike(at time.Duration, format string, args ...any) {
	if st.wrong == "" {
		st.wrong, st.wrongAt = fmt.Sprintf(format, args...), at
	}
}

// refusals are beginnings of replies to commands that the node did not run.
var refusals = []string{"MOVED ", "ASK ", "CROSSSLOT ", "CLUSTERDOWN "}

func (st *staging) command(c history.Command) {
	p := st.part(c.Node)
	switch said := string(c.Reply); {
	case st.wrong != "":
		return
	case p.down > 0 && c.Served == 0: // the node was down
		return
	case len(c.Args) > 0 && strings.EqualFold(string(c.Args[0]), "WAIT"): // the reply depends on replicas
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
		sources, err := ScriptSources()
		if err != nil {
			st.tb.Fatal(err)
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

// event applies an event of the nemesis to the nodes. It sets op.Keys to the keys that the nodes report.
func (st *staging) event(op *history.Op) {
	at := op.Time
	switch op.F {
	case history.FNodeDown:
		st.part(op.Node).down = max(1, st.Conns[op.Index])
		st.part(op.Node).lost = st.lost(*op)
	case history.FNodeUp:
		if p := st.part(op.Node); p.down > 0 || p.lost == nil {
			p.lost = op.Lost
			st.restart(p, at)
		}
	case history.FSplit:
		st.promote(op.Node, cmp.Or(op.From, st.primary), at)
	case history.FPromote:
		st.takeOver(op.Node, cmp.Or(op.From, st.primary), at)
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

// lost returns what a killed node lost, according to the event of its restart; nil if the play
// does not say.
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

// takeOver makes a node the primary in place of another one, which then follows it.
func (st *staging) takeOver(name, old string, at time.Duration) {
	st.promote(name, old, at)
	if p := st.part(old); old != name {
		p.replica = true
		p.Follow()
	}
	if st.primary == old {
		st.primary = name
	}
}

// promote makes a replica a primary with one of the old primary's past states.
func (st *staging) promote(name, old string, at time.Duration) {
	if p := st.part(name); p.replica {
		p.replica = false
		p.Promote(at, st.choose(st.part(old).Past))
	}
}

// choose picks one of the past states by the next of st.choices: 0 is the latest, and the greatest
// choice is the empty state.
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
