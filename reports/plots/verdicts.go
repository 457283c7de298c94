package plots

import (
	"math"
	"strconv"
	"strings"

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
		for _, v := range Verdicts {
			n := count[[2]string{recipe, v.Class}]
			if v.Ink == "" {
				continue
			}
			x, width := p.x(float64(from)), p.x(float64(n))-p.x(0)-0.6
			p.Box(v.Ink, 1, x, p.y(i)+3, width, 9)
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
	for _, v := range Verdicts {
		if used[v.Class] && v.Ink != "" {
			entries = append(entries, shade{v.Ink, 1, strings.TrimSuffix(strings.TrimPrefix(v.Words, "violated: "), " in n trials")})
		}
	}
	out.key(12, out.Height+6, entries)
	out.Height += 18
	return out, nil
}
