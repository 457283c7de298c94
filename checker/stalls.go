package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// This file guards against faults of the harness itself. The harness records the times for which it
// was not scheduled, or held a client while it struck or healed (FStall). Such a stall may explain
// later observations: if a client overran its lease because the harness froze, the lock is not at
// fault. So in a trial with a stall longer than the shortest timeout of the lock or its client, or than
// TTL/10, a violation counts only if no delay can cause it. An overlap of holds that is shorter than the longest stall never counts. Faults of the
// nemesis are no excuse: they pause clients and nodes, never the harness.
//
// The machine can also keep a node from answering for so long that other nodes take it for
// dead (FElection). Then no injected fault explains the lost data.
//
// Findings that do not count are kept in Verdict.Doubtful: another run may show them
// without a stall.

// Stalled returns the longest stall of the harness if it is so long that the trial cannot prove a
// violation; else 0. spoilt means that the trial cannot prove a violation: longest is not 0, or nodes
// elected another primary without a fault.
func Stalled(e history.Evidence) (longest time.Duration, spoilt bool) {
	longest, deposed := stalls(e)
	if excess(e.Claims, longest) == nil {
		longest = 0
	}
	return longest, longest > 0 || deposed != ""
}

// excess returns the reason why a stall is too long for a trial of the lock to prove a violation; nil
// if it is not.
func excess(c history.Claims, stall time.Duration) *account.Fact {
	why := account.Fact{Span: stall.Round(time.Microsecond)}
	switch {
	case c.TTL > 0 && stall > c.TTL/10:
		why.What = account.HarnessStalled
	case c.Timeout > 0 && stall > c.Timeout:
		why.What, why.Age = account.LongerThanTimeout, c.Timeout
	default:
		return nil
	}
	return &why
}

// Unordered reports whether the verdict is unknown because two decisive events were too
// close together to be ordered, such as the expiry of a key and a command. On a testbed in
// real time, another run may decide.
func (v Verdict) Unordered() bool {
	return v.Result == Unknown && slices.ContainsFunc(v.Reasons, func(f account.Fact) bool { return f.What == account.EndUnseen || f.What == account.OrderUnseen })
}

// stalls returns the longest stall, and the first node that other nodes wrongly took for
// dead; "" if there is none.
func stalls(e history.Evidence) (longest time.Duration, deposed string) {
	for i := range e.Ops {
		switch op := &e.Ops[i]; {
		case op.Process != history.Nemesis: // most entries
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
	slack, deposed := stalls(e)
	why := excess(e.Claims, slack)
	if deposed != "" {
		why = &account.Fact{What: account.UnprovokedElection, Nodes: []string{deposed}}
	}
	if v.Result != Violated || why == nil {
		return v
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
		v.Result, v.Reasons = Unknown, []account.Fact{*why}
	case len(doubtful) > 0:
		v.Reasons = append(v.Reasons, *why)
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

// timeless reports whether no stall can have caused the finding. The table of causes says
// this for some causes. Otherwise the finding is timeless if a client is blocked for ever
// by a key that was left behind for a reason other than a timeout.
func timeless(c history.Claims, f Finding) bool {
	if proven := f.Cause.row().timeless; proven != nil {
		return proven(c, f)
	}
	return f.Forever && f.atAnyPace
}

// replicated reports whether the finding is about replicated data that can be lost with a
// primary. The table of causes says this for some causes. Other findings are about such
// data if a client is blocked for ever: the deletion of a key may have been lost.
func replicated(c history.Claims, f Finding) bool {
	if data := f.Cause.row().replicated; data != nil {
		return data(c, f)
	}
	return f.Forever
}

// beyondSlack separates overlaps that last at least as long as the longest stall from
// shorter overlaps. why is the reason why the shorter overlaps do not count.
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
