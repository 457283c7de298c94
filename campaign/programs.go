package campaign

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// ProgramFlaw is a violation by the clients' program; no lock is to blame. It sums up the trials of
// one workload, under any recipe and fault.
type ProgramFlaw struct {
	Workload string `json:"workload"`
	Oracle   string `json:"oracle"`
	Cause    string `json:"cause"`
	Declared bool   `json:"declared"` // the workload declares the flaw
	// Why and Source come from the workload's declaration of the flaw; "" if undeclared.
	Why    string `json:"why,omitempty"`
	Source string `json:"source,omitempty"`
	// Shown counts the trials that showed the flaw, Trials the judged trials of the workload, and
	// Locks the recipes whose trials showed the flaw.
	Shown  int `json:"shown"`
	Trials int `json:"trials"`
	Locks  int `json:"locks"`
	// Replay is the command line that repeats the first trial that showed the flaw.
	Replay string       `json:"replay"`
	first  trial.Result // that showed the flaw
}

// Words returns the flaw in one sentence.
func (p ProgramFlaw) Words() string {
	return fmt.Sprintf("workload %s: %s (oracle %s); no lock is to blame; %d of %d %s, %d %s",
		p.Workload, checker.Cause(p.Cause).Meaning(), p.Oracle, p.Shown, p.Trials, wording.Plural(p.Trials, "trial"), p.Locks, wording.Plural(p.Locks, "recipe"))
}

// programFlaws lists the flaws of the clients' programs, by workload. The trials must be in the
// order of the matrix.
func programFlaws(info Info, trials []trial.Result) []ProgramFlaw {
	var all []ProgramFlaw
	judged, recipes := map[string]int{}, []map[string]bool{} // recipes is indexed like all
	for _, t := range trials {
		if t.Err != "" {
			continue
		}
		judged[t.Spec.Workload]++
		for _, f := range t.OfProgram() {
			i := slices.IndexFunc(all, func(p ProgramFlaw) bool {
				return p.Workload == t.Spec.Workload && p.Oracle == f.Oracle && p.Cause == f.Cause
			})
			if i < 0 {
				body, _ := workloads.ByName(t.Spec.Workload)
				declared, is := body.Declares(f.Oracle, f.Cause)
				i = len(all)
				all = append(all, ProgramFlaw{
					Workload: t.Spec.Workload, Oracle: f.Oracle, Cause: f.Cause,
					Declared: is, Why: declared.Why, Source: declared.Source, Replay: replay(info, t), first: t,
				})
				recipes = append(recipes, map[string]bool{})
			}
			all[i].Shown++
			recipes[i][t.Spec.Lock] = true
		}
	}
	for i := range all {
		all[i].Trials, all[i].Locks = judged[all[i].Workload], len(recipes[i])
	}
	slices.SortStableFunc(all, func(a, b ProgramFlaw) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Oracle, b.Oracle), cmp.Compare(a.Cause, b.Cause))
	})
	return all
}

// missedOfPrograms lists the flaws that a workload declares but that no trial of its cell showed,
// for all cells without a fault.
func (h hunt) missedOfPrograms(trials []trial.Result) (all []Discrepancy) {
	if h.info.Config.Confirm != "" {
		return nil
	}
	for _, p := range h.info.Plan {
		if f, ok := nemesis.ByName(p.Fault); !ok || !f.Undisturbed {
			continue
		}
		for _, name := range p.Workloads {
			body, _ := workloads.ByName(name)
			for _, f := range body.Shows {
				if h.looked(p, f.Oracle) && !slices.ContainsFunc(trials, func(t trial.Result) bool {
					return t.Spec.Lock == p.Lock && t.Spec.Fault == p.Fault && t.Spec.Workload == name &&
						slices.ContainsFunc(t.OfProgram(), trial.Flaw{Oracle: f.Oracle, Cause: f.Cause}.Same)
				}) {
					all = append(all, Discrepancy{Lock: p.Lock, Fault: p.Fault, Oracle: f.Oracle, Cause: f.Cause})
				}
			}
		}
	}
	return all
}
