package checker

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// heartbeat guards against ourselves. The harness records when it was not
// scheduled (FStall). What it then saw may be its own doing: a client that
// overran its lease because we froze is no flaw of the lock. So no finding
// counts in a trial with a stall longer than TTL/10, and no overlap counts that
// is shorter than the longest stall. Stalls under a nemesis pause are meant.
//
// It returns the findings that count, and why others do not.
func heartbeat(e history.Evidence, findings []Finding, overlaps bool) (kept []Finding, why string) {
	slack := longestStall(e.Ops)
	if slack == 0 {
		return findings, ""
	}
	if limit := e.Claims.TTL / 10; limit > 0 && slack > limit {
		return nil, fmt.Sprintf("the harness itself was not scheduled for %v, more than a tenth of the lease time, so this proves nothing: %s",
			slack, findings[0].Summary)
	}
	if !overlaps {
		return findings, ""
	}
	for _, f := range findings {
		if f.To-f.From >= slack {
			kept = append(kept, f)
		}
	}
	if len(kept) < len(findings) {
		why = fmt.Sprintf("%d of %d findings are shorter than the %v for which the harness itself was not scheduled", len(findings)-len(kept), len(findings), slack)
	}
	if len(kept) == 0 {
		why += ": " + findings[0].Summary
	}
	return kept, why
}

// longestStall is the scheduling slack that was measured.
func longestStall(ops []history.Op) time.Duration {
	pauses := pauseWindows(ops)
	longest := time.Duration(0)
	for _, op := range ops {
		if op.F != history.FStall || op.Process != history.Nemesis {
			continue
		}
		meant := false
		for _, w := range pauses {
			meant = meant || w.from < op.Time && op.Time-op.Offset < w.to
		}
		if !meant {
			longest = max(longest, op.Offset)
		}
	}
	return longest
}

// between is a stretch of a trial.
type between struct{ from, to time.Duration }

// pauseWindows returns when the nemesis froze something: its faults for that
// are named for it.
func pauseWindows(ops []history.Op) []between {
	pairs, err := history.Pairs(ops)
	if err != nil {
		return nil
	}
	var windows []between
	for _, p := range pairs {
		if w := p.Invoke.Window; w == nil || !strings.HasSuffix(w.Fault, "-pause") {
			continue
		}
		to := Never
		if p.Complete != nil {
			to = p.Complete.Time
		}
		windows = append(windows, between{p.Invoke.Time, to})
	}
	return windows
}
