package plots

import (
	"math"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// recovery summarizes how long it took, after the faults of a cell, until a client acquired the
// lock again.
type recovery struct {
	longest time.Duration
	never   bool // after some fault, no client acquired the lock
}

// recoveries summarizes the recoveries of each cell, over the measurable trials. Cells in which no
// recovery was awaited are left out.
func recoveries(trials []trial.Result) map[CellKey]recovery {
	out := map[CellKey]recovery{}
	for _, t := range trials {
		if !Measurable(t) || t.Progress.Recoveries+t.Progress.Unrecovered == 0 {
			continue
		}
		at := CellKey{Lock: t.Spec.Lock, Fault: t.Spec.Fault}
		r := out[at]
		out[at] = recovery{longest: max(r.longest, t.Progress.RecoveryMax), never: r.never || t.Progress.Unrecovered > 0}
	}
	return out
}

// plotRecovery draws a heat map of the longest time from a fault's end, or from a client's
// crash or hang, until a client acquired the lock.
func plotRecovery(c Campaign) *svg.Picture {
	cells := recoveries(c.Trials)
	if len(cells) == 0 {
		return nil
	}
	ttl := c.ttl()
	title := "Longest time until somebody got in after a fault, in seconds"
	axis := "dark: ten times the TTL of " + wording.Length(ttl) + " or more · purple: at least once nobody got in any more · hatched: no case"
	return figureMap(c.Matrix, title, axis, func(at CellKey) (shade, bool) {
		r, seen := cells[at]
		slow, col := slowness(r.longest, ttl), svg.Doubt
		if r.never {
			slow, col = 1, svg.RGB(0x7B2D8B)
		}
		return shade{svg.Alpha(col, 0.1+0.8*slow), slow > 0.7, r.tenths()}, seen
	})
}

// slowness maps a duration to 0 up to a tenth of a TTL, to 1 from ten TTLs on, and logarithmically
// in between.
func slowness(d, ttl time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return min(1, max(0, (math.Log10(d.Seconds()/ttl.Seconds())+1)/2))
}

// tenths writes the longest recovery in seconds, in few characters; "never" if after some fault no
// client acquired the lock.
func (r recovery) tenths() string {
	switch s := r.longest.Seconds(); {
	case r.never:
		return "never"
	case s < 0.05:
		return "0"
	case s < 9.95:
		return strconv.FormatFloat(s, 'f', 1, 64)
	default:
		return strconv.FormatFloat(s, 'f', 0, 64)
	}
}
