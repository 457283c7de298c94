package plots

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// plotViolations draws a heat map. A cell's figure is the share of trials that show the cell's
// verdict, as the matrix counts them.
func plotViolations(c Campaign) (*chart, [][]string) {
	return heatMap(c.Matrix, "Trials that show the cell's verdict, in percent", "red: a bug · amber: a limit, which no lease can promise by itself · purple: blocked · hatched: not judged", func(c campaign.Cell) shade {
		if c.Verdict == trial.NotExercised || c.Verdict == trial.Unknown || c.Exercised == 0 {
			return noFigure
		}
		s := shade{ink: svg.Alarm}
		switch {
		case c.Verdict == trial.Blocked:
			s.ink = blockInk
		case c.Kind == locks.Limit:
			s.ink = svg.Doubt
		}
		if c.Violations > 0 {
			s.strength = float64(c.Shown) / float64(c.Exercised)
		}
		s.text = strconv.Itoa(int(math.Round(100 * s.strength)))
		return s
	}), nil
}

// Inks that are the same on light and dark screens.
const (
	blockInk svg.Ink = "#7b2d8b"
	barInk   svg.Ink = "#0072b2"
)

// verdictInks are the colours of the verdicts in plots. light: text on the ink is light.
var verdictInks = []struct {
	class, label string
	ink          svg.Ink
	light        bool
}{
	{"new", "undeclared", "#6e0015", true},
	{"bug", "bug", svg.Alarm, true},
	{"limit", "limit", "#f2b53c", false},
	{"blockbug", "blocked for ever: bug", "#4a1259", true},
	{"block", "blocked for ever", blockInk, true},
	{"ttlbug", "blocked up to TTL: bug", "#2f7fa6", true},
	{"ttl", "blocked up to TTL", "#79bfdb", false},
	{"unknown", "unknown", "#9aa4ae", false},
	{"holds", "no violation", "#7cc49a", false},
}

// plotVerdicts draws one bar for each recipe, divided by the verdicts of its cells.
func plotVerdicts(c Campaign) (*chart, [][]string) {
	recipes, faults := CellAxes(c.Matrix)
	count := map[[2]string]int{} // cells by recipe and class
	used := map[string]bool{}
	for _, c := range c.Matrix.Cells {
		count[[2]string{c.Lock, CellClass(c)}]++
		used[CellClass(c)] = true
	}
	out := newChart("Faults by verdict")
	p := out.panel(recipes, plotRow, 0, float64(len(faults)))
	for i, recipe := range recipes {
		from := 0
		for _, v := range verdictInks {
			n := count[[2]string{recipe, v.class}]
			x, width := p.x(float64(from)), p.x(float64(n))-p.x(0)-0.6
			p.Box(v.ink, 1, x, p.y(i)+3, width, 9)
			words := svg.Words{Size: smallFont, Anchor: "middle"}
			if v.light {
				words.Ink = svg.Light
			}
			if width > 8 {
				p.Write(words, x+width/2, p.y(i)+7.5, strconv.Itoa(n))
			}
			from += n
		}
	}
	var ticks []tick
	for n, step := 0, int(max(1, roundStep(float64(len(faults))/10))); n <= len(faults); n += step {
		ticks = append(ticks, tick{float64(n), strconv.Itoa(n)})
	}
	p.axis("faults", false, ticks)
	var entries []shade
	for _, v := range verdictInks {
		if used[v.class] {
			entries = append(entries, shade{v.ink, 1, v.label})
		}
	}
	out.key(12, out.Height+6, entries)
	out.Height += 18
	return out, nil
}

// classes has the CSS classes of some verdicts.
var classes = map[trial.Outcome]string{trial.NotExercised: "idle", trial.NotSupported: "unsupported", trial.Holds: "holds"}

// CellClass returns the CSS class of a cell's verdict, such as "bug", "limit" or "holds". Blocks that
// are bugs and blocks that are limits have different classes.
func CellClass(c campaign.Cell) string {
	switch bug := BlockedByBug(c); {
	case c.Verdict == trial.Violated && c.Kind == "":
		return "new"
	case c.Verdict == trial.Violated:
		return string(c.Kind)
	case c.Verdict == trial.Blocked:
		return map[bool]string{true: "block", false: "ttl"}[c.Forever] + map[bool]string{true: "bug"}[bug]
	}
	return cmp.Or(classes[c.Verdict], "unknown")
}

// CellWords returns the cell's verdict in words for a reader. A block that the recipe declares as a
// bug has the suffix ": bug", and an undeclared block ": undeclared". A block that is a limit has
// no suffix, because it is the price of every lease.
func CellWords(c campaign.Cell) string {
	words := c.Words()
	switch {
	case BlockedByBug(c):
		words += ": bug"
	case c.Verdict == trial.Blocked && c.Kind == "":
		words += ": undeclared"
	}
	return words
}

// BlockedByBug reports whether a cell's verdict is a block that the recipe declares as a bug.
func BlockedByBug(c campaign.Cell) bool { return c.Verdict == trial.Blocked && c.Kind == locks.Bug }

// CellKey identifies a cell of the matrix.
type CellKey struct{ Lock, Fault string }

// CellAxes returns the recipes and the faults of a matrix, in the matrix's order.
func CellAxes(m campaign.Matrix) (recipes, faults []string) {
	for _, c := range m.Cells {
		if !slices.Contains(recipes, c.Lock) {
			recipes = append(recipes, c.Lock)
		}
		if !slices.Contains(faults, c.Fault) {
			faults = append(faults, c.Fault)
		}
	}
	return recipes, faults
}

// CellOf returns the cell of a recipe under a fault; false if the matrix has none.
func CellOf(m campaign.Matrix, lock, fault string) (campaign.Cell, bool) {
	i := slices.IndexFunc(m.Cells, func(c campaign.Cell) bool { return c.Lock == lock && c.Fault == fault })
	if i < 0 {
		return campaign.Cell{}, false
	}
	return m.Cells[i], true
}
