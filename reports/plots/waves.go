package plots

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
)

// leastWaiting is the minimum number of trials, and of waits in a bin, for meaningful percentiles.
const leastWaiting = 20

// waitBins is the number of a wave's bins: one lease time before the fault, and WaitingSpan after
// it.
const waitBins = progress.WaitingTick + progress.WaitingSpan

// struckKinds are the kinds of faults, by the capabilities that faults of the kind need. A mix of
// faults has no kind.
var struckKinds = []struct {
	name  string
	needs []testbed.Capability
}{
	{"client", []testbed.Capability{testbed.CanClients}},
	{"network", []testbed.Capability{testbed.CanNetwork}},
	{"node", []testbed.Capability{testbed.CanNodes, testbed.CanSplitBrain, testbed.CanMemory, testbed.CanSlots}},
	{"clock", []testbed.Capability{testbed.CanClocks, testbed.CanNodeClocks}},
}

// waveAt identifies a wave: a recipe and a kind of fault from struckKinds.
type waveAt struct{ lock, kind string }

// wave holds how long clients waited around the faults of many trials. A bin is a tenth of a lease
// time, as in progress.Waiting; the first bin begins one lease time before the fault.
type wave struct {
	trials int
	bins   [waitBins]waitBin
}

// waitBin is one bin of a wave.
type waitBin struct {
	watched, inForce int // trials that were watched at that time, and of these, trials in which the fault was in force
	// left has, for each client that waited at that time, how much longer it waited for the lock,
	// in tenths of a lease time, or never. It is sorted once the wave is complete.
	left []int
}

// never stands for a wait that did not end; it is longer than any wait that ended.
const never = 1 << 30

// waves sums up the waits of each recipe by the kind of fault, over the measurable trials of the
// recipe's workload (ComparedIn). It omits waves with fewer than leastWaiting trials.
func waves(c Campaign) map[waveAt]*wave {
	in, out := ComparedIn(c.Trials), map[waveAt]*wave{}
	for _, t := range c.Trials {
		kind := kindOf(t.Spec.Fault)
		if t.Waiting == nil || kind == "" || !Measurable(t) || t.Spec.Workload != in[t.Spec.Lock] {
			continue
		}
		at := waveAt{t.Spec.Lock, kind}
		if out[at] == nil {
			out[at] = &wave{}
		}
		out[at].add(*t.Waiting)
	}
	for at, w := range out {
		if w.trials < leastWaiting {
			delete(out, at)
		}
		for i := range w.bins {
			slices.Sort(w.bins[i].left)
		}
	}
	return out
}

// kindOf returns the name of the fault's kind; "" if the fault has none.
func kindOf(fault string) string {
	known, _ := nemesis.ByName(fault)
	for _, k := range struckKinds {
		if slices.ContainsFunc(known.Needs, func(n testbed.Capability) bool { return slices.Contains(k.needs, n) }) {
			return k.name
		}
	}
	return ""
}

// add adds a trial. A wait counts in each bin that it overlaps.
func (w *wave) add(t progress.Waiting) {
	w.trials++
	until := min(t.Until, progress.WaitingSpan)
	for at := -progress.WaitingTick; at < until; at++ {
		b := &w.bins[at+progress.WaitingTick]
		b.watched++
		if at >= 0 && at < t.Ends {
			b.inForce++
		}
	}
	for _, wait := range t.Waits {
		from, end := max(wait[0], -progress.WaitingTick), wait[0]+max(wait[1], 1)
		if wait[1] == progress.Forever {
			end = until
		}
		for at := from; at < min(end, until); at++ {
			left := wait[0] + wait[1] - at
			if wait[1] == progress.Forever {
				left = never
			}
			b := &w.bins[at+progress.WaitingTick]
			b.left = append(b.left, left)
		}
	}
}

// of returns the time within which this share of the waiting clients got the lock, in tenths of a
// lease time, or never. It returns false if the bin has too few waits.
func (b waitBin) of(share float64) (int, bool) {
	if len(b.left) < leastWaiting {
		return 0, false
	}
	return b.left[min(len(b.left)-1, int(share*float64(len(b.left))))], true
}

// waitsTable returns the figures of the plot, in milliseconds.
func waitsTable(c Campaign) [][]string {
	rows := [][]string{{"recipe", "workload", "faults", "trials", "ms since the fault struck", "trials watched", "fault in force", "waiting clients", "median ms", "99th percentile ms", "never"}}
	all, in := waves(c), ComparedIn(c.Trials)
	recipes, _ := CellAxes(c.Matrix)
	unit := c.ttl() / progress.WaitingTick
	ms := func(tenths int) string {
		return strconv.FormatFloat(float64(time.Duration(tenths)*unit)/float64(time.Millisecond), 'f', -1, 64)
	}
	for _, lock := range recipes {
		for _, k := range struckKinds {
			w := all[waveAt{lock, k.name}]
			if w == nil {
				continue
			}
			for i, b := range w.bins {
				row := []string{lock, in[lock], k.name, strconv.Itoa(w.trials), ms(i - progress.WaitingTick), strconv.Itoa(b.watched), strconv.Itoa(b.inForce), strconv.Itoa(len(b.left))}
				for _, share := range []float64{0.5, 0.99} {
					text := ""
					if v, ok := b.of(share); ok && v < never {
						text = ms(v)
					} else if ok {
						text = "never"
					}
					row = append(row, text)
				}
				endless, _ := slices.BinarySearch(b.left, never)
				rows = append(rows, append(row, strconv.Itoa(len(b.left)-endless)))
			}
		}
	}
	return rows
}
