package plots

import (
	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

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
