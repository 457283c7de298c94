package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Behaviour is the code of one thing that was seen in a trial, without who did it, when and how often. It
// is one of these:
//
//   - A client's operation: its kind, what the lock's keys held for the client when the operation began and
//     when it ended, the phase of the fault, and the result.
//   - The change of a key: the step of the client that sent the command, the owner before and after the
//     change, and the phase of the fault.
//   - The loss of a lease that a client noticed: what the lock's keys held for the client then, and the
//     phase of the fault.
//
// Two trials with the same behaviours count as tests of the same things. String returns the
// behaviour in words.
type Behaviour uint16

// The parts of a Behaviour. An unknown name counts as the last one. Codes are stored: whoever changes a
// table changes the meaning of stored campaigns, and so must change trial.Format.
var (
	behaviourSteps = []string{
		history.FAcquire, history.FRelease, history.FExtend, history.FRead, history.FWrite, history.FLost,
		"change in acquire", "change in hold", "change in read", "change in touch", "change in release",
		"change by no command", "other change",
	}
	// behaviourStates is indexed by 3 * own + others. A share is 0 without a key, 1 with too few keys
	// for a quorum, and 2 with enough.
	behaviourStates = []string{
		"free", "some others'", "others'",
		"some own", "some own and some others'", "some own and others'",
		"own", "own and some others'", "own and others'",
	}
	behaviourPhases  = []string{"before", "during", "after"}
	behaviourResults = []string{"", string(history.OK), string(history.Fail), string(history.Info)}
)

func behaviour(step string, before, after, phase int, result string) Behaviour {
	at := func(all []string, name string) int {
		if i := slices.Index(all, name); i >= 0 {
			return i
		}
		return len(all) - 1
	}
	code := at(behaviourSteps, step)
	code = code*len(behaviourStates) + before
	code = code*len(behaviourStates) + after
	code = code*len(behaviourPhases) + phase
	return Behaviour(code*len(behaviourResults) + at(behaviourResults, result))
}

// String returns the behaviour in words, such as "release: others' → others', after the fault, fail".
// The words for a code that Behaviours cannot return are "unknown behaviour" and its number.
func (b Behaviour) String() string {
	code := int(b)
	part := func(all []string) string {
		i := code % len(all)
		code /= len(all)
		return all[i]
	}
	result, phase := part(behaviourResults), part(behaviourPhases)
	after, before := part(behaviourStates), part(behaviourStates)
	if code >= len(behaviourSteps) {
		return fmt.Sprintf("unknown behaviour %d", b)
	}
	text := fmt.Sprintf("%s: %s → %s, %s the fault", behaviourSteps[code], before, after, phase)
	if result != "" {
		text += ", " + result
	}
	return text
}

// Behaviours returns the distinct behaviours of a trial, ascending; nil if the history is impossible.
// An operation that overlaps an active fault counts as during the fault. The case is the one inside
// a checker.Case.
func Behaviours(c *evidence.Case) []Behaviour {
	rp, err := c.Replay()
	if err != nil {
		return nil
	}
	cov := &coverage{replay: rp, quorum: rp.Quorum(), held: map[evidence.ClientLock]map[keyspace.NodeKey]int{}, seen: map[Behaviour]bool{}}
	for _, w := range rp.Windows {
		if w.Complete != nil && w.Complete.Window != nil && w.Complete.Window.Hits > 0 {
			cov.faults = append(cov.faults, evidence.Interval{From: w.Invoke.Time, To: w.Complete.Time})
		}
	}
	cov.operations()
	cov.changes()
	all := make([]Behaviour, 0, len(cov.seen))
	for b := range cov.seen {
		all = append(all, b)
	}
	slices.Sort(all)
	return all
}

type coverage struct {
	replay *evidence.Replay
	quorum int
	faults []evidence.Interval // the times of faults that hit something
	// held counts the live grants of each client in each lock, by the key or node that carries them.
	held map[evidence.ClientLock]map[keyspace.NodeKey]int
	seen map[Behaviour]bool
}

// phase returns the index in behaviourPhases of the time from one moment to another.
func (c *coverage) phase(from, to time.Duration) int {
	phase := 0
	for _, f := range c.faults {
		switch {
		case f.From <= to && from <= f.To:
			return 1
		case f.To < from:
			phase = 2
		}
	}
	return phase
}

// state returns the index in behaviourStates of what a lock's keys hold for a client now.
func (c *coverage) state(at evidence.ClientLock) int {
	own, others := 0, 0
	for who, units := range c.held {
		switch {
		case who.Lock != at.Lock:
		case who.Client == at.Client:
			own = c.share(len(units))
		default:
			others = max(others, c.share(len(units)))
		}
	}
	return 3*own + others
}

// share returns 0 for no unit, 1 for fewer units than a quorum, and 2 for a quorum.
func (c *coverage) share(units int) int {
	switch {
	case units == 0:
		return 0
	case units < c.quorum:
		return 1
	}
	return 2
}

// operations adds the behaviours of the clients' operations. It goes through the history and through
// the beginnings and ends of grants at the same time. An operation without a completion ends with the
// history.
func (c *coverage) operations() {
	grants := c.turns()
	until := func(last time.Duration) { // notes the turns of grants up to that time
		for len(grants) > 0 && grants[0].at <= last {
			c.note(grants[0])
			grants = grants[1:]
		}
	}
	ops := &c.replay.Pairing
	before := make([]uint8, len(ops.All)) // by operation: the state at its invocation
	done := func(p *history.Pair, i int, at time.Duration) {
		after := c.state(evidence.ClientLock{Client: p.Invoke.Client, Lock: p.Invoke.Lock})
		c.seen[behaviour(p.Invoke.F, int(before[i]), after, c.phase(p.Invoke.Time, at), string(p.Done()))] = true
	}
	for at := range ops.Ops {
		op, i := &ops.Ops[at], ops.Of[at]
		switch {
		case op.F == history.FLost && op.Process != history.Nemesis: // an event: it belongs to no operation
			until(op.Time)
			now := c.state(evidence.ClientLock{Client: op.Client, Lock: op.Lock})
			c.seen[behaviour(op.F, now, now, c.phase(op.Time, op.Time), "")] = true
		case i < 0 || op.Process == history.Nemesis:
		case op.Type == history.Invoke:
			until(op.Time - 1)
			before[i] = uint8(c.state(evidence.ClientLock{Client: op.Client, Lock: op.Lock}))
		default:
			until(op.Time)
			done(&ops.All[i], i, op.Time)
		}
	}
	until(c.replay.End)
	for i := range ops.All {
		if p := &ops.All[i]; p.Complete == nil && p.Invoke.Process != history.Nemesis {
			done(p, i, c.replay.End)
		}
	}
}

// turn is the beginning (by is 1) or the end (-1) of a grant.
type turn struct {
	at    time.Duration
	grant *keyspace.Grant
	by    int
}

// turns returns the beginnings and ends of all grants, in the order of their times.
func (c *coverage) turns() []turn {
	var all []turn
	for _, g := range c.replay.Grants {
		if g.Lock != "" && !g.Refused {
			begin := max(g.At.Lo, g.Came)
			all = append(all, turn{begin, g, 1}, turn{max(begin, g.Until()), g, -1})
		}
	}
	slices.SortStableFunc(all, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	return all
}

// note applies the beginning or the end of a grant to the counts in c.held.
func (c *coverage) note(t turn) {
	at, unit := evidence.ClientLock{Client: t.grant.Client, Lock: t.grant.Lock}, c.replay.UnitOf(t.grant.NodeKey())
	units := c.held[at]
	if units == nil {
		units = map[keyspace.NodeKey]int{}
		c.held[at] = units
	}
	if units[unit] += t.by; units[unit] == 0 {
		delete(units, unit)
	}
}

// changes adds a behaviour for each change of a key: whether the key was free, the sender's or
// another client's, before the change and after it.
func (c *coverage) changes() {
	for _, s := range c.replay.Steps {
		step, client := "change by no command", keyspace.Stranger
		if s.Cmd >= 0 {
			cmd := &c.replay.Commands[s.Cmd]
			step, client = "change in "+cmd.Phase, cmd.Client
		}
		owner := func(g *keyspace.Grant) int {
			switch {
			case g == nil:
				return 0
			case g.Client == client && client != keyspace.Stranger:
				return 3 * 2
			}
			return 2
		}
		c.seen[behaviour(step, owner(s.Owner), owner(s.Heir), c.phase(s.At.Lo, s.At.Hi), "")] = true
	}
}
