package plots

import (
	"slices"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

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

// CellClass returns the CSS class of a cell's verdict, such as "bug", "limit" or "holds". Blocks that
// are bugs and blocks that are limits have different classes.
func CellClass(c campaign.Cell) string {
	switch {
	case c.Verdict == trial.Violated && c.Kind == "":
		return "new"
	case c.Verdict == trial.Violated && c.Kind == locks.Bug:
		return "bug"
	case c.Verdict == trial.Violated:
		return "limit"
	case BlockedByBug(c) && c.Forever:
		return "blockbug"
	case BlockedByBug(c):
		return "ttlbug"
	case c.Verdict == trial.Blocked && c.Forever:
		return "block"
	case c.Verdict == trial.Blocked:
		return "ttl"
	case c.Verdict == trial.NotExercised:
		return "idle"
	case c.Verdict == trial.NotSupported:
		return "unsupported"
	case c.Verdict == trial.Holds:
		return "holds"
	}
	return "unknown"
}
