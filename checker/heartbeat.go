package checker

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// The heartbeat guards against ourselves. The harness records when it was not
// scheduled (FStall). What it then saw may be its own doing: a client that
// overran its lease because we froze is no flaw of the lock. So no violation
// counts in a trial with a stall longer than TTL/10, and no overlap of holds
// that is shorter than the longest stall. The nemesis is no excuse: what it
// pauses are clients and nodes, never the harness. What no delay can bring about
// counts all the same: it is the code's own doing whatever the time.

// Stalled says for how long at most the harness was not scheduled during the
// trial, and whether that is too long for a violation to prove anything.
func Stalled(e history.Evidence) (longest time.Duration, spoilt bool) {
	for _, op := range e.Ops {
		if op.F == history.FStall && op.Process == history.Nemesis {
			longest = max(longest, op.Offset)
		}
	}
	return longest, e.Claims.TTL > 0 && longest > e.Claims.TTL/10
}

// doubt makes a violation unknown that a stall of the harness may have caused.
func doubt(e history.Evidence, v Verdict) Verdict {
	slack, spoilt := Stalled(e)
	if v.Result != Violated || !spoilt {
		return v
	}
	why := fmt.Sprintf("the harness itself was not scheduled for %v, more than a tenth of the lease time, so this proves nothing", slack)
	var proven, doubtful []Finding
	for _, f := range v.Findings {
		if timeless(e.Claims, f) {
			proven = append(proven, f)
		} else {
			doubtful = append(doubtful, f)
		}
	}
	if len(doubtful) > 0 {
		why += ": " + doubtful[0].Summary
	}
	switch {
	case len(proven) == 0:
		v.Result, v.Why = Unknown, why
	case len(doubtful) > 0:
		v.Why = sentences(v.Why, why)
	}
	v.Findings = proven
	return v
}

// timeless says whether no stall can be behind the finding. Whoever is blocked
// for ever, is so at any pace; so is what deadlocks or panics. Two grants by the
// protocol itself need no delay, unless it judges by times that clients read;
// but that two believed at once is a matter of when, and no proof.
func timeless(c history.Claims, f Finding) bool {
	switch f.Cause {
	case Deadlock, Panic, FenceRegressed:
		return true
	case Race:
		return !c.ClientClock && f.lasted == 0
	}
	return f.Forever
}

// beyondSlack returns the overlaps that are no shorter than the longest stall,
// and why others do not count.
func beyondSlack(e history.Evidence, findings []Finding) (kept []Finding, why string) {
	slack, _ := Stalled(e)
	for _, f := range findings {
		if max(f.lasted, f.To-f.From) >= slack {
			kept = append(kept, f)
		}
	}
	if len(kept) < len(findings) {
		why = fmt.Sprintf("%d of %d findings are shorter than the %v for which the harness itself was not scheduled", len(findings)-len(kept), len(findings), slack)
	}
	if len(kept) == 0 && len(findings) > 0 {
		why += ": " + findings[0].Summary
	}
	return kept, why
}
