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
	Lock, Cause string
	Kind        locks.Kind
	Oracles     []string // the most direct harm first
	Faults      []string // those of the first oracle first, each oracle's in the order of the matrix
	Replay      string   // the command that shows the first oracle's violation, under the first fault
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
	by := map[string][]recipeFlaw{}
	for _, x := range shown {
		all := by[x.Lock]
		i := slices.IndexFunc(all, func(f recipeFlaw) bool { return f.Cause == x.Cause && f.Kind == x.Kind })
		if i < 0 {
			i = len(all)
			all = append(all, recipeFlaw{Lock: x.Lock, Cause: x.Cause, Kind: x.Kind, Replay: x.Replay})
		}
		if !slices.Contains(all[i].Oracles, x.Oracle) {
			all[i].Oracles = append(all[i].Oracles, x.Oracle)
		}
		if !slices.Contains(all[i].Faults, x.Fault) {
			all[i].Faults = append(all[i].Faults, x.Fault)
		}
		by[x.Lock] = all
	}
	var out [][]recipeFlaw
	for _, recipe := range recipes {
		if all := by[recipe]; len(all) > 0 {
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
	var of []int // the recipe's index, for each item
	for turn, more := 0, true; more; turn++ {
		more = false
		for i, flaws := range recipes {
			if turn >= len(flaws) {
				continue
			}
			more = true
			text := flaws[turn].line()
			if turn == 0 {
				text = fmt.Sprintf("\n`%s`\n\n%s", flaws[turn].Lock, text)
			}
			s.Items = append(s.Items, boundedItem{Whole: text})
			of = append(of, i)
		}
	}
	s.Arrange = func(texts []string) []string {
		var out []string
		for i := range recipes {
			for j, text := range texts {
				if of[j] == i {
					out = append(out, text)
				}
			}
		}
		return out
	}
	return s
}
