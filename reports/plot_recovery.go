package reports

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// plotRecovery draws a heat map of the longest time from a fault's end, or from a client's
// crash or hang, until a client acquired the lock.
func plotRecovery(r result) *svg.Picture {
	cells := faredIn(r.Trials)
	seen := false
	for _, f := range cells {
		seen = seen || f.back.n+f.never > 0
	}
	if !seen {
		return nil
	}
	ttl := r.Info.Config.TTL
	if ttl <= 0 {
		ttl = time.Second
	}
	title := "Longest time until somebody got in after a fault, in seconds"
	axis := "dark: ten times the TTL of " + prose.Length(ttl) + " or more · purple: at least once nobody got in any more · hatched: no case"
	return heatMap(r.Matrix, title, axis, func(n svg.Canvas, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
		n.Box(svg.Wash, x0, y0, x1, y1)
		f := cells[cellKey{c.Lock, c.Fault}]
		switch {
		case c.Verdict == trial.NotSupported:
			return
		case f == nil || f.back.n+f.never == 0:
			n.Hatch(svg.Line(svg.Rule, 0.7), 4, x0, y0, x1, y1)
			return
		}
		sty := svg.TextStyle(svg.FontSmall, svg.Ink, draw.XCenter, draw.YCenter)
		shade, col := slowness(f.back.most, ttl), svg.Doubt
		if f.never > 0 {
			shade, col = 1, svg.RGB(0x7B2D8B)
		}
		n.Box(svg.Alpha(col, 0.1+0.8*shade), x0, y0, x1, y1)
		if shade > 0.7 {
			sty.Color = svg.OnInk
		}
		n.Text(sty, (x0+x1)/2, (y0+y1)/2+1, tenths(*f))
	})
}

// slowness returns 0 up to a tenth of a TTL, 1 from ten TTLs on, and between them a value
// on a logarithmic scale.
func slowness(d, ttl time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return min(1, max(0, (math.Log10(d.Seconds()/ttl.Seconds())+1)/2))
}

// tenths returns the longest recovery in seconds, in few characters; "never" if there was
// a fault without recovery.
func tenths(f fared) string {
	switch s := f.back.most.Seconds(); {
	case f.never > 0:
		return "never"
	case s < 0.05:
		return "0"
	case s < 9.95:
		return strconv.FormatFloat(s, 'f', 1, 64)
	default:
		return strconv.FormatFloat(s, 'f', 0, 64)
	}
}
