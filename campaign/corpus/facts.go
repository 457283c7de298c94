package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// Facts returns what a judged trial shows, as sorted texts:
//
//   - its outcome: "outcome violated bug";
//   - each flaw: "exclusion by foreign-delete, bug";
//   - each assumption that a flaw's findings name as broken: "exclusion by lease-outlived: broken client-stops";
//   - each oracle that could not tell: "resource unknown".
//
// The verdicts must be complete: the brief form of a result (trial.Result.Brief) lacks assumptions.
func Facts(t trial.Result) []string {
	all := []string{Outcome(t)}
	for _, f := range t.Flaws {
		all = append(all, Flaw(f))
	}
	for _, v := range t.Verdicts {
		if v.Result == checker.Unknown {
			all = append(all, v.Oracle+" unknown")
		}
		if v.Result != checker.Violated {
			continue
		}
		for _, f := range v.Findings {
			if broken := f.Account.Broken; broken != nil {
				all = append(all, fmt.Sprintf("%s by %s%s%s", v.Oracle, cmp.Or(f.Cause, checker.Unclassified), brokenInfix, broken.Premise))
			}
		}
	}
	for _, f := range t.OfProgram() {
		all = append(all, fmt.Sprintf("program: %s by %s", f.Oracle, f.Cause))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const (
	outcomePrefix = "outcome "
	brokenInfix   = ": broken "
)

// Outcome returns the fact about the trial's outcome.
func Outcome(t trial.Result) string {
	text := outcomePrefix + string(t.Outcome)
	if t.Violation() {
		text += " " + string(cmp.Or(t.Kind, undeclared))
	}
	if len(t.Flaws) > 0 && t.Flaws[0].Forever {
		text += " for ever"
	}
	return text
}

// Flaw returns the fact that a trial shows a flaw.
func Flaw(f trial.Flaw) string {
	text := fmt.Sprintf("%s by %s, %s", f.Oracle, f.Cause, cmp.Or(f.Kind, undeclared))
	if f.Forever {
		text += ", for ever"
	}
	return text
}

// undeclared stands where a flaw of a declared kind has its kind.
const undeclared = "undeclared"

// IsUndeclared says whether a fact is about a flaw that the lock's recipe does not declare.
func IsUndeclared(fact string) bool { return IsFlaw(fact) && strings.Contains(fact, ", "+undeclared) }

// FlawKey returns the oracle and the cause of a fact about a flaw: "exclusion by foreign-delete".
func FlawKey(fact string) string {
	key, _, _ := strings.Cut(fact, ",")
	return key
}

// isOutcome and isBroken say what a fact is about.
func isOutcome(fact string) bool { return strings.HasPrefix(fact, outcomePrefix) }
func isBroken(fact string) bool  { return strings.Contains(fact, brokenInfix) }

// IsFlaw says whether a fact is about a flaw of the lock.
func IsFlaw(fact string) bool {
	return !isOutcome(fact) && !isBroken(fact) && strings.Contains(fact, " by ") && !strings.HasPrefix(fact, "program: ")
}
