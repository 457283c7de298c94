package reports

import (
	"fmt"

	"github.com/lockstorm/lockstorm/internal/wording"
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
