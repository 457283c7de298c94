package plots

import (
	"slices"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// Verdict is a verdict of cells as reports show it.
type Verdict struct {
	Class  string      // of the page's style sheet
	Words  string      // such as "violated: bug"
	Symbol string      // in a matrix on a terminal; 0/ is followed by the number of trials
	Colors text.Colors // on a terminal
	Legend string      // what the symbol means, in the legend on a terminal
	Ink    svg.Ink     // in plots; "" = no bar shows the verdict
	light  bool        // text on the ink is light
	// Meaning explains the words in a page.
	Meaning string
}

// Inks that are the same on light and dark screens.
const (
	blockInk svg.Ink = "#7b2d8b"
	barInk   svg.Ink = "#0072b2"
)

// Verdicts are all verdicts, worst first. A symbol with a star is a block that the recipe declares as a bug.
var Verdicts = []Verdict{
	{"new", "violated: undeclared", "NEW", text.Colors{text.FgHiRed, text.Bold}, "violated: undeclared", "#6e0015", true,
		"An oracle was violated in a way that the recipe does not declare as a flaw: a new finding, to be investigated."},
	{"bug", "violated: bug", "BUG", text.Colors{text.FgHiRed, text.Bold}, "violated: the recipe breaks its own promise", svg.Alarm, true,
		"The recipe breaks a promise that its document or library makes, or one that its own commands could have kept."},
	{"limit", "violated: limit", "limit", text.Colors{text.FgYellow}, "violated: no lease can promise this by itself", "#f2b53c", false,
		"No lease on this topology can keep the violated promise by itself; the paragraph names the assumption that broke in that trial. " +
			"A lock with fencing tokens is no exception: two clients may still both believe that they hold it. The tokens protect the resource, which refuses the older token, as long as the counter of tokens is not lost."},
	{"blockbug", "blocked for ever: bug", "BLOCK*", text.Colors{text.FgHiMagenta, text.Bold}, "blocked for ever: a bug of the recipe", "#4a1259", true,
		"No client would ever have got the lock again, and the recipe's own commands are the reason. The keys that were left on the nodes show it."},
	{"block", "blocked for ever", "BLOCK", text.Colors{text.FgHiMagenta, text.Bold}, "blocked for ever", blockInk, true,
		"No client would ever have got the lock again: a key has no expiry and no living owner, or a watchdog goes on renewing the lock of an owner that died or never finishes its work. The keys that were left on the nodes show it."},
	{"ttlbug", "blocked up to TTL: bug", "ttl*", text.Colors{text.FgCyan}, "blocked up to the lease time: a bug of the recipe", "#2f7fa6", true,
		"Others had to wait until an orphaned key expired, and the recipe's own commands are the reason: another recipe would have avoided the wait."},
	{"ttl", "blocked up to TTL", "ttl", text.Colors{text.FgCyan}, "blocked up to the lease time", "#79bfdb", false,
		"Others had to wait until an orphaned key expired: that is the price of a lease."},
	{"unknown", "unknown", "?", text.Colors{text.FgHiYellow, text.ReverseVideo}, "unknown", "#9aa4ae", false,
		"An oracle could not decide, or no trial finished. This never counts as a pass."},
	{"idle", "fault not exercised", "–", text.Colors{text.Faint}, "the fault hit nothing", "", false,
		"The fault hit nothing in any trial, so nothing was tested."},
	{"unsupported", "not supported", "n/s", text.Colors{text.Faint}, "not supported", "", false,
		"The testbed or the topology cannot do this fault."},
	{"holds", "no violation in n trials", "0/", text.Colors{text.FgGreen}, "0/n: no violation in n trials", "#7cc49a", false,
		"In n trials the fault demonstrably hit something, and no oracle was violated. That is no proof. " +
			"If a seed drew d of these trials, then with 95 % confidence at most 1 − 0.05^(1/d) of such trials would show a violation, about 3/d for large d; " +
			"for d below ten the bound says little. Named schedules are enumerated, not drawn, so the bound does not count them."},
}

// Rank returns the place of a cell's verdict in Verdicts; 0 is the worst.
func Rank(c campaign.Cell) int {
	bug := BlockedByBug(c)
	class := "unknown"
	switch c.Verdict {
	case trial.Violated:
		class = map[locks.Kind]string{locks.Bug: "bug", "": "new"}[c.Kind]
		if class == "" {
			class = "limit"
		}
	case trial.Blocked:
		class = map[bool]string{true: "block", false: "ttl"}[c.Forever] + map[bool]string{true: "bug"}[bug]
	case trial.NotExercised:
		class = "idle"
	case trial.NotSupported:
		class = "unsupported"
	case trial.Holds:
		class = "holds"
	}
	return RankOf(class)
}

// RankOf returns the place of a class in Verdicts; -1 if there is none.
func RankOf(class string) int {
	return slices.IndexFunc(Verdicts, func(v Verdict) bool { return v.Class == class })
}

// CellClass returns the class of a cell's verdict, such as "bug", "limit" or "holds".
func CellClass(c campaign.Cell) string { return Verdicts[Rank(c)].Class }

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
