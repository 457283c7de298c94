package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// The heartbeat guards against faults of our own. The harness records when it was not
// scheduled (FStall). Such a stall may explain what the harness saw next: a client that
// overran its lease because we froze is no flaw of the lock. So in a trial with a stall
// longer than TTL/10, a violation counts only if no delay can cause it. An overlap of
// holds that is shorter than the longest stall never counts. Faults of the nemesis are no
// excuse: it pauses clients and nodes, never the harness.
//
// The machine can also keep a node from answering for so long that the others take the
// node for dead (FElection). Then no injected fault explains the data that is lost.
//
// Findings that do not count are kept in Verdict.Doubtful: another run may show them
// without a stall.

// Stalled returns the longest time for which the harness was not scheduled during the
// trial, and whether this spoils the trial as proof of a violation. A trial is spoilt if
// that time is too long, or if nodes elected another primary without a fault.
func Stalled(e history.Evidence) (longest time.Duration, spoilt bool) {
	longest, deposed := stalls(e)
	return longest, deposed != "" || e.Claims.TTL > 0 && longest > e.Claims.TTL/10
}

// Unordered reports whether the verdict is unknown because two deciding events were too
// close together to be ordered. An example is a key that expired while a command ran. In
// real time, another run may settle it.
func (v Verdict) Unordered() bool {
	return v.Result == Unknown && slices.ContainsFunc(v.Reasons, func(f account.Fact) bool { return f.What == account.EndUnseen || f.What == account.OrderUnseen })
}

// stalls returns the longest stall, and the first node that others wrongly took for dead;
// "" if there is none.
func stalls(e history.Evidence) (longest time.Duration, deposed string) {
	for _, op := range e.Ops {
		switch {
		case op.Event(history.FStall):
			longest = max(longest, op.Offset)
		case op.Event(history.FElection):
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
	why := account.Fact{What: account.HarnessStalled, Span: slack.Round(time.Microsecond)}
	if deposed != "" {
		why = account.Fact{What: account.UnprovokedElection, Nodes: []string{deposed}}
	}
	var proven, doubtful []Finding
	for _, f := range v.Findings {
		if timeless(e.Claims, f) && !(deposed != "" && replicated(e.Claims, f)) {
			proven = append(proven, f)
		} else {
			doubtful = append(doubtful, f)
		}
	}
	if len(doubtful) > 0 {
		why.Example = string(doubtful[0].Cause)
	}
	switch {
	case len(proven) == 0:
		v.Result, v.Reasons = Unknown, []account.Fact{why}
	case len(doubtful) > 0:
		v.Reasons = append(v.Reasons, why)
	}
	v.Findings, v.Doubtful = proven, oneOfEach(append(v.Doubtful, doubtful...))
	return v
}

// oneOfEach returns the first finding of each cause.
func oneOfEach(findings []Finding) (first []Finding) {
	for _, f := range findings {
		if !slices.ContainsFunc(first, func(g Finding) bool { return g.Cause == f.Cause }) {
			first = append(first, f)
		}
	}
	return first
}

// timeless reports whether no stall can have caused the finding: its cause says so in the
// table of causes, or a client is blocked for ever. That client is blocked at any pace, unless
// the key was left because an attempt timed out.
func timeless(c history.Claims, f Finding) bool {
	if proven := f.Cause.row().timeless; proven != nil {
		return proven(c, f)
	}
	return f.Forever && f.atAnyPace
}

// replicated reports whether the finding is about replicated data that can be lost with a
// primary: its cause says so in the table of causes, or a client is blocked for ever because
// the deletion of a key was lost.
func replicated(c history.Claims, f Finding) bool {
	if data := f.Cause.row().replicated; data != nil {
		return data(c, f)
	}
	return f.Forever
}

// beyondSlack separates the overlaps that are at least as long as the longest stall from
// the shorter ones, and returns why the shorter ones do not count.
func beyondSlack(e history.Evidence, findings []Finding) (kept, short []Finding, why account.Fact) {
	slack, _ := stalls(e)
	for _, f := range findings {
		if max(f.lasted, f.To-f.From) >= slack {
			kept = append(kept, f)
		} else {
			short = append(short, f)
		}
	}
	if len(short) > 0 {
		why = account.Fact{What: account.ShorterThanStall, Count: len(short), Of: len(findings), Span: slack.Round(time.Microsecond)}
	}
	return kept, short, why
}
