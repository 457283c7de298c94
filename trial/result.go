package trial

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// Outcome is how a trial or a cell came out, as matrix.json spells it.
type Outcome string

// Outcomes, worst first.
const (
	Violated     Outcome = "violated"      // an oracle other than liveness
	Blocked      Outcome = "blocked"       // only liveness: for ever, or up to the lease time
	Unknown      Outcome = "unknown"       // an oracle could not tell, or no trial finished
	NotExercised Outcome = "not-exercised" // the fault hit nothing
	NotSupported Outcome = "not-supported" // the testbed or topology cannot do it
	Holds        Outcome = "holds"         // no violation in the trials that were run; never "safe"
)

// liveness is the one oracle whose violation is a blockage, not a broken promise
// of exclusion.
const liveness = "liveness"

// conduct is the one oracle that always applies: it is about the code, not the lock.
const conduct = "conduct"

// Flaw is one (oracle, cause) that a trial or a cell showed, with the kind that
// the recipe declares for it.
type Flaw struct {
	Oracle string `json:"oracle"`
	Cause  string `json:"cause"`
	// Kind is bug or limit as the recipe declares it; empty if the recipe
	// declares no such flaw: it was not expected.
	Kind locks.Kind `json:"kind"`
	// Forever: nobody would ever have got in again (liveness only).
	Forever bool `json:"forever,omitempty"`
}

// Result is one finished trial: a line of trials.jsonl.
type Result struct {
	Spec     Spec              `json:"spec"`
	Outcome  Outcome           `json:"outcome"`
	Kind     locks.Kind        `json:"kind"`
	Flaws    []Flaw            `json:"flaws,omitempty"` // distinct, worst first
	Verdicts []checker.Verdict `json:"verdicts,omitempty"`
	// Doubtful are what the trial would show besides if no stall of the harness, and no
	// election that no fault provoked, could be behind it; also what earlier runs of it left in doubt, undeclared, as
	// long as no run settled it.
	Doubtful []Flaw `json:"doubtful,omitempty"`
	// Settled are those of earlier runs that this one was to settle, and does not show.
	Settled []Flaw `json:"settled,omitempty"`
	// DoubtDir is the folder of the first of the earlier runs that left something
	// undeclared in doubt, relative to the campaign's; empty if none was kept.
	DoubtDir string `json:"doubt_dir,omitempty"`
	// Spoilt: the harness was not scheduled for too long, or nodes elected another
	// primary unasked, so that what this run does not show proves nothing either.
	Spoilt bool `json:"spoilt,omitempty"`
	// Hits counts what the fault demonstrably affected.
	Hits int `json:"hits"`
	// Progress measures how the clients fared; nil if there is nothing to measure.
	Progress *checker.Progress `json:"progress,omitempty"`
	Ops      int               `json:"ops"`
	Commands int               `json:"commands"`
	Keys     int               `json:"keys"` // changes of keys
	// Hash is history.Hash of history, commands and key changes.
	Hash string `json:"hash,omitempty"`
	// Promised identifies the claims that the trial was judged by.
	Promised string `json:"promised,omitempty"`
	// Dir is the trial's folder relative to the campaign's; empty if it was
	// not kept: it held, or an earlier trial of its cell showed the same.
	Dir string `json:"dir,omitempty"`
	// Err says why the harness could not finish or judge the trial; then
	// Outcome is unknown. Or it says what may have been left behind by one that the
	// code under test ended, whose outcome that does not touch.
	Err string `json:"error,omitempty"`
	// Lack is what was missing if Outcome is not supported. Why says that in a sentence,
	// or what earlier runs left in doubt.
	Lack    *Lack         `json:"lack,omitempty"`
	Why     string        `json:"why,omitempty"`
	Elapsed time.Duration `json:"elapsed"`
	// Virtual is how long the trial was on its own clock, if that is not the
	// machine's.
	Virtual time.Duration `json:"virtual,omitempty"`
	// Probe: a fault-free trial that was run for its commands; it also counts
	// as a trial of its cell, if that was asked for.
	Probe bool `json:"probe,omitempty"`
	// Again counts how often the trial was run before, and left something open because
	// the machine had stalled the harness, nodes had elected another primary, or two
	// things came too close together for their order to be seen.
	Again int `json:"again,omitempty"`
	// Further: an earlier attempt is recorded, since it shows a violation, and this one,
	// which nobody planned, is to settle what that left in doubt.
	Further bool `json:"further,omitempty"`
	// Acquires are the lengths of the successful acquires of a trial without a
	// fault; a sink gets them, they are not stored.
	Acquires []time.Duration `json:"-"`
	// Shrinking says how a trial that Load read came about, if it is a minimal
	// one, or why there is none of it; nil = that was not asked for.
	Shrinking *Shrinking `json:"-"`
}

// Exercised says whether the trial's fault hit something; a trial without a
// fault has nothing to prove.
func (t Result) Exercised() bool { return len(t.Spec.Plan) == 0 || t.Hits > 0 }

// Violation says whether an oracle was violated.
func (t Result) Violation() bool { return t.Outcome == Violated || t.Outcome == Blocked }

// Shows is what a violated trial shows: of two that show the same, one will do.
func (t Result) Shows() string {
	text, _ := json.Marshal(t.Flaws) // plain data
	return string(t.Outcome) + string(text)
}

// Decided says whether the trial counts for or against its lock: its fault hit
// something, or it showed a violation, and its oracles could tell.
func (t Result) Decided() bool { return t.Violation() || t.Outcome == Holds }

// Rank orders trials by what they show, worst first.
func (t Result) Rank() int { return rank(t.Outcome, t.Kind, len(t.Flaws) > 0 && t.Flaws[0].Forever) }

// Weigh fills in what the verdicts amount to, by the flaws that the recipe declares.
func (t *Result) Weigh(declared []locks.Flaw) {
	t.Flaws, t.Doubtful = flawsOf(*t, declared), doubtsOf(*t, declared)
	t.Outcome, t.Kind = Holds, ""
	switch {
	case t.Err != "":
		t.Outcome = Unknown
	case len(t.Flaws) > 0:
		t.Outcome, t.Kind = t.Flaws[0].outcome(), t.Flaws[0].Kind
	case t.has(checker.Unknown):
		t.Outcome = Unknown
	case !t.Exercised() || !t.held():
		t.Outcome = NotExercised
	}
}

// held says whether a property of the lock was found to hold. That the code
// under test did not break down says nothing of a lock that nobody took.
func (t Result) held() bool {
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool { return v.Result == checker.Held && v.Oracle != conduct })
}

// has says whether any oracle came to result r.
func (t Result) has(r checker.Result) bool {
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool { return v.Result == r })
}

// flawsOf lists the distinct flaws that t shows, worst first.
func flawsOf(t Result, declared []locks.Flaw) []Flaw {
	var flaws []Flaw
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated {
			continue
		}
		if len(v.Findings) == 0 {
			flaws = append(flaws, Flaw{Oracle: v.Oracle, Cause: string(checker.Unclassified)})
		}
		for _, f := range v.Findings {
			flaws = append(flaws, flawOf(t.Spec, v.Oracle, f, declared))
		}
	}
	return Distinct(flaws)
}

// doubtsOf lists the distinct flaws that t shows only if nothing excuses them,
// worst first.
func doubtsOf(t Result, declared []locks.Flaw) []Flaw {
	var flaws []Flaw
	for _, v := range t.Verdicts {
		for _, f := range v.Doubtful {
			if flaw := flawOf(t.Spec, v.Oracle, f, declared); !slices.ContainsFunc(t.Flaws, flaw.Same) {
				flaws = append(flaws, flaw)
			}
		}
	}
	return Distinct(flaws)
}

func flawOf(s Spec, oracle string, f checker.Finding, declared []locks.Flaw) Flaw {
	cause := string(cmp.Or(f.Cause, checker.Unclassified))
	return Flaw{Oracle: oracle, Cause: cause, Kind: kindOf(s, oracle, cause, declared), Forever: f.Forever}
}

// Distinct has each flaw once, worst first.
func Distinct(all []Flaw) []Flaw {
	var flaws []Flaw
	for _, f := range all {
		if i := slices.IndexFunc(flaws, f.Same); i >= 0 {
			flaws[i].Forever = flaws[i].Forever || f.Forever
			continue
		}
		flaws = append(flaws, f)
	}
	slices.SortFunc(flaws, CompareFlaws)
	return flaws
}

// Same says whether g is of the same oracle and cause.
func (f Flaw) Same(g Flaw) bool { return f.Oracle == g.Oracle && f.Cause == g.Cause }

// kindOf finds the kind that the recipe declares for (oracle, cause) under the
// trial's own fault, or one that this brings about in the trial's topology, or that
// the workload is like; empty if it declares none there, whatever it declares elsewhere. A mix of faults may show
// whatever is declared for any.
func kindOf(s Spec, oracle, cause string, declared []locks.Flaw) locks.Kind {
	body, _ := workloads.ByName(s.Workload)
	for _, fault := range slices.Concat([]string{s.Fault}, nemesis.Provoked(s.Fault, s.Topology), body.Like) {
		if f, ok := (locks.Recipe{Flaws: declared}).Declares(oracle, cause, fault); ok {
			return f.Kind
		}
	}
	i := slices.IndexFunc(declared, func(f locks.Flaw) bool { return f.Oracle == oracle && f.Cause == cause })
	if i < 0 || !nemesis.Mixes(s.Fault) {
		return ""
	}
	return declared[i].Kind
}

// outcome is what the flaw makes of a trial.
func (f Flaw) outcome() Outcome {
	if f.Oracle == liveness {
		return Blocked
	}
	return Violated
}

// rank orders (outcome, kind, for ever), worst first. An
// undeclared violation ranks between a bug and a limit: nothing excuses it.
func rank(o Outcome, k locks.Kind, forever bool) int {
	kinds := map[locks.Kind]int{locks.Bug: 0, "": 1, locks.Limit: 2}
	switch o {
	case Violated:
		return kinds[k]
	case Blocked:
		if forever {
			return 3 + kinds[k]
		}
		return 6 + kinds[k]
	case Unknown:
		return 9
	case NotExercised:
		return 10
	case NotSupported:
		return 11
	}
	return 12
}

// CompareFlaws orders flaws, worst first.
func CompareFlaws(a, b Flaw) int {
	return cmp.Or(
		rank(a.outcome(), a.Kind, a.Forever)-rank(b.outcome(), b.Kind, b.Forever),
		cmp.Compare(a.Oracle, b.Oracle),
		cmp.Compare(a.Cause, b.Cause),
	)
}
