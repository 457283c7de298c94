package campaign

import (
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// Spec is everything that defines one trial, as data: spec.json. Names are
// looked up in the registries of recipes, workloads and faults.
type Spec struct {
	Lock     string `json:"lock"`
	Workload string `json:"workload"`
	// Fault is the cell that the trial belongs to; what happens is in Plan.
	Fault    string           `json:"fault"`
	Testbed  string           `json:"testbed"`
	Topology testbed.Topology `json:"topology"`
	// Nodes of an independent topology; 0 elsewhere.
	Nodes      int                `json:"nodes,omitempty"`
	Durability testbed.Durability `json:"durability,omitempty"`
	Options    workloads.Options  `json:"options"`
	Plan       nemesis.Plan       `json:"plan,omitempty"`
	// Seed of everything random in the trial; below 2^53, so that programs that
	// read JSON numbers as floats keep it.
	Seed uint64 `json:"seed"`
	// Trial is the trial's number in its cell and workload, from 0.
	Trial int `json:"trial"`
	// Timeout ends the trial as failed; 0 = chosen from Options.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Outcome is how a trial or a cell came out, as matrix.json spells it.
type Outcome string

// Outcomes, worst first.
const (
	Violated     Outcome = "violated"      // an oracle other than liveness
	Blocked      Outcome = "blocked"       // only liveness: kind bug = for ever, kind limit = up to the lease time
	Unknown      Outcome = "unknown"       // an oracle could not tell, or no trial finished
	NotExercised Outcome = "not-exercised" // the fault hit nothing
	NotSupported Outcome = "not-supported" // the testbed or topology cannot do it
	Holds        Outcome = "holds"         // no violation in the trials that were run; never "safe"
)

// Flaw is one (oracle, cause) that a trial or a cell showed, with the kind that
// the recipe declared for it.
type Flaw struct {
	Oracle string `json:"oracle"`
	Cause  string `json:"cause"`
	// Kind is bug or limit as the recipe declares it; empty if the recipe
	// declares no such flaw: it was not expected.
	Kind locks.Kind `json:"kind"`
	// Forever: nobody would ever have got in again (liveness only).
	Forever bool `json:"forever,omitempty"`
}

// Trial is one finished trial: a line of trials.jsonl.
type Trial struct {
	Spec     Spec              `json:"spec"`
	Outcome  Outcome           `json:"outcome"`
	Kind     locks.Kind        `json:"kind"`
	Flaws    []Flaw            `json:"flaws,omitempty"` // distinct, sorted
	Verdicts []checker.Verdict `json:"verdicts,omitempty"`
	// Hits sums what the plan's windows demonstrably affected.
	Hits     int `json:"hits"`
	Ops      int `json:"ops"`
	Commands int `json:"commands"`
	// Hash is history.Hash of history and commands.
	Hash string `json:"hash,omitempty"`
	// Dir is the trial's folder relative to the campaign's; empty if it was
	// not kept.
	Dir string `json:"dir,omitempty"`
	// Err says why the harness could not finish or judge the trial; then
	// Outcome is unknown.
	Err     string        `json:"error,omitempty"`
	Elapsed time.Duration `json:"elapsed"`
	// Probe: the fault-free trial that a campaign starts with per recipe and
	// workload; it also counts as a trial of fault none if that was asked for.
	Probe bool `json:"probe,omitempty"`
}
