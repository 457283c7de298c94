package trial

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/workloads"
)

// Outcome is the outcome of a trial or a cell, spelt as in matrix.json.
type Outcome string

// Outcomes, worst first.
const (
	Violated     Outcome = "violated"      // an oracle other than liveness was violated
	Blocked      Outcome = "blocked"       // only liveness was violated: for ever, or up to the lease time
	Unknown      Outcome = "unknown"       // an oracle could not tell, a trial failed, or no trial was run
	NotExercised Outcome = "not-exercised" // the fault hit nothing, or the oracles had nothing to judge
	NotSupported Outcome = "not-supported" // the testbed or topology cannot run the cell
	Holds        Outcome = "holds"         // no violation in the trials that were run; no proof of safety
)

// Flaw is a kind of violation that a trial or a cell showed: the violated oracle and the cause.
type Flaw struct {
	Oracle string `json:"oracle"`
	Cause  string `json:"cause"`
	// Kind is bug or limit as the recipe declares it; "" if the recipe does not declare
	// the flaw, which is then unexpected.
	Kind locks.Kind `json:"kind"`
	// Forever: no client could ever have acquired the lock again (liveness only).
	Forever bool `json:"forever,omitempty"`
}

// Result is one finished trial. Its brief form (Brief) is a line of trials.jsonl.
type Result struct {
	Spec     Spec              `json:"spec"`
	Outcome  Outcome           `json:"outcome"`
	Kind     locks.Kind        `json:"kind"`
	Flaws    []Flaw            `json:"flaws,omitempty"` // distinct, worst first
	Verdicts []checker.Verdict `json:"verdicts,omitempty"`
	// Doubtful are flaws that may not be the lock's: a stall of the harness, or an election that no
	// fault provoked, may explain them.
	Doubtful []Flaw `json:"doubtful,omitempty"`
	// Spoilt: the harness was not scheduled for too long, or nodes elected another primary without
	// a fault. Then even the absence of a flaw proves nothing.
	Spoilt bool `json:"spoilt,omitempty"`
	// Stall is the longest stall of the harness that spoilt the trial, or a run that this one replaces; 0 = none did.
	Stall time.Duration `json:"stall,omitempty"`
	// Hits counts what the fault demonstrably affected.
	Hits int `json:"hits"`
	// Acted says what the spec's remedies did; nil if there are none.
	Acted *remedy.Acted `json:"acted,omitempty"`
	// Progress measures how the clients fared; nil if there is nothing to measure.
	Progress *progress.Measures `json:"progress,omitempty"`
	// Waiting has the waits around the fault; nil if the fault hit nothing or no client waited.
	Waiting *progress.Waiting `json:"waiting,omitempty"`
	// Operations are the kinds of operations that the trial covered (the function Operations).
	Operations []string `json:"operations,omitempty"`
	Ops        int      `json:"ops"`
	Commands   int      `json:"commands"`
	Keys       int      `json:"keys"` // changes of keys
	// Hash is history.Hash of history, commands and key changes.
	Hash string `json:"hash,omitempty"`
	// Promised identifies the claims that the trial was judged by.
	Promised string `json:"promised,omitempty"`
	// Dir is the trial's folder, relative to the campaign's; "" if the folder was not kept, because the
	// trial showed no violation, or only what earlier trials had shown.
	Dir string `json:"dir,omitempty"`
	// Err says why the harness could not finish or judge the trial, or that only the first of two runs
	// ended its process; Outcome is then unknown. For a trial that the code under test ended, it says
	// what may have been left behind; Outcome is then valid.
	Err string `json:"error,omitempty"`
	// Lack says what is missing if Outcome is not supported. Why is a sentence about the lack, or
	// about an earlier run that ended its process.
	Lack    *nemesis.Unsupported `json:"lack,omitempty"`
	Why     string               `json:"why,omitempty"`
	Elapsed time.Duration        `json:"elapsed"`
	// Virtual is the trial's duration on virtual time; 0 on real time.
	Virtual time.Duration `json:"virtual,omitempty"`
	// Probe: the trial has no fault and shows the recipe's commands. It also counts as a trial of
	// its cell, if the campaign has that cell.
	Probe bool `json:"probe,omitempty"`
	// Headline: the corpus has the trial as the one that reports show for its cell, and has its
	// minimal version.
	Headline bool `json:"headline,omitempty"`
	// New are flaws that the corpus does not have for the trial's cell. Missing are facts for which
	// the corpus keeps the trial, and which did not come out (package campaign/corpus).
	New     []Flaw   `json:"new,omitempty"`
	Missing []string `json:"missing,omitempty"`
	// Changed: the trial is one of the corpus, and had another history when the corpus was made.
	Changed bool `json:"changed,omitempty"`
	// Acquires are the durations of the successful acquires of a fault-free trial. They are
	// passed on to the reports (campaign.Sink) but not stored.
	Acquires []time.Duration `json:"-"`
	// Shrinking says how a minimal trial came about, or why there is none; nil = nobody asked to
	// shrink the trial. Only Load and package shrink set it.
	Shrinking *Shrinking `json:"-"`
	// Remedied says what remedies do about the trial's flaws; nil = none was tried. Only Load and who tries remedies set it.
	Remedied *remedy.Effects `json:"-"`
}

// Exercised says whether the trial's fault hit something. A trial without a fault is
// always exercised.
func (t Result) Exercised() bool { return len(t.Spec.Plan) == 0 || t.Hits > 0 }

// Violation says whether an oracle was violated.
func (t Result) Violation() bool { return t.Outcome == Violated || t.Outcome == Blocked }

// Shows returns the outcome and the flaws as a text, for comparing trials.
func (t Result) Shows() string {
	text, _ := json.Marshal(t.Flaws) // plain data
	return string(t.Outcome) + string(text)
}

// Sightings returns a text for each flaw that the trial shows. For a declared flaw, the evidence of
// one trial of the recipe is enough. For an undeclared flaw, and for a doubt about one, every cell
// needs the evidence of a trial of its own (ofCell).
func (t Result) Sightings() (declared, ofCell []string) {
	for _, f := range t.Flaws {
		text, _ := json.Marshal(f) // plain data
		if f.Kind != "" {
			declared = append(declared, string(text))
		} else {
			ofCell = append(ofCell, string(text))
		}
	}
	for _, f := range t.Doubtful {
		if f.Kind == "" {
			text, _ := json.Marshal(f) // plain data
			ofCell = append(ofCell, "doubtful: "+string(text))
		}
	}
	return declared, ofCell
}

// Shown sums up what stored trials already show.
type Shown struct {
	Flaws []string `json:"flaws,omitempty"` // texts made by Result.Sightings
	// Order is the lowest Result.Order of the cell's stored trials; nil = none is stored.
	Order *int `json:"order,omitempty"`
}

// ShowsMore says whether the violated trial shows a flaw that stored trials do not show, or
// shows its cell's verdict better than the stored trials of its cell.
func (t Result) ShowsMore(than Shown) bool {
	if than.Order == nil || t.Order() < *than.Order {
		return true
	}
	declared, ofCell := t.Sightings()
	return slices.ContainsFunc(append(declared, ofCell...), func(s string) bool { return !slices.Contains(than.Flaws, s) })
}

// Decided says whether the trial counts for or against its lock: it showed a violation,
// or its fault hit something and its oracles could tell.
func (t Result) Decided() bool { return t.Violation() || t.Outcome == Holds }

// Rank returns a number by which trials are ordered: the worse the outcome, the lower.
func (t Result) Rank() int { return rank(t.Outcome, t.Kind, len(t.Flaws) > 0 && t.Flaws[0].Forever) }

// Order returns a number by which the trials of a cell are ordered. The better a trial shows the
// cell's verdict, the lower the number. Rank decides first. Among equals, trials whose fault hit
// something come first, then trials without a flaw of the clients' program.
func (t Result) Order() int {
	order := 4 * t.Rank()
	if !t.Exercised() {
		order += 2
	}
	if len(t.OfProgram()) > 0 {
		order++
	}
	return order
}

// Weigh sets outcome, kind, flaws and doubts from the verdicts and the recipe's declared
// flaws.
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
	case !t.Exercised() || !t.anyHeld():
		t.Outcome = NotExercised
	}
}

// Disagreed reports whether two checkers gave different answers for this trial. Then one of them is wrong,
// and no verdict can be trusted.
func (t Result) Disagreed() bool {
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool {
		return slices.ContainsFunc(v.Reasons, func(f account.Fact) bool { return f.What == account.CheckersDisagree })
	})
}

// anyHeld says whether a property of the lock was found to hold. Oracles that always apply do not
// count: they pass even if no client acquired the lock.
func (t Result) anyHeld() bool {
	return slices.ContainsFunc(t.ofLock(), func(v checker.Verdict) bool {
		return v.Result == checker.Held && !checker.OracleNamed(v.Oracle).AlwaysApplies
	})
}

func (t Result) has(r checker.Result) bool {
	return slices.ContainsFunc(t.ofLock(), func(v checker.Verdict) bool { return v.Result == r })
}

// ofProgram says whether the verdict is about the clients' program instead of the lock.
func ofProgram(v checker.Verdict) bool { return checker.OracleNamed(v.Oracle).OfProgram }

// ofLock returns the verdicts about the lock, not those about the clients' program.
func (t Result) ofLock() []checker.Verdict {
	return slices.DeleteFunc(slices.Clone(t.Verdicts), ofProgram)
}

// OfProgram lists the distinct flaws of the clients' program that t shows. They are not flaws of
// the lock and do not affect the outcome.
func (t Result) OfProgram() (flaws []Flaw) {
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated || !ofProgram(v) {
			continue
		}
		for _, f := range v.Findings {
			flaws = append(flaws, Flaw{Oracle: v.Oracle, Cause: string(f.Cause)})
		}
	}
	return Distinct(flaws)
}

// flawsOf lists the distinct flaws of the lock that t shows, worst first.
func flawsOf(t Result, declared []locks.Flaw) []Flaw {
	var flaws []Flaw
	for _, v := range t.ofLock() {
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

// doubtsOf lists the distinct flaws that are only in the doubtful findings of t, worst
// first.
func doubtsOf(t Result, declared []locks.Flaw) []Flaw {
	var flaws []Flaw
	for _, v := range t.ofLock() {
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

// Distinct returns each flaw once (see Same), worst first.
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

// Same says whether f and g have the same oracle and cause.
func (f Flaw) Same(g Flaw) bool { return f.Oracle == g.Oracle && f.Cause == g.Cause }

// kindOf returns the kind that the recipe declares for (oracle, cause) under one of these faults; "" if it
// declares the flaw under none of them:
//
//   - the trial's fault;
//   - a fault that the trial's fault provokes in this topology;
//   - a fault that the workload resembles.
//
// In a mix, a declaration for any fault counts.
func kindOf(s Spec, oracle, cause string, declared []locks.Flaw) locks.Kind {
	faults := append([]string{s.Fault}, nemesis.Provoked(s.Fault, s.Topology)...)
	if body, _ := workloads.ByName(s.Workload); body.LikeIn == "" || body.LikeIn == oracle {
		faults = append(faults, body.Like...)
	}
	for _, fault := range faults {
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

func (f Flaw) outcome() Outcome {
	if checker.OracleNamed(f.Oracle).Harm == checker.HarmBlockage {
		return Blocked
	}
	return Violated
}

// denies returns 1 for a flaw whose harm is a false answer, else 0.
func (f Flaw) denies() int {
	if checker.OracleNamed(f.Oracle).HarmOf(checker.Cause(f.Cause)) == checker.HarmAnswer {
		return 1
	}
	return 0
}

// rank returns a lower number for a worse combination of outcome, kind and forever. An undeclared
// violation ranks between a bug and a limit, because no declaration excuses it.
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

// CompareFlaws orders flaws, worst first. Among equals, a false answer comes last: it does no
// harm by itself.
func CompareFlaws(a, b Flaw) int {
	return cmp.Or(
		rank(a.outcome(), a.Kind, a.Forever)-rank(b.outcome(), b.Kind, b.Forever),
		a.denies()-b.denies(),
		cmp.Compare(a.Oracle, b.Oracle),
		cmp.Compare(a.Cause, b.Cause),
	)
}
