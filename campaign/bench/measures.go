package bench

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Unit is the unit in which tables show a figure, such as nanoseconds.
type Unit string

// The units of figures. A Plain figure is a count, such as the commands of one acquire.
const (
	Plain       Unit = ""    // a plain number
	Nanoseconds Unit = "ns"  // a duration
	PerSecond   Unit = "1/s" // a rate
)

// Measure describes one column of bench's tables, such as the commands that an acquire sends.
type Measure struct {
	Name  string `json:"name"`  // the figure's name in Lock.Figures
	Group string `json:"group"` // the table that shows the figure
	Title string `json:"title"` // the column's title
	Unit  Unit   `json:"unit"`
	Means string `json:"means"` // the figure's meaning in one sentence

	of func(costs) Figure
}

// costs is all that was measured of one lock.
type costs struct {
	acquires, releases []Cost // by one client that has no competitors
	contended          Contention
}

// Values of Measure.Group, besides ContendedGroup. Each group is one table.
const (
	wireGroup    = "commands and round trips of one client alone"
	latencyGroup = "latency of one client alone"
)

// ContendedGroup is the Measure.Group of figures measured while all clients compete for the lock.
const ContendedGroup = "contended"

// measures are all measures, in the order of the tables.
var measures = []Measure{
	{"acquireCommands", wireGroup, "acquire, commands", Plain, "commands that a successful acquire sends before it returns, the median", wireOf(acquires, func(c Cost) int { return c.Commands })},
	{"acquireRoundTrips", wireGroup, "acquire, round trips", Plain, "round trips of a successful acquire, the median: commands that do not wait for each other's replies are one", wireOf(acquires, func(c Cost) int { return c.RoundTrips })},
	{"releaseCommands", wireGroup, "release, commands", Plain, "commands that a successful release sends before it returns, the median", wireOf(releases, func(c Cost) int { return c.Commands })},
	{"releaseRoundTrips", wireGroup, "release, round trips", Plain, "round trips of a successful release, the median", wireOf(releases, func(c Cost) int { return c.RoundTrips })},

	{"acquireP50", latencyGroup, "acquire, p50", Nanoseconds, "time that a successful acquire takes, the median", latencyOf(acquires, 0.5)},
	{"acquireP99", latencyGroup, "acquire, p99", Nanoseconds, "the same, the 99th percentile", latencyOf(acquires, 0.99)},
	{"releaseP50", latencyGroup, "release, p50", Nanoseconds, "time that a successful release takes, the median", latencyOf(releases, 0.5)},
	{"releaseP99", latencyGroup, "release, p99", Nanoseconds, "the same, the 99th percentile", latencyOf(releases, 0.99)},

	{"waitP50", ContendedGroup, "wait, p50", Nanoseconds, "time from a client's first attempt to its grant while others want the lock too, the median", waitOf(0.5)},
	{"waitP99", ContendedGroup, "wait, p99", Nanoseconds, "the same, the 99th percentile", waitOf(0.99)},
	{"acquisitionsPerSecond", ContendedGroup, "acquisitions a second", PerSecond, "grants to all clients together, in a second", perSecond},
	{"commandsPerAcquisition", ContendedGroup, "commands each", Plain, "commands of all clients, failed attempts among them, for each grant, the mean", perGrant},
}

// Measures returns all measures, in the order of the tables.
func Measures() []Measure { return slices.Clone(measures) }

func acquires(c costs) []Cost { return c.acquires }
func releases(c costs) []Cost { return c.releases }

// value returns a figure with the value v, or only a note if nothing was measured.
func value(v float64, measured bool) Figure {
	if !measured {
		return Figure{Note: "not measured"}
	}
	return Figure{Value: &v}
}

func wireOf(of func(costs) []Cost, count func(Cost) int) func(costs) Figure {
	return func(c costs) Figure {
		n, ok := quantile(each(of(c), count), 0.5)
		return value(float64(n), ok)
	}
}

func latencyOf(of func(costs) []Cost, q float64) func(costs) Figure {
	return func(c costs) Figure {
		d, ok := quantile(each(of(c), func(c Cost) time.Duration { return c.Took }), q)
		return value(float64(d), ok)
	}
}

func waitOf(q float64) func(costs) Figure {
	return func(c costs) Figure {
		d, ok := quantile(c.contended.Waits, q)
		return value(float64(d), ok)
	}
}

func perSecond(c costs) Figure {
	return value(float64(c.contended.Grants)/c.contended.Lasted.Seconds(), c.contended.Lasted > 0)
}

func perGrant(c costs) Figure {
	return value(float64(c.contended.Commands)/float64(c.contended.Grants), c.contended.Grants > 0)
}

// add measures the evidence of a trial. The error says why its history is impossible.
func (c *costs) add(contended bool, e history.Evidence) (err error) {
	if contended {
		c.contended = Contended(e)
		return nil
	}
	if c.acquires, err = Costs(e, history.FAcquire); err == nil {
		c.releases, err = Costs(e, history.FRelease)
	}
	return err
}

// figures returns the figures by Measure.Name.
func (c costs) figures() map[string]Figure {
	all := map[string]Figure{}
	for _, m := range measures {
		all[m.Name] = m.of(c)
	}
	return all
}
