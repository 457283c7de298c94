package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// Direction says how a cell changed from one campaign to the next.
type Direction string

// Directions, in the order in which Changes lists them.
const (
	Worse  Direction = "worse"
	Better Direction = "better"
	// Unseen: the second campaign showed less than the first, but in fewer decided trials. The cell
	// may therefore be no better.
	Unseen  Direction = "unseen"
	Other   Direction = "other" // the same verdict with other flaws, or a campaign did not decide the cell
	Added   Direction = "added" // only the second campaign has the cell
	Removed Direction = "removed"
)

// ChangedFlaw is a flaw that only one of two campaigns showed in a cell. A flaw that both showed, but with
// another Kind or only once for ever, is two flaws here.
type ChangedFlaw struct {
	Oracle  string     `json:"oracle"`
	Cause   string     `json:"cause"`
	Kind    locks.Kind `json:"kind"` // bug, limit, or empty: the recipe does not declare it
	Forever bool       `json:"forever,omitempty"`
	Replay  string     `json:"replay"` // the command line that replays the flaw; "" if none is known
}

// Change is a cell that differs between two campaigns.
type Change struct {
	Lock      string        `json:"lock"`
	Fault     string        `json:"fault"`
	Direction Direction     `json:"direction"`
	Before    string        `json:"before"` // the verdict as in the matrix; "" if the first campaign lacks the cell
	After     string        `json:"after"`
	New       []ChangedFlaw `json:"new,omitempty"`
	Gone      []ChangedFlaw `json:"gone,omitempty"`
}

// Changes are the differences between two campaigns.
type Changes struct {
	Schema int `json:"schema"` // 1
	// Before and After are the directories of the campaigns.
	Before string `json:"before"`
	After  string `json:"after"`
	// Both counts the cells that both campaigns have. Of these, Same counts the cells without a
	// difference, and Uneven those with different numbers of trials.
	Both   int      `json:"both"`
	Same   int      `json:"same"`
	Uneven int      `json:"uneven"`
	Cells  []Change `json:"cells"` // by direction, then recipe, then fault in the matrices' order; never null

	inBoth []string // the recipes that have cells in both campaigns
}

// Compare compares two campaigns cell by cell. Different numbers of trials are not a change.
func Compare(before, after campaign.Stored) Changes {
	all := Changes{Schema: 1, Before: before.Dir, After: after.Dir, Cells: []Change{}}
	old, now := before.ShownFlaws(), after.ShownFlaws()
	recipes, faults := plots.CellAxes(campaign.Matrix{Cells: slices.Concat(before.Matrix.Cells, after.Matrix.Cells)})
	slices.Sort(recipes)
	for _, recipe := range recipes {
		for _, fault := range faults {
			a, inA := plots.CellOf(before.Matrix, recipe, fault)
			b, inB := plots.CellOf(after.Matrix, recipe, fault)
			c := Change{Lock: recipe, Fault: fault}
			switch {
			case !inA && !inB:
				continue
			case !inA:
				c.Direction, c.After = Added, cellSymbol(b).Text
			case !inB:
				c.Direction, c.Before = Removed, cellSymbol(a).Text
			default:
				all.Both++
				if !slices.Contains(all.inBoth, recipe) {
					all.inBoth = append(all.inBoth, recipe)
				}
				if a.Trials != b.Trials {
					all.Uneven++
				}
				c.Before, c.After = cellSymbol(a).Text, cellSymbol(b).Text
				c.New, c.Gone = onlyIn(b, a, now), onlyIn(a, b, old)
				if c.Direction = direction(a, b, c); c.Direction == "" {
					all.Same++
					continue
				}
			}
			all.Cells = append(all.Cells, c)
		}
	}
	order := []Direction{Worse, Better, Unseen, Other, Added, Removed}
	slices.SortStableFunc(all.Cells, func(a, b Change) int {
		return cmp.Compare(slices.Index(order, a.Direction), slices.Index(order, b.Direction))
	})
	return all
}

// onlyIn lists the flaws of cell c that the other cell lacks.
func onlyIn(c, other campaign.Cell, shown []campaign.ShownFlaw) (flaws []ChangedFlaw) {
	for _, f := range c.Flaws {
		if slices.Contains(other.Flaws, f) || slices.ContainsFunc(flaws, func(g ChangedFlaw) bool { return g.Oracle == f.Oracle && g.Cause == f.Cause }) {
			continue
		}
		x := ChangedFlaw{Oracle: f.Oracle, Cause: f.Cause, Kind: f.Kind, Forever: f.Forever}
		if i := slices.IndexFunc(shown, func(s campaign.ShownFlaw) bool {
			return s.Lock == c.Lock && s.Fault == c.Fault && s.Oracle == f.Oracle && s.Cause == f.Cause
		}); i >= 0 {
			x.Replay = shown[i].Replay
		}
		flaws = append(flaws, x)
	}
	return flaws
}

// direction compares cell a of the first campaign with cell b of the second; c has the flaws that
// differ. It returns "" if the cells show the same.
func direction(a, b campaign.Cell, c Change) Direction {
	was, is := severity(a), severity(b)
	switch {
	case was < 0 || is < 0: // an untested or undecided cell is neither better nor worse
		if plainVerdict(a) == plainVerdict(b) && len(c.New)+len(c.Gone) == 0 {
			return ""
		}
		return Other
	case is > was:
		return Worse
	case is < was && b.Exercised < a.Exercised:
		return Unseen
	case is < was:
		return Better
	case len(c.New)+len(c.Gone) > 0:
		return Other
	}
	return ""
}

// plainVerdict is a cell's symbol without its number of trials, which may differ between campaigns.
func plainVerdict(c campaign.Cell) string {
	if c.Verdict == trial.Holds {
		return "0"
	}
	return cellSymbol(c).Text
}

// severity ranks a cell's verdict: the higher, the worse; an undeclared flaw is worse than any verdict without. It
// is below 0 if the cell was not tested or not decided.
func severity(c campaign.Cell) int {
	switch c.Verdict {
	case trial.Holds, trial.Violated, trial.Blocked:
	default:
		return -1
	}
	rank := len(plots.Verdicts) - plots.Rank(c)
	if undeclared(c) {
		rank += len(plots.Verdicts)
	}
	return rank
}

// wholeRecipes returns the recipes that only one campaign has, with their numbers of cells.
func (c Changes) wholeRecipes() map[string]int {
	cells, of := map[string]int{}, map[string][]Direction{}
	for _, x := range c.Cells {
		cells[x.Lock]++
		of[x.Lock] = append(of[x.Lock], x.Direction)
	}
	for recipe := range cells {
		if slices.Contains(c.inBoth, recipe) || len(slices.Compact(of[recipe])) > 1 {
			delete(cells, recipe)
		}
	}
	return cells
}

// WriteChanges writes what changed between two campaigns as text. The error is w's.
func WriteChanges(w io.Writer, c Changes, before, after campaign.Stored, s Screen) error {
	var b strings.Builder
	line := func(indent, text string) { b.WriteString(wording.Fill(indent+text, indent+"  ", s.Width) + "\n") }
	for i, x := range []campaign.Stored{before, after} {
		line("", fmt.Sprintf("%s: %s, testbed %s, %s, seed %d: %d trials of %d cells", []string{"before", "after"}[i],
			x.Dir, x.Matrix.Testbed, cmp.Or(x.Info.Versions.Lockstorm, "unknown version"), x.Matrix.Seed, len(x.Trials), len(x.Matrix.Cells)))
		if x.Matrix.Interrupted {
			line("  ", fmt.Sprintf("interrupted: %d of %d trials finished", x.Matrix.Finished, x.Matrix.Planned))
		}
	}
	line("", fmt.Sprintf("%d %s in both, %d of them the same", c.Both, wording.Plural(c.Both, "cell"), c.Same))
	if c.Uneven > 0 {
		line("", fmt.Sprintf("%d of the cells in both have different numbers of trials: a flaw that one of the campaigns did not show may have needed more.", c.Uneven))
	}
	titles := map[Direction]string{Worse: "Worse", Better: "Better", Unseen: "Not shown again, in fewer trials", Other: "Changed otherwise", Added: "Only after", Removed: "Only before"}
	last := Direction("")
	whole := c.wholeRecipes()
	for _, x := range c.Cells {
		if x.Direction != last {
			last = x.Direction
			b.WriteString("\n" + titles[x.Direction] + ":\n")
		}
		if n := whole[x.Lock]; n > 0 {
			line("  ", fmt.Sprintf("%s, in %d %s", x.Lock, n, wording.Plural(n, "cell")))
			whole[x.Lock] = -1
		}
		if whole[x.Lock] < 0 {
			continue
		}
		line("  ", fmt.Sprintf("%s under %s: %s", x.Lock, x.Fault, joinWords(" → ", x.Before, x.After)))
		for _, side := range []struct {
			word  string
			flaws []ChangedFlaw
		}{{"new", x.New}, {"gone", x.Gone}} {
			if x.Direction == Unseen && side.word == "gone" {
				side.word = "not shown"
			}
			for _, f := range side.flaws {
				words := fmt.Sprintf("%s: %s by %s, %s", side.word, f.Oracle, f.Cause, KindWords(x.Lock, f.Kind))
				if f.Forever {
					words += ", for ever"
				}
				line("    ", words)
				if f.Replay != "" && side.word == "new" {
					const indent = "      "
					width := s.Width
					if width > 0 {
						width = max(1, width-len(indent))
					}
					lines := wording.CommandLines(wording.As(f.Replay, s.Program), "  ", width)
					b.WriteString(indent + strings.ReplaceAll(lines, "\n", "\n"+indent) + "\n")
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
