package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Operations returns the distinct kinds of client operations in a history, sorted, as texts; nil if the history is
// impossible:
//
//   - the function and the result, "extend ok", and the reason of a result that is not ok;
//   - "late" if it took more than a fifth of the lease time, "over" if it took more than the whole;
//   - "past" if the client's deadline had passed when it began;
//   - what the last commands that it sent to the nodes came to: "yes" for replies that grant or change something,
//     "no" for nil or 0, "error", and "none" for replies that did not come in time; "most yes" on a quorum of several
//     nodes but not on all, "some yes" on fewer.
//   - "acquire info, 3 in a row" for a client's third operation of this function in a row whose outcome is unknown,
//     from the second to the fifth.
//
// Two trials with the same kinds of operations count as tests of the same things, and an operation whose code has
// changed gives such a trial another history. The time is that of the history's clock.
func Operations(e history.Evidence) []string {
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return nil
	}
	end := map[int]time.Duration{} // by the index of an invocation: when the client gave up or had its answer
	for _, p := range pairs {
		if p.Complete != nil {
			end[p.Invoke.Index] = p.Complete.Time
		}
	}
	last := map[int]map[string]string{} // by the index of an invocation and a node: the class of the last reply
	for _, c := range e.Commands {
		if c.Op < 0 || c.N == 0 {
			continue
		}
		if last[c.Op] == nil {
			last[c.Op] = map[string]string{}
		}
		last[c.Op][c.Node] = replyClass(c, end[c.Op])
	}
	type row struct {
		client int
		f      string
	}
	seen, unknown := map[string]bool{}, map[row]int{}
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis {
			continue
		}
		seen[operation(p, e.Claims, last[p.Invoke.Index])] = true
		at := row{p.Invoke.Client, p.Invoke.F}
		if p.Done() != history.Info {
			unknown[at] = 0
			continue
		}
		if unknown[at]++; 1 < unknown[at] && unknown[at] <= mostInARow {
			seen[fmt.Sprintf("%s info, %d in a row", at.f, unknown[at])] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// mostInARow is the longest row of unknown outcomes that Operations tells from a shorter one.
const mostInARow = 5

// replyClass says what a command came to for its client, whose operation ended at the given time; 0 = never.
func replyClass(c history.Command, end time.Duration) string {
	switch reply := string(c.Reply); {
	case c.Replied == 0 || end > 0 && c.Replied > end:
		return "none"
	case c.Failed():
		return "error"
	case reply == "nil" || reply == "0":
		return "no"
	}
	return "yes"
}

// operation describes one operation, whose nodes answered as the classes say.
func operation(p history.Pair, claims history.Claims, classes map[string]string) string {
	parts := []string{p.Invoke.F + " " + string(p.Done())}
	if p.Complete != nil {
		if p.Complete.Reason != "" {
			parts = append(parts, string(p.Complete.Reason))
		}
		switch took := p.Complete.Time - p.Invoke.Time; {
		case took > claims.TTL:
			parts = append(parts, "over")
		case took > claims.TTL/5:
			parts = append(parts, "late")
		}
	}
	if l := p.Invoke.Lease; l != nil && l.Deadline > 0 && l.Deadline < p.Invoke.Time {
		parts = append(parts, "past")
	}
	count := map[string]int{}
	for _, class := range classes {
		count[class]++
	}
	for _, class := range []string{"yes", "no", "error", "none"} {
		switch n := count[class]; {
		case n == 0:
		case n == len(classes):
			parts = append(parts, class)
		case n >= claims.NodeQuorum():
			parts = append(parts, "most "+class)
		default:
			parts = append(parts, "some "+class)
		}
	}
	return strings.Join(parts, ", ")
}

// AcquireTimes returns the durations of a history's successful acquires.
func AcquireTimes(e history.Evidence) []time.Duration {
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return nil
	}
	var all []time.Duration
	for _, p := range pairs {
		if p.Invoke.F == history.FAcquire && p.Complete != nil && p.Complete.Type == history.OK {
			all = append(all, p.Complete.Time-p.Invoke.Time)
		}
	}
	return all
}
