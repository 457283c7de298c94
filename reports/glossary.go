package reports

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// glossary explains the names in a result, from the registries. Pages are
// rendered from the glossary and the results alone.
type glossary struct {
	Faults  []nemesis.Fault
	Oracles []checker.Oracle
	Recipes []locks.Recipe // for their texts, claims and flaws
}

// registries returns the glossary of this program's registries.
func registries() glossary { return glossary{nemesis.All(), checker.Oracles(), locks.All()} }

// fault returns the glossary's entry for a fault; an entry with only the name if there is none.
func (g glossary) fault(name string) nemesis.Fault {
	for _, f := range g.Faults {
		if f.Name == name {
			return f
		}
	}
	return nemesis.Fault{Name: name}
}

// faultColor returns a fault's colour in pictures; grey for an unknown fault.
func (g glossary) faultColor(name string) string { return cmp.Or(g.fault(name).Color, "#8C959F") }

func (g glossary) recipe(id string) (locks.Recipe, bool) {
	for _, r := range g.Recipes {
		if r.ID == id {
			return r, true
		}
	}
	return locks.Recipe{}, false
}

// declared returns the flaw that the recipe declares for the finding under the trial's fault. If
// the fault is a mix, a flaw under any fault counts.
func (g glossary) declared(t trial.Result, f story.Finding) (locks.Flaw, bool) {
	r, ok := g.recipe(t.Spec.Lock)
	if !ok {
		return locks.Flaw{}, false
	}
	if flaw, ok := r.Declares(f.Oracle, string(f.Cause), t.Spec.Fault); ok {
		return flaw, true
	}
	at := slices.IndexFunc(r.Flaws, func(flaw locks.Flaw) bool { return flaw.Oracle == f.Oracle && flaw.Cause == string(f.Cause) })
	if at < 0 || !g.fault(t.Spec.Fault).Mix {
		return locks.Flaw{}, false
	}
	return r.Flaws[at], true
}
