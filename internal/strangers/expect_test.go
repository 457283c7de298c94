package strangers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
)

// promised is the expected verdicts on a lock. None may be unknown unless unseen is set.
type promised struct {
	// may is what may be violated; under chaos all of it.
	may []may
	// rows are what has to be found.
	rows []row
	// unseen: its grants cannot be observed, so that nobody knows whether others remove
	// them.
	unseen bool
	// ends: the run may end while a lease still lasts that a clock jump prolonged. Then
	// liveness is unknown.
	ends bool
	// slow: of its named schedules only one in this many runs; 0 = 1.
	slow int
	// odd is another lease time to try the lock with; 0 = none.
	odd time.Duration
	// hold is the mean duration of its critical sections; 0 = the usual one.
	hold time.Duration
}

// may lets oracles be violated by a cause under some faults; no faults = under any.
type may struct {
	oracles []string
	cause   checker.Cause
	faults  []string
}

// row says what an oracle finds under a fault: in some trial, or, if the row names
// a schedule, in that one. A drawn trial is named by the campaign's seed and its
// number: 7/0.
type row struct {
	fault, oracle string
	result        checker.Result
	causes        []checker.Cause // of a violation: one of these
	forever       bool            // somebody is blocked for ever
	workload      string          // "" = any
	schedule      string
}

// String is "liveness violated by no-expiry for ever under client-crash".
func (r row) String() string {
	text := fmt.Sprintf("%s %s", r.oracle, r.result)
	if len(r.causes) > 0 {
		text += fmt.Sprint(" by ", strings.Trim(strings.ReplaceAll(fmt.Sprint(r.causes), " ", " or "), "[]"))
	}
	if r.forever {
		text += " for ever"
	}
	text += " under " + r.fault
	if r.schedule != "" {
		text += fmt.Sprintf(" in %s (%s)", r.schedule, r.workload)
	}
	return text
}

// names says whether the row is about that trial.
func (r row) names(t seeded) bool {
	return r.fault == t.Fault && (r.workload == "" || r.workload == t.Workload) && (r.schedule == "" || r.schedule == t.number())
}

// meets says whether an answer is what the row wants.
func (r row) meets(a answer) bool {
	if a.Oracle != r.oracle || a.Result != r.result || !r.names(a.seeded) {
		return false
	}
	return len(r.causes) == 0 || slices.ContainsFunc(a.causes(), func(c checker.Cause) bool {
		return slices.Contains(r.causes, c) && (!r.forever || a.forever(c))
	})
}

// deviate lists unexpected findings, each with its number and an example, and then missing
// ones.
func (s subject) deviate(results *tally) []string {
	type kind struct{ what, fault string }
	var order []kind
	seen, example := map[kind]int{}, map[kind]answer{}
	note := func(what string, a answer) {
		k := kind{what, a.Fault}
		if seen[k]++; seen[k] == 1 {
			order, example[k] = append(order, k), a
		}
	}
	for _, a := range results.answers {
		if a.Result == checker.Unknown && !(s.unseen && a.Oracle == "ownership") && !(s.ends && a.Oracle == "liveness" && a.Fault == mix) {
			note(a.Oracle+" is unknown", a)
		}
		for _, c := range a.causes() {
			if !s.allows(a.Oracle, c, a.Fault) {
				note(fmt.Sprintf("%s is violated by %s", a.Oracle, c), a)
			}
		}
	}
	var all []string
	for _, k := range order {
		all = append(all, fmt.Sprintf("%s under %s in %d trials, as in %s", k.what, k.fault, seen[k], example[k].seeded))
	}
	for _, r := range s.rows {
		switch tried := slices.ContainsFunc(results.answers, func(a answer) bool { return r.names(a.seeded) }); {
		case !tried && *fault == "" && *schedule == "":
			all = append(all, "not tried: "+r.String())
		case tried && !slices.ContainsFunc(results.answers, r.meets):
			all = append(all, "missing: "+r.String())
		}
	}
	return all
}

// allows says whether an oracle may be violated by that cause under a fault.
func (p promised) allows(oracle string, c checker.Cause, fault string) bool {
	return slices.ContainsFunc(p.may, func(m may) bool {
		return m.cause == c && slices.Contains(m.oracles, oracle) && (fault == mix || len(m.faults) == 0 || slices.Contains(m.faults, fault) || overran(fault) && slices.Contains(m.faults, "client-pause"))
	})
}

// overran reports whether a holder under this fault goes on past its lease, as a frozen one does.
func overran(fault string) bool { return fault == "slow-work" || fault == "hung-work" }
