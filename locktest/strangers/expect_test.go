package strangers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/workloads"
)

// promised holds the expected verdicts on a lock. None may be unknown unless unseen or ends
// is set.
type promised struct {
	// allowed lists the permitted violations. Under chaos each of them is permitted, whatever
	// faults it names.
	allowed []allowed
	// rows lists the required results.
	rows []row
	// unseen: the lock's grants cannot be observed, so the verdict on ownership may be unknown.
	unseen bool
	// ends: under chaos, a clock jump may prolong a lease beyond the end of the trial. Then the
	// verdict on liveness is unknown.
	ends bool
	// secondTTL is a second lease time with which the lock is tried, such as 1.5 s; 0 = none.
	secondTTL time.Duration
	// varies: the library's own goroutines race, so that a trial may differ when it runs again. With -short, rows
	// that name no trial may then be missed.
	varies bool
	// hold is the mean duration of the critical sections in the lock's trials; 0 = the default.
	hold time.Duration
}

// allowed permits oracles to report violations by this cause under these faults. If faults is
// empty, it permits them under any fault.
type allowed struct {
	oracles []string
	cause   checker.Cause
	faults  []string
}

// row states the verdict that an oracle must return under a fault: in at least one trial or, if the
// row names a schedule, in that trial. A random trial is named by the campaign seed and the trial's
// number, such as 7/0.
type row struct {
	fault, oracle string
	result        checker.Result
	causes        []checker.Cause // one of these must have caused the violation; empty: any cause
	forever       bool            // the violation must block a client for ever
	workload      string          // "" for any
	schedule      string
}

// String returns a text like "liveness violated by no-expiry for ever under client-crash".
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

// names reports whether the row concerns that trial.
func (r row) names(t seeded) bool {
	return r.fault == t.Fault && (r.workload == "" || r.workload == t.Workload) && (r.schedule == "" || r.schedule == t.number())
}

// meets reports whether an answer is about a trial that the row concerns, and has the result and one
// of the causes that the row requires.
func (r row) meets(a answer) bool {
	if a.Oracle != r.oracle || a.Result != r.result || !r.names(a.seeded) {
		return false
	}
	return len(r.causes) == 0 || slices.ContainsFunc(a.causes(), func(c checker.Cause) bool {
		return slices.Contains(r.causes, c) && (!r.forever || a.forever(c))
	})
}

// deviate compares the results with the table. It lists unknown verdicts and findings that the table
// does not permit, each with its count and an example, and then rows of the table that no trial met.
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
			if !s.permits(a.Oracle, c, a.seeded) {
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
		case s.varies && r.schedule == "" && testing.Short():
		case tried && !slices.ContainsFunc(results.answers, r.meets):
			all = append(all, "missing: "+r.String())
		}
	}
	return all
}

// permits reports whether the oracle may find this cause in the trial: under its fault, or under one whose
// effects its workload has even without the fault.
func (p promised) permits(oracle string, c checker.Cause, t seeded) bool {
	w, _ := workloads.ByName(t.Workload)
	return p.allows(oracle, c, t.Fault) || (w.LikeIn == "" || w.LikeIn == oracle) &&
		slices.ContainsFunc(w.Like, func(fault string) bool { return p.allows(oracle, c, fault) })
}

// allows reports whether the oracle may find this cause under the fault.
func (p promised) allows(oracle string, c checker.Cause, fault string) bool {
	return slices.ContainsFunc(p.allowed, func(m allowed) bool {
		return m.cause == c && slices.Contains(m.oracles, oracle) && (fault == mix || len(m.faults) == 0 || slices.Contains(m.faults, fault) || overran(fault) && slices.Contains(m.faults, "client-pause"))
	})
}

// overran reports whether holders outlast their leases under this fault, as paused clients do. Then
// all violations that are allowed under client-pause are allowed too.
func overran(fault string) bool { return fault == "slow-work" || fault == "hung-work" }
