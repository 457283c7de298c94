package plots

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// Measured returns the progress of the measurable trials of each cell. in has the only workload of each recipe
// whose trials count; nil = all workloads count.
func Measured(trials []trial.Result, in map[string]string) map[CellKey][]trial.Result {
	out := map[CellKey][]trial.Result{}
	for _, t := range trials {
		if at := (CellKey{t.Spec.Lock, t.Spec.Fault}); Measurable(t) && (in == nil || in[at.Lock] == t.Spec.Workload) {
			out[at] = append(out[at], t)
		}
	}
	return out
}

// figureMap draws a heat map of figures of the measured trials; nil if no cell has a figure. figure returns false
// if a cell has none.
func figureMap(c Campaign, in map[string]string, title, axis string, figure func([]trial.Result) (shade, bool)) *chart {
	cells, some := Measured(c.Trials, in), false
	drawn := heatMap(c.Matrix, title, axis, func(c campaign.Cell) shade {
		s, ok := figure(cells[CellKey{c.Lock, c.Fault}])
		if !ok {
			return noFigure
		}
		some = true
		return s
	})
	if !some {
		return nil
	}
	return drawn
}

// damage counts the updates of trials.
type damage struct {
	trials, updates, lost int
	lasted                time.Duration
}

// perHour returns the lost updates per hour of trial time.
func (d damage) perHour() float64 { return float64(d.lost) / d.lasted.Hours() }

// damageOf sums up the updates of the trials that have any.
func damageOf(trials []trial.Result) (d damage) {
	for _, t := range trials {
		if p := t.Progress; p.Updates > 0 {
			d = damage{d.trials + 1, d.updates + p.Updates, d.lost + p.LostUpdates, d.lasted + p.Lasted}
		}
	}
	return d
}

// plotDamage draws a heat map of the lost updates per hour of trials, in the recipes' workloads (ComparedIn).
func plotDamage(c Campaign) (*chart, [][]string) {
	in := ComparedIn(c.Trials)
	axis := "by the trials' clock · dark: 10,000 or more · hatched: no update was seen"
	drawn := figureMap(c, in, "Lost updates per hour, with a fault every few seconds", axis, func(trials []trial.Result) (shade, bool) {
		d := damageOf(trials)
		if d.trials == 0 {
			return shade{}, false
		}
		return shade{svg.Alarm, min(1, math.Log10(1+d.perHour())/4), short(d.perHour())}, true
	})
	cells := Measured(c.Trials, in)
	recipes, faults := CellAxes(c.Matrix)
	table := [][]string{{"recipe", "workload", "fault", "trials", "seconds", "updates", "lost updates", "lost updates per hour"}}
	for _, recipe := range recipes {
		for _, fault := range faults {
			if d := damageOf(cells[CellKey{recipe, fault}]); d.trials > 0 {
				table = append(table, []string{
					recipe, in[recipe], fault, strconv.Itoa(d.trials), decimals(d.lasted.Seconds(), 3),
					strconv.Itoa(d.updates), strconv.Itoa(d.lost), decimals(d.perHour(), 1),
				})
			}
		}
	}
	return drawn, table
}

func decimals(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }

// short writes a rate below 999.5 million in at most four characters, such as "0", "0.3", "12", "3400",
// "12k" or "7M".
func short(rate float64) string {
	switch {
	case rate == 0:
		return "0"
	case rate < 0.1:
		return "<0.1"
	case rate < 9.95:
		return decimals(rate, 1)
	case rate < 99.5:
		return decimals(rate, 0)
	case rate < 9995:
		return decimals(math.Round(rate/10)*10, 0)
	case rate < 999.5e3:
		return decimals(rate/1000, 0) + "k"
	}
	return decimals(rate/1e6, 0) + "M"
}

// plotFairness draws a heat map of how evenly clients got the lock: the median of Jain's index, over the trials
// in which it is meaningful (Shared).
func plotFairness(c Campaign) (*chart, [][]string) {
	title := "How evenly clients got the lock: Jain's index, median of trials"
	axis := "1: all clients got it as often · 0.5: as if half of them got it always · hatched: too few grants to tell"
	return figureMap(c, nil, title, axis, func(trials []trial.Result) (shade, bool) {
		var all []float64
		for _, t := range trials {
			if Shared(*t.Progress) {
				all = append(all, t.Progress.Jain)
			}
		}
		if len(all) == 0 {
			return shade{}, false
		}
		jain := Median(all)
		return shade{svg.Doubt, min(1, max(0, 2*(1-jain))), decimals(jain, 2)}, true
	}), nil
}

// Shared reports whether a trial's fairness means anything: there were several clients, and
// enough grants for all of them.
func Shared(p progress.Measures) bool { return p.Clients > 1 && p.Grants >= p.Clients }

// Median returns the median of values; of two in the middle the lower one. It panics if there are none.
func Median[T float64 | int | time.Duration](values []T) T {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// plotRecovery draws a heat map of the longest time from a fault's end, or from a client's
// crash or hang, until a client acquired the lock.
func plotRecovery(c Campaign) (*chart, [][]string) {
	ttl := c.ttl()
	title := "Longest time until somebody got in after a fault, in seconds"
	axis := "dark: ten times the TTL of " + wording.Length(ttl) + " or more · purple: at least once nobody got in any more · hatched: no case"
	return figureMap(c, nil, title, axis, func(trials []trial.Result) (s shade, ok bool) {
		var longest time.Duration
		never := false
		for _, t := range trials {
			longest, never = max(longest, t.Progress.RecoveryMax), never || t.Progress.Unrecovered > 0
			ok = ok || t.Progress.Recoveries > 0
		}
		switch seconds := longest.Seconds(); {
		case never:
			return shade{blockInk, 1, "never"}, true
		case seconds < 0.05:
			s.text = "0"
		case seconds < 9.95:
			s.text = decimals(seconds, 1)
		default:
			s.text = decimals(seconds, 0)
		}
		if longest > 0 {
			s.ink, s.strength = svg.Doubt, min(1, max(0, (math.Log10(longest.Seconds()/ttl.Seconds())+1)/2))
		}
		return s, ok
	}), nil
}
