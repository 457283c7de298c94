package campaign

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
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
	// Causes are the distinct causes of all violations, in the order of Flaws; never null.
	Causes []string `json:"causes"`
	// Oracles maps each oracle's name to its worst result over all trials.
	Oracles    map[string]string `json:"oracles"`
	Trials     int               `json:"trials"`
	Violations int               `json:"violations"` // trials with a violated oracle
	// Unstruck counts the violated trials whose fault hit nothing. Violations counts them too,
	// since the lock broke, but they say nothing about the fault.
	Unstruck int `json:"unstruck,omitempty"`
	// Shown counts the trials with the same verdict, kind and Forever as the cell. Exercised counts the
	// decided trials: those with a violation, and those whose fault hit something and whose oracles
	// could tell.
	Shown     int `json:"shown"`
	Exercised int `json:"exercised"`
	// Enumerated counts the exercised trials that were named schedules, or trials of the corpus. They are
	// not random samples, so Bound ignores them.
	Enumerated int `json:"enumerated,omitempty"`
	Undecided  int `json:"undecided"`
	// Covered counts the distinct behaviours, the kinds of operations (trial.Operations), of all trials. LastNew is the
	// number of the last trial that showed a new one, from 1 to Trials: named trials come first,
	// then drawn ones. If it is far below Trials, more trials of this kind would show little.
	Covered int `json:"covered"`
	LastNew int `json:"lastNew"`
	// Seed is the seed of the trial that shows the verdict best. Hash is that trial's history.Hash,
	// set only if trials of the lock are deterministic.
	Seed uint64 `json:"seed"`
	Hash string `json:"hash,omitempty"`
	// Varies: the lock is not replayable byte for byte (Matrix.Varying).
	Varies bool `json:"varies,omitempty"`
	// Replay is the command line that runs the trial of Seed again.
	Replay string `json:"replay"`
	// Minimal is the folder of the shrunk version of the trial in Dir, relative to the
	// campaign; "" if that trial was not shrunk.
	Minimal string `json:"minimal,omitempty"`

	// Forever: a Blocked cell is blocked for ever, not only up to the TTL.
	Forever bool `json:"-"`
	// Lack says why the cell is not supported; nil if it is supported. Why is a sentence about the
	// lack, or about the reason why there is no verdict; for other cells, it is Result.Err or
	// Result.Why of the trial that shows the verdict best, perhaps "".
	Lack *nemesis.Unsupported `json:"-"`
	Why  string               `json:"-"`
	// UndecidedWhy says in a sentence why the first undecided trial is undecided.
	UndecidedWhy string `json:"-"`
	// UndecidedDir is the first undecided trial's folder, relative to the campaign.
	UndecidedDir string `json:"-"`
	// Dir is the folder of the trial that shows the verdict best, relative to the campaign; "" if that
	// trial was not kept.
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
	// Shard is set if the matrix covers only one shard of a campaign.
	Shard Shard `json:"shard,omitzero"`
	// Further sums up the trials that Config.Budget added; nil = none. Further.Cells is empty here:
	// Cells already counts these trials.
	Further *Further `json:"further,omitempty"`
	// Varying lists the locks that are not replayable byte for byte on a deterministic
	// testbed.
	Varying []Varying `json:"varying,omitempty"`
	// Programs are flaws of the clients' programs. No cell counts them.
	Programs []ProgramFlaw `json:"programs,omitempty"`

	// Unexpected are violations that the recipe does not declare for the fault, and undeclared flaws
	// of the clients' programs. Missed are declared flaws that did not show.
	Unexpected []Discrepancy `json:"undeclared,omitempty"`
	Missed     []Discrepancy `json:"missed,omitempty"`
	// Doubtful are undeclared violations that are possible but not certain; one entry for
	// each cell.
	Doubtful []Doubt `json:"-"`
	// New are flaws that the corpus does not have in their cells, and Lost are facts of the corpus that
	// did not come out.
	New  []Discrepancy `json:"new,omitempty"`
	Lost []LostFact    `json:"lost,omitempty"`
	// Changed lists the recipes whose trials of the corpus have other histories than when the corpus was
	// made: what they do now may show in trials that the corpus did not select.
	Changed []Changed `json:"changed,omitempty"`
	// Failed are trials with an error of the harness (trial.Result.Err).
	Failed []trial.Result `json:"-"`
	// Interrupted: the campaign was stopped or killed before its end, or a merged one lacks a shard.
	Interrupted bool `json:"interrupted,omitempty"`
	// Planned and Finished count the trials of all cells. Planned is too small if the campaign
	// was interrupted before its schedules were known.
	Planned  int `json:"planned"`
	Finished int `json:"finished"`
}

// Discrepancy is a difference between what was found and what a recipe or workload declares, or a
// confirmation seeks.
type Discrepancy struct {
	Lock   string `json:"lock"`
	Fault  string `json:"fault"` // for a missed flaw: one or more faults, comma-separated
	Oracle string `json:"oracle"`
	Cause  string `json:"cause"`
	Dir    string `json:"dir,omitempty"` // folder of the stored trial, relative to the campaign; "" for a missed flaw
	// Replay is the command line that runs the trial again, of a flaw that the corpus does not have.
	Replay string `json:"replay,omitempty"`
	// Hidden: the flaw may be missed only because trials are undecided, due to a stall of
	// the harness, an election that no fault provoked, or an unseen reply. Never set where
	// trials are deterministic.
	Hidden bool `json:"hidden,omitempty"`
}

// LostFact is a fact for which the corpus keeps a trial, and which the trial did not show.
type LostFact struct {
	Lock     string `json:"lock"`
	Fault    string `json:"fault"`
	Workload string `json:"workload"`
	Trial    string `json:"trial"` // trial.Spec.Title
	Fact     string `json:"fact"`
}

// Changed counts the trials of the corpus that have other histories than when the corpus was made, of one
// recipe. If its fault-free trials, the probes, are among them, every named schedule of the recipe ran.
type Changed struct {
	Lock   string `json:"lock"`
	Trials int    `json:"trials"`
	Probes int    `json:"probes,omitempty"`
}

// Sink receives results as they come, and makes pictures and pages of them.
type Sink interface {
	// Trial is called once for each trial of the list (trial.ResultsFile), from one goroutine at a
	// time. If t.Dir names a folder, the folder holds the trial's evidence; else there is nothing to
	// show.
	Trial(ctx context.Context, t trial.Result) error
	// Done is called once, after the last trial, with the campaign as it is stored.
	Done(ctx context.Context, s Stored) error
}

// Exit codes, as in Jepsen.
const (
	ExitExpected   = 0   // as expected; without Config.Expect, violations count as expected
	ExitUnexpected = 1   // an undeclared violation, a missed flaw, or a fault that hit nothing
	ExitUnknown    = 2   // a cell is undecided, a discrepancy uncertain, or a recipe another than the corpus knows
	ExitUsage      = 254 // bad usage or configuration
	ExitHarness    = 255 // the harness itself failed
)

// NotExercised returns the cells in which no trial was exercised.
func (m Matrix) NotExercised() []Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c Cell) bool { return c.Verdict != trial.NotExercised })
}

// ExitCode returns the exit code of a finished campaign. Without expect, violations are a normal
// result. With expect, undeclared violations, missed flaws, lost facts and faults that hit nothing are
// unexpected. Missed flaws and idle faults do not count in a shard: other shards may show the flaws
// and hit something. Uncertain violations (Excuse) and flaws that may be hidden (Hiding) count as
// unknown.
func (m Matrix) ExitCode(expect bool) int {
	if len(m.Failed) > 0 {
		return ExitHarness
	}
	hidden := func(s Discrepancy) bool { return s.Hidden }
	lacking := slices.DeleteFunc(slices.Clone(m.Missed), hidden)
	idle := len(m.NotExercised()) > 0 && !m.Shard.Part()
	if expect && (len(lacking) > 0 || len(m.Lost) > 0 || idle || len(m.Unexpected) > 0) {
		return ExitUnexpected
	}
	unsure := func(c Cell) bool { return c.Verdict == trial.Unknown }
	if slices.ContainsFunc(m.Cells, unsure) || expect && len(m.Doubtful)+len(m.Missed)+len(m.Changed) > 0 {
		return ExitUnknown
	}
	return ExitExpected
}
