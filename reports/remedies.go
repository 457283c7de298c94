package reports

import (
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// InForce says in a line what the remedies in force did in a trial (trial.Spec.Remedies).
func InForce(t trial.Result) string {
	names := wording.List(t.Spec.Remedies)
	if t.Acted == nil || t.Acted.Times == 0 {
		return "remedy in force: " + names + "; it had nothing to do"
	}
	return fmt.Sprintf("remedy in force: %s; it acted %d %s, first at %.4f s", names, t.Acted.Times, wording.Plural(t.Acted.Times, "time"), t.Acted.First.Seconds())
}

// effects returns what remedies did, for a story.
func effects(r trial.Remedied) (all []story.Tried) {
	for _, x := range r.Tried {
		e := story.Tried{Remedies: x.Remedies, Gone: x.Gone}
		for _, f := range x.Left {
			if !slices.Contains(e.Left, f.Oracle) {
				e.Left = append(e.Left, f.Oracle)
			}
		}
		for _, f := range x.Instead {
			text := f.Oracle + " by " + f.Cause
			if f.Forever {
				text += ", for ever"
			}
			e.Instead = append(e.Instead, text)
		}
		all = append(all, e)
	}
	return all
}
