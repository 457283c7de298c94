package campaign

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// Schema is the version of matrix.json.
const Schema = 1

// Cell is one recipe under one fault, over all its workloads and trials. Its
// JSON is stable for other programs.
type Cell struct {
	Lock    string        `json:"lock"`
	Fault   string        `json:"fault"`
	Verdict trial.Outcome `json:"verdict"`
	Kind    locks.Kind    `json:"kind"` // bug, limit, or empty
	// Causes of all violations, worst oracle first; never null.
	Causes []string `json:"causes"`
	// Oracles maps each oracle's name to its worst result over all trials.
	Oracles    map[string]string `json:"oracles"`
	Trials     int               `json:"trials"`
	Violations int               `json:"violations"` // trials with a violated oracle
	// Shown counts the trials that came to the cell's own verdict, kind
	// included, and Exercised those that came to any: their fault hit something
	// and their oracles could tell. The others were undecided, or hit nothing.
	Shown     int `json:"shown"`
	Exercised int `json:"exercised"`
	// Enumerated are those of the exercised that named schedules were: nothing
	// about them is left to luck, so that no bound is drawn from them.
	Enumerated int `json:"enumerated,omitempty"`
	Undecided  int `json:"undecided"`
	// Seed is that of the trial that shows the verdict best, and Hash what its
	// history and commands come to, if it does the same wherever it is run again.
	Seed uint64 `json:"seed"`
	Hash string `json:"hash,omitempty"`
	// Varies: the lock is not replayable byte for byte (Matrix.Varying).
	Varies bool `json:"varies,omitempty"`
	// Replay is the command line that runs that trial again.
	Replay string `json:"replay"`
	// Minimal is the folder, relative to the campaign, of the smaller trial that
	// the one in Dir was shrunk to; empty if it was not.
	Minimal string `json:"minimal,omitempty"`

	// Forever tells "blocked for ever" from "blocked up to TTL".
	Forever bool `json:"-"`
	// Lack is why the cell is not supported; nil if it is. Why says that in a sentence, or
	// what went wrong with its trials.
	Lack *trial.Lack `json:"-"`
	Why  string      `json:"-"`
	// UndecidedWhy says in a sentence why the first undecided trial is.
	UndecidedWhy string `json:"-"`
	// UndecidedDir is that trial's folder, relative to the campaign.
	UndecidedDir string `json:"-"`
	// Dir is the stored trial that shows the verdict best, relative to the
	// campaign; empty if none was kept.
	Dir string `json:"-"`
	// Flaws are the distinct flaws that the cell's trials showed.
	Flaws []trial.Flaw `json:"-"`
}

// Matrix is the outcome of a campaign: matrix.json. Cells are sorted by lock,
// then by fault in the order of the faults' registry.
type Matrix struct {
	Schema  int    `json:"schema"`
	Seed    uint64 `json:"seed"`
	Testbed string `json:"testbed"`
	Command string `json:"command"`
	Store   string `json:"store"`
	Cells   []Cell `json:"cells"`
	// Varying are the locks that are not replayable byte for byte, where others are.
	Varying []Varying `json:"varying,omitempty"`

	// Unexpected are violations that their recipe does not declare for their
	// fault, and Missed are declared flaws that did not show under theirs.
	Unexpected []Surprise `json:"-"`
	Missed     []Surprise `json:"-"`
	// Doubtful is what may be unexpected too, in one entry for each cell.
	Doubtful []Doubt `json:"-"`
	// Settled was in doubt: of no consequence for the exit code, but to be seen.
	Settled []Doubt `json:"-"`
	// Failed are trials that the harness could not finish or judge.
	Failed []trial.Result `json:"-"`
	// Interrupted: the campaign was stopped or killed before its last trial.
	Interrupted bool `json:"-"`
	// Planned are the trials of all cells, and Finished those that were run.
	Planned  int `json:"-"`
	Finished int `json:"-"`
}

// Surprise is a difference between what a recipe declares and what was found.
type Surprise struct {
	Lock   string
	Fault  string // where it was found; for a missed flaw, where it was looked for (comma-separated)
	Oracle string
	Cause  string
	Dir    string // the stored trial, relative to the campaign; empty for a missed flaw
	// Hidden: a flaw may be missed only because trials that were to show it are undecided: by
	// a stall of the harness, an election that no fault provoked, or a reply that nobody saw.
	// No deterministic trial is.
	Hidden bool
}

// Sink receives results as they come: what turns them into pictures and pages.
type Sink interface {
	// Trial is called once per judged trial, from one goroutine at a time. If
	// t.Dir names a folder, it holds the trial's evidence; if not, there is
	// nothing to show of the trial. e is empty: it was left where the trial ran.
	Trial(ctx context.Context, t trial.Result, e history.Evidence) error
	// Done is called once, after the last trial.
	Done(ctx context.Context, m Matrix) error
}

// Exit codes, as in Jepsen.
const (
	ExitExpected   = 0   // as expected; without Config.Expect also violations
	ExitUnexpected = 1   // found what was not expected, or missed what was
	ExitUnknown    = 2   // somewhere it cannot be told
	ExitUsage      = 254 // bad usage or configuration
	ExitHarness    = 255 // the harness itself failed
)

// NotExercised are the cells in which the fault hit nothing in any trial: nobody
// knows what it would have shown.
func (m Matrix) NotExercised() []Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool { return c.Verdict != trial.NotExercised })
}

// ExitCode says how a finished campaign ends its program. Without expect,
// finding violations is the job done; with it, every violation that is not declared is
// unexpected, whatever its cause, and so is a fault that hit nothing. What may not be as
// expected, and what may have been missed (Excuse, Hiding), counts as unknown.
func (m Matrix) ExitCode(expect bool) int {
	if len(m.Failed) > 0 {
		return ExitHarness
	}
	hidden := func(s Surprise) bool { return s.Hidden }
	lacking := slices.DeleteFunc(slices.Clone(m.Missed), hidden)
	if expect && (len(lacking) > 0 || len(m.NotExercised()) > 0 || len(m.Unexpected) > 0) {
		return ExitUnexpected
	}
	unsure := func(c Cell) bool { return c.Verdict == trial.Unknown }
	if slices.ContainsFunc(m.Cells, unsure) || expect && len(m.Doubtful)+len(m.Missed) > 0 {
		return ExitUnknown
	}
	return ExitExpected
}
