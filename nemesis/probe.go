package nemesis

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/testbed"
)

// whens is the order in which a command passes its points.
var whens = []testbed.When{testbed.Before, testbed.Sent, testbed.Replied}

// Points returns the points that a fault-free probe trial passed: each (step, node,
// number of the command) once for before, sent and replied, sorted. Handshakes, PING and
// commands outside every step are left out. An EVALSHA that failed because the node did
// not know the script yet does not count: later runs of the same step do not send it.
// The points' Client is history.NoClient: they are the same for all clients.
func Points(cmds []history.Command) []testbed.Point {
	type end struct {
		client int
		node   string
	}
	type run struct {
		step           string
		last, unknowns int
	}
	replied := map[testbed.Point]bool{} // whether a command got a reply
	runs := map[end]run{}
	for _, c := range cmds {
		if c.N == 0 || c.Phase == "" {
			continue
		}
		at := runs[end{c.Client, c.Node}]
		if c.Phase != at.step || c.N <= at.last {
			at = run{step: c.Phase}
		}
		at.last = c.N
		if strings.Contains(string(c.Reply), "NOSCRIPT") {
			at.unknowns++
		} else {
			p := testbed.Point{Client: history.NoClient, Step: c.Phase, Node: c.Node, N: c.N - at.unknowns}
			replied[p] = replied[p] || c.Replied > 0
		}
		runs[end{c.Client, c.Node}] = at
	}
	var points []testbed.Point
	for p, replied := range replied {
		for _, p.When = range whens {
			if p.When != testbed.Replied || replied {
				points = append(points, p)
			}
		}
	}
	slices.SortFunc(points, func(a, b testbed.Point) int {
		return cmp.Or(
			cmp.Compare(a.Step, b.Step), byNode(a.Node, b.Node), cmp.Compare(a.N, b.N),
			cmp.Compare(slices.Index(whens, a.When), slices.Index(whens, b.When)),
		)
	})
	return points
}

// Deadlines says whether a fault-free probe trial's grants claimed an end of
// their own, by their client's clock.
func Deadlines(ops []history.Op) bool {
	return slices.ContainsFunc(ops, func(op history.Op) bool {
		return op.F == history.FAcquire && op.Type == history.OK && op.Lease != nil && op.Lease.Deadline != 0
	})
}

// Scripts says whether a fault-free probe trial's clients ran Lua scripts.
func Scripts(commands []history.Command) bool {
	return slices.ContainsFunc(commands, func(c history.Command) bool {
		_, ok := c.Script()
		return ok
	})
}

// AsksTime says whether a fault-free probe trial's clients asked nodes for the time, with
// TIME or in a script.
func AsksTime(commands []history.Command) bool {
	return slices.ContainsFunc(commands, func(c history.Command) bool {
		return len(c.Args) > 0 && (strings.EqualFold(string(c.Args[0]), "time") ||
			slices.ContainsFunc(c.Args[1:], func(arg history.Bytes) bool { return callsTime.MatchString(string(arg)) }))
	})
}

// KeyLife is the longest life that a fault-free probe trial's grants had on their keys;
// 0 = no grant had an end. Where the keys were not observed, it is as long as a holder's
// crash keeps others out by the recipe's own word.
func KeyLife(e history.Evidence) (longest time.Duration) {
	keys := keyspace.Read(e)
	if _, blind := keys.Blind(); blind {
		return e.Claims.Recovery
	}
	pairs, _ := history.Pairs(e.Ops) // a probe that failed shows what it got to
	for _, p := range pairs {
		if p.Invoke.F == history.FAcquire && p.Done() == history.OK {
			life, _ := keys.LifeOf(p.Invoke.Index)
			longest = max(longest, life)
		}
	}
	return longest
}

// callsTime finds the call of TIME in the text of a script.
var callsTime = regexp.MustCompile(`\bredis\.p?call\s*\(\s*['"](?i:time)['"]`)

// byNode sorts n2 before n10.
func byNode(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
