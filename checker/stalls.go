package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// The heartbeat guards against ourselves. The harness records when it was not
// scheduled (FStall). What it then saw may be its own doing: a client that
// overran its lease because we froze is no flaw of the lock. So no violation
// counts in a trial with a stall longer than TTL/10, and no overlap of holds
// that is shorter than the longest stall. The nemesis is no excuse: it pauses clients and
// nodes, never the harness. A violation that no delay can bring about counts all the
// same: it is the code's own doing.
//
// The machine can also keep a node from answering for so long that the others
// take the node for dead (FElection). No fault is to blame for data that is lost then.
//
// Findings that do not count are kept in Verdict.Doubtful: another run can tell whether
// they are there without a stall.

// Stalled returns the longest time for which the harness was not scheduled during the trial,
// and whether a violation proves nothing. It proves nothing if that time is too long, or
// if nodes elected another primary unasked.
func Stalled(e history.Evidence) (longest time.Duration, spoilt bool) {
	longest, deposed := stalls(e)
	return longest, deposed != "" || e.Claims.TTL > 0 && longest > e.Claims.TTL/10
}

// Unordered says whether the verdict is unknown because two deciding events were too close
// together for anybody to see their order. An example is a key whose life ended while a
// command ran. On real time another run may tell.
func (v Verdict) Unordered() bool {
	return v.Result == Unknown && slices.ContainsFunc(v.Reasons, func(f Fact) bool { return f.What == EndUnseen || f.What == OrderUnseen })
}

// stalls finds the longest stall, and the first node that was taken for dead
// though it was not; "" if there is none.
func stalls(e history.Evidence) (longest time.Duration, deposed string) {
	for _, op := range e.Ops {
		switch {
		case op.Process != history.Nemesis:
		case op.F == history.FStall:
			longest = max(longest, op.Offset)
		case op.F == history.FElection:
			deposed = cmp.Or(deposed, op.Node, "a primary")
		}
	}
	return longest, deposed
}

// doubt turns a violation into unknown if a stall of the harness, or of the whole machine,
// may have caused it.
func doubt(e history.Evidence, v Verdict) Verdict {
	_, spoilt := Stalled(e)
	if v.Result != Violated || !spoilt {
		return v
	}
	slack, deposed := stalls(e)
	why := Fact{What: HarnessStalled, Span: slack.Round(time.Microsecond)}
	if deposed != "" {
		why = Fact{What: UnprovokedElection, Nodes: []string{deposed}}
	}
	var proven, doubtful []Finding
	for _, f := range v.Findings {
		if timeless(e.Claims, f) && !(deposed != "" && f.replicated()) {
			proven = append(proven, f)
		} else {
			doubtful = append(doubtful, f)
		}
	}
	if len(doubtful) > 0 {
		why.Example = doubtful[0].Cause
	}
	switch {
	case len(proven) == 0:
		v.Result, v.Reasons = Unknown, []Fact{why}
	case len(doubtful) > 0:
		v.Reasons = append(v.Reasons, why)
	}
	v.Findings, v.Doubtful = proven, oneOfEach(append(v.Doubtful, doubtful...))
	return v
}

// oneOfEach is the first finding of each cause.
func oneOfEach(findings []Finding) (first []Finding) {
	for _, f := range findings {
		if !slices.ContainsFunc(first, func(g Finding) bool { return g.Cause == f.Cause }) {
			first = append(first, f)
		}
	}
	return first
}

// timeless says whether no stall can be behind the finding. A client that is blocked for ever
// is so at any pace, unless the key was left because an attempt timed out. A deadlock or a
// panic comes at any pace too. Two grants by the protocol itself need no delay, unless the
// protocol judges by times that clients read. But an overlap of beliefs depends on timing,
// so it is no proof.
func timeless(c history.Claims, f Finding) bool {
	switch f.Cause {
	case Deadlock, Panic, FenceRegressed, CrossSlot:
		return true
	case Race:
		return !c.ClientClock && f.lasted == 0
	}
	return f.Forever && f.atAnyPace
}

// replicated says whether the finding is about data that one node replicates to another and
// that can be lost with a primary: a counter, or the deletion of a key.
func (f Finding) replicated() bool {
	return f.Cause == FenceRegressed || f.Forever && f.Cause != CrossSlot
}

// beyondSlack returns the overlaps that are no shorter than the longest stall,
// the others, and why these do not count.
func beyondSlack(e history.Evidence, findings []Finding) (kept, short []Finding, why Fact) {
	slack, _ := stalls(e)
	for _, f := range findings {
		if max(f.lasted, f.To-f.From) >= slack {
			kept = append(kept, f)
		} else {
			short = append(short, f)
		}
	}
	if len(short) > 0 {
		why = Fact{What: ShorterThanStall, Count: len(short), Of: len(findings), Span: slack.Round(time.Microsecond)}
	}
	return kept, short, why
}
