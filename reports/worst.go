package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/plots"
)

// recipeFlaw is one cause of a recipe's violations, with all faults that showed it.
type recipeFlaw struct {
	recipeFlawKey
	Oracles []string // the most direct harm first
	Faults  []string // those of the first oracle first, each oracle's in the order of the matrix
	Replay  string   // the command that shows the first oracle's violation, under the first fault
}

type recipeFlawKey struct {
	Lock, Cause string
	Kind        locks.Kind
}

func (r result) shown() []campaign.ShownFlaw {
	return campaign.Stored{Info: r.Info, Trials: r.Trials, Matrix: r.Matrix}.ShownFlaws()
}

// worstFlaws returns the flaws of each of the recipes; each recipe's flaws are sorted worst first.
func (r result) worstFlaws(recipes []string) [][]recipeFlaw {
	_, faults := plots.CellAxes(r.Matrix)
	shown := r.shown()
	slices.SortStableFunc(shown, func(a, b campaign.ShownFlaw) int {
		return cmp.Or(cmp.Compare(checker.OracleNamed(a.Oracle).Rank, checker.OracleNamed(b.Oracle).Rank),
			cmp.Compare(slices.Index(faults, a.Fault), slices.Index(faults, b.Fault)))
	})
	byRecipe := map[string][]recipeFlaw{}
	for _, g := range groupBy(shown, func(x campaign.ShownFlaw) recipeFlawKey { return recipeFlawKey{x.Lock, x.Cause, x.Kind} }) {
		f := recipeFlaw{recipeFlawKey: g.Key, Replay: g.Items[0].Replay}
		for _, x := range g.Items {
			if !slices.Contains(f.Oracles, x.Oracle) {
				f.Oracles = append(f.Oracles, x.Oracle)
			}
			if !slices.Contains(f.Faults, x.Fault) {
				f.Faults = append(f.Faults, x.Fault)
			}
		}
		byRecipe[f.Lock] = append(byRecipe[f.Lock], f)
	}
	var out [][]recipeFlaw
	for _, recipe := range recipes {
		if all := byRecipe[recipe]; len(all) > 0 {
			slices.SortStableFunc(all, compareFlaws)
			out = append(out, all)
		}
	}
	return out
}

// compareFlaws orders flaws worst first: undeclared ones, bugs, limits; then by how direct the
// harm is; then by the number of faults that show the flaw.
func compareFlaws(a, b recipeFlaw) int {
	kind := map[locks.Kind]int{"": 0, locks.Bug: 1, locks.Limit: 2}
	return cmp.Or(cmp.Compare(kind[a.Kind], kind[b.Kind]),
		cmp.Compare(checker.OracleNamed(a.Oracles[0]).Rank, checker.OracleNamed(b.Oracles[0]).Rank),
		cmp.Compare(len(b.Faults), len(a.Faults)), cmp.Compare(a.Cause, b.Cause))
}

// line describes the flaw, with the command that shows it.
func (f recipeFlaw) line() string {
	kind := cmp.Or(string(f.Kind), undeclaredKind)
	if f.Kind != locks.Limit {
		kind = "**" + kind + "**"
	}
	where := f.Faults[0]
	if n := len(f.Faults) - 1; n > 0 {
		where += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("- %s: %s by %s, under %s: %s\n", kind, strings.Join(f.Oracles, ", "), f.Cause, where, inCode(f.Replay))
}

// flawSection lists flaws. If not all fit, the worst flaw of each recipe comes before any recipe's
// second.
func flawSection(recipes [][]recipeFlaw) boundedSection {
	s := boundedSection{
		Head: "## The worst flaws of each recipe\n\nEach with the command that runs again a trial that shows it:\n\n",
		Rest: func(n int) string {
			return fmt.Sprintf("\n%d more %s: [%s](%s#violations).\n", n, wording.Plural(n, "flaw"), HTMLFile, HTMLFile)
		},
	}
	var of []string // the recipe of each item
	for turn := 0; slices.ContainsFunc(recipes, func(flaws []recipeFlaw) bool { return turn < len(flaws) }); turn++ {
		for _, flaws := range recipes {
			if turn >= len(flaws) {
				continue
			}
			text := flaws[turn].line()
			if turn == 0 {
				text = fmt.Sprintf("\n`%s`\n\n%s", flaws[0].Lock, text)
			}
			s.Items, of = append(s.Items, boundedItem{Whole: text}), append(of, flaws[0].Lock)
		}
	}
	s.Arrange = func(kept []string) []string {
		next := -1
		groups := groupBy(kept, func(string) string { next++; return of[next] })
		return texts(groups, func(g group[string, string]) string { return strings.Join(g.Items, "") })
	}
	return s
}
