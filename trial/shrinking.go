package trial

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/testbed"
)

// MinimalFolder, in a violated trial's folder, holds the smallest trial found that shows
// the same flaw.
const MinimalFolder = "minimal"

// Shrinking says in a minimal trial's verdict.json how that trial came about. In the
// verdict.json of a trial that could not be shrunk, it says why not.
type Shrinking struct {
	From Size `json:"from"`
	To   Size `json:"to"`
	// Trials is the number of trials that the search ran.
	Trials int `json:"trials"`
	// Unfinished says why the search stopped early; a smaller trial may exist. "" = no single edit
	// makes the trial smaller.
	Unfinished string `json:"unfinished,omitempty"`
	// NotShrunk: no smaller trial was found, for the reason in Unfinished.
	NotShrunk bool `json:"notShrunk,omitempty"`
}

// Words returns the sizes in words for a reader: "3 to 2 clients, 676 to 52 operations".
func (s Shrinking) Words() string {
	var words []string
	for _, n := range []struct {
		from, to int
		noun     string
	}{
		{s.From.Clients, s.To.Clients, "client"}, {s.From.Actions, s.To.Actions, "fault"}, {s.From.Nodes, s.To.Nodes, "node"},
		{s.From.Ops, s.To.Ops, "operation"}, {s.From.Commands, s.To.Commands, "command"},
	} {
		if n.from != n.to {
			words = append(words, fmt.Sprintf("%d to %d %s", n.from, n.to, wording.Plural(n.to, n.noun)))
		}
	}
	text := strings.Join(words, ", ")
	if text == "" {
		text = "nothing could be left out"
	}
	if s.Unfinished != "" {
		text += "; " + s.Unfinished
	}
	return text
}

// Size is the size of a trial.
type Size struct {
	Clients  int           `json:"clients"`
	Actions  int           `json:"actions"` // of the plan
	Nodes    int           `json:"nodes"`
	Duration time.Duration `json:"duration"` // of the disturbed part
	Ops      int           `json:"ops"`
	Commands int           `json:"commands"`
	Keys     int           `json:"keys"` // changes of keys
}

// Size returns the trial's size.
func (t Result) Size() Size {
	nodes := 1
	switch t.Spec.Topology {
	case testbed.Replicated:
		nodes += testbed.Replicas
	case testbed.Independent:
		nodes = cmp.Or(t.Spec.Nodes, DefaultNodes)
	}
	return Size{
		Clients: t.Spec.Options.Clients, Actions: len(t.Spec.Plan), Nodes: nodes,
		Duration: t.Spec.Options.Duration, Ops: t.Ops, Commands: t.Commands, Keys: t.Keys,
	}
}
