package reports

import (
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// named explains a name in a report, such as that of a fault.
type named struct {
	Name, Doc string
	Color     string // of a fault, "#rrggbb"
	Mix       bool   // whether the name is a fault that mixes the other faults
	// Axis and Sizes describe a fault's sweep (nemesis.Fault); "" and nil if it has none.
	Axis  string
	Sizes []float64
	Needs []testbed.Capability // what a fault needs of the testbed
}

// glossary explains the names in a result, from the registries. Pages are
// rendered from the glossary and the results alone.
type glossary struct {
	Faults  []named
	Oracles []named
	Recipes []locks.Recipe // for their texts, claims and flaws
}

// registries builds the glossary from this program's registries.
func registries() glossary {
	g := glossary{Recipes: locks.All()}
	for _, f := range nemesis.All() {
		g.Faults = append(g.Faults, named{Name: f.Name, Doc: f.Doc, Color: f.Color, Mix: f.Mix, Axis: f.Axis(), Sizes: f.Sizes(), Needs: f.Needs})
	}
	for _, o := range checker.Oracles() {
		g.Oracles = append(g.Oracles, named{Name: o.Name, Doc: o.Doc})
	}
	return g
}

// faultColor returns a fault's colour in pictures; grey for an unknown fault.
func (g glossary) faultColor(name string) string {
	for _, f := range g.Faults {
		if f.Name == name && f.Color != "" {
			return f.Color
		}
	}
	return "#8C959F"
}

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
	about := func(flaw locks.Flaw) bool { return flaw.Oracle == f.Oracle && flaw.Cause == string(f.Cause) }
	at := slices.IndexFunc(r.Flaws, func(flaw locks.Flaw) bool {
		return about(flaw) && (slices.Contains(flaw.Faults, t.Spec.Fault) || slices.Contains(flaw.Also, t.Spec.Fault))
	})
	if at < 0 && g.fault(t.Spec.Fault).Mix {
		at = slices.IndexFunc(r.Flaws, about)
	}
	if at < 0 {
		return locks.Flaw{}, false
	}
	return r.Flaws[at], true
}
