package nemesis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/testbed"
)

// Sight is what a fault-free probe trial showed about a recipe's commands.
type Sight struct {
	Points    []testbed.Point `json:"points,omitempty"`    // where faults can strike a client (the function Points)
	Deadlines bool            `json:"deadlines,omitempty"` // a grant claimed a deadline by its client's clock
	Scripts   bool            `json:"scripts,omitempty"`   // clients ran Lua scripts
	Times     bool            `json:"times,omitempty"`     // clients asked nodes for their time (TIME)
	// KeyLife is the longest life of a granted key; 0 = keys never expire. If the keys were not observed, it is the
	// recovery time that the recipe claims.
	KeyLife time.Duration `json:"keyLife,omitempty"`
}

// SightOf extracts what the evidence of a probe trial shows.
func SightOf(e history.Evidence) Sight {
	return Sight{
		Points: Points(e.Commands), Times: keyspace.AsksTime(e.Commands), KeyLife: keyLife(e),
		Deadlines: slices.ContainsFunc(e.Ops, func(op history.Op) bool {
			return op.F == history.FAcquire && op.Type == history.OK && op.Lease != nil && op.Lease.Deadline != 0
		}),
		Scripts: slices.ContainsFunc(e.Commands, func(c history.Command) bool {
			_, ok := c.Script()
			return ok
		}),
	}
}

// whens lists the points of a command in the order in which the command passes them.
var whens = []testbed.When{testbed.Before, testbed.Sent, testbed.Replied}

// Points returns the sorted points that a fault-free probe trial passed. Each command, given by its
// step, node and number, has one point before it, one when it is sent and, if a reply came, one
// when the reply arrives. Handshakes, PING and commands outside every step are left out. An EVALSHA
// that failed with NOSCRIPT is not counted: later runs of the same step find the script in the
// node's cache. The points' Client is history.NoClient: the points are the same for all clients.
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

// keyLife returns Sight.KeyLife.
func keyLife(e history.Evidence) (longest time.Duration) {
	keys := keyspace.Read(e)
	if _, blind := keys.Blind(); blind {
		return e.Claims.Recovery
	}
	pairs, _ := history.Pairs(e.Ops) // an impossible history has no pairs, so that the result is 0
	for _, p := range pairs {
		if p.Invoke.F == history.FAcquire && p.Done() == history.OK {
			life, _ := keys.TTLOf(p.Invoke.Index)
			longest = max(longest, life)
		}
	}
	return longest
}

// byNode sorts n2 before n10.
func byNode(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
