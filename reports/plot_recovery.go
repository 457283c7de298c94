package reports

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// plotRecovery is a heat map: how long it took at worst until somebody got in
// after a fault.
func plotRecovery(r result) ([]byte, error) {
	cells := faredIn(r.Trials)
	seen := false
	for _, f := range cells {
		seen = seen || f.back.n+f.never > 0
	}
	if !seen {
		return nil, nil
	}
	ttl := r.Info.Config.TTL
	if ttl <= 0 {
		ttl = time.Second
	}
	title := "Longest time from a fault's end, or a crash, until somebody got in, in seconds"
	axis := "dark: ten times the TTL of " + length(ttl) + " or more · purple: at least once nobody got in any more · hatched: not seen"
	return heatMap(r.Matrix, title, axis, func(n pen, c campaign.Cell, x0, y0, x1, y1 vg.Length) {
		n.fill(wash, x0, y0, x1, y1)
		f := cells[place{c.Lock, c.Fault}]
		switch {
		case c.Verdict == trial.NotSupported:
			return
		case f == nil || f.back.n+f.never == 0:
			n.hatch(line(rule, 0.7), 4, x0, y0, x1, y1)
			return
		}
		sty := textStyle(fontSmall, ink, draw.XCenter, draw.YCenter)
		shade, col := slowness(f.back.most, ttl), doubt
		if f.never > 0 {
			shade, col = 1, rgb(0x7B2D8B)
		}
		n.fill(alpha(col, 0.1+0.8*shade), x0, y0, x1, y1)
		if shade > 0.7 {
			sty.Color = onInk
		}
		n.text(sty, (x0+x1)/2, (y0+y1)/2+1, tenths(*f))
	})
}

// slowness is 0 up to a tenth of a TTL, and 1 from ten on.
func slowness(d, ttl time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return min(1, max(0, (math.Log10(d.Seconds()/ttl.Seconds())+1)/2))
}

// tenths writes the longest recovery in seconds, in as little room as there is; if
// one never came, that.
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
