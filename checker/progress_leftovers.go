package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Leftover is a key that an acquire left behind although its client does not know that it
// succeeded: the acquire was refused, or its outcome is unknown. The client did not crash.
type Leftover struct {
	Client int    `json:"client"`
	Node   string `json:"node"`
	Key    string `json:"key"`
	// From is the first time at which the key stood there and the attempt was over. Until
	// is the time at which the key was gone, another client took it over, or the client
	// crashed; at most the history's end.
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until"`
}

// lasted returns the time for which the key was in the way of others.
func (l Leftover) lasted() time.Duration { return l.Until - l.From }

// Leftovers lists the keys that attempts left behind, in order of From. Keys that were
// gone within two milliseconds do not count. An impossible history has none.
func Leftovers(e history.Evidence) []Leftover {
	rp, err := newCaseFile(e).replay()
	if err != nil {
		return nil
	}
	return rp.strays()
}

func (rp *replay) strays() []Leftover {
	var all []Leftover
	for _, l := range rp.Grants {
		if !rp.has(l.Op) {
			continue
		}
		p := rp.operation(l.Op)
		if p.Invoke.F != history.FAcquire || p.Complete == nil || p.Complete.Type == history.OK {
			continue
		}
		found := Leftover{Client: l.Client, Node: l.Node, Key: l.Key, From: max(l.At.Lo, l.Came, rp.doneAt(p)), Until: min(rp.end, rp.crashOf(l.Client), l.Until())}
		if found.lasted() > orphanSlack {
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b Leftover) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Client, b.Client))
	})
	return all
}

// leftovers sums up the keys that attempts left behind.
func (m *measure) leftovers() {
	for _, l := range m.replay.strays() {
		m.Leftovers++
		m.LeftoverSum += l.lasted()
		if l.lasted() > m.LeftoverMost.lasted() {
			m.LeftoverMost = l
		}
	}
}
