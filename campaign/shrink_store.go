package campaign

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// MinimalFolder is, in a violated trial's folder, that of the smallest trial found
// that shows the same.
const MinimalFolder = "minimal"

// Shrinking says in a minimal trial's verdict.json how it came about. In that of a
// trial that was to be shrunk, and was not, it says why.
type Shrinking struct {
	From Size `json:"from"`
	To   Size `json:"to"`
	// Trials is how many were run to find it.
	Trials int `json:"trials"`
	// Unfinished says why the search ended before its end: there may be a smaller
	// one. Empty = no single step leads further.
	Unfinished string `json:"unfinished,omitempty"`
	// NotShrunk: there is no smaller trial, for the reason that Unfinished gives.
	NotShrunk bool `json:"notShrunk,omitempty"`
}

// Words are a reader's words for it: "3 to 2 clients, 676 to 52 operations".
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
			words = append(words, fmt.Sprintf("%d to %d %s", n.from, n.to, plural(n.to, n.noun)))
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

// Size is how much there is to a trial.
type Size struct {
	Clients  int           `json:"clients"`
	Actions  int           `json:"actions"` // of the plan
	Nodes    int           `json:"nodes"`
	Duration time.Duration `json:"duration"` // of the time for faults
	Ops      int           `json:"ops"`
	Commands int           `json:"commands"`
	Keys     int           `json:"keys"` // changes of keys
}

// size is the trial's.
func (t Trial) size() Size {
	nodes := 1
	switch t.Spec.Topology {
	case testbed.Replicated:
		nodes += testbed.Replicas
	case testbed.Independent:
		nodes = cmp.Or(t.Spec.Nodes, defaultNodes)
	}
	return Size{
		Clients: t.Spec.Options.Clients, Actions: len(t.Spec.Plan), Nodes: nodes,
		Duration: t.Spec.Options.Duration, Ops: t.Ops, Commands: t.Commands, Keys: t.Keys,
	}
}

// MinimalSink is a Sink that also shows minimal trials.
type MinimalSink interface {
	// Minimal is called for each minimal trial before Done, from one goroutine at a
	// time. Trial.Dir is its folder, relative to the campaign.
	Minimal(ctx context.Context, t Trial, e history.Evidence) error
}

// LoadTrial reads a judged trial back from its folder; Dir and what only a run
// knows are not set. Errors are InputErrors that name the file.
func LoadTrial(folder string) (Trial, history.Evidence, error) {
	r, err := LoadRecord(folder)
	if err != nil {
		return Trial{}, history.Evidence{}, err
	}
	v, err := loadVerdict(folder)
	t := Trial{Outcome: v.Outcome, Kind: v.Kind, Flaws: v.Flaws, Verdicts: v.Verdicts, Hits: v.Hits,
		Ops: v.Ops, Commands: v.Commands, Keys: v.Keys, Hash: v.Hash, Promised: v.Promised, Err: v.Err, Progress: v.Progress, Shrinking: v.Shrinking}
	if r.Spec != nil {
		t.Spec = *r.Spec
	}
	return t, r.Evidence, err
}

// loadVerdict reads a folder's verdict.json.
func loadVerdict(folder string) (v verdictFile, err error) {
	err = readJSON(filepath.Join(folder, VerdictFile), &v)
	return v, err
}

// label notes in a stored trial's verdict.json why there is no smaller one.
func label(folder string, s Shrinking) error {
	v, err := loadVerdict(folder)
	if err != nil {
		return err
	}
	v.Shrinking = &s
	return writeJSON(filepath.Join(folder, VerdictFile), v)
}

// withMinimals fills in where, below dir, the minimal trials of the cells are.
func (m *Matrix) withMinimals(dir string) {
	for i := range m.Cells {
		c := &m.Cells[i]
		minimal := filepath.Join(c.Dir, MinimalFolder)
		if _, err := os.Stat(filepath.Join(dir, minimal, VerdictFile)); c.Dir != "" && err == nil {
			c.Minimal = minimal
		}
	}
}

// reportMinimals hands the cells' minimal trials to a sink that shows them.
func (m Matrix) reportMinimals(ctx context.Context, dir string, to Sink) error {
	sink, ok := to.(MinimalSink)
	if !ok {
		return nil
	}
	for _, c := range m.Cells {
		if c.Minimal == "" {
			continue
		}
		t, e, err := LoadTrial(filepath.Join(dir, c.Minimal))
		if err != nil {
			return err
		}
		t.Dir = c.Minimal
		if err := sink.Minimal(ctx, t, e); err != nil {
			return fmt.Errorf("report %s: %w", c.Minimal, err)
		}
	}
	return nil
}
