package plots

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Campaign is the input of all plots.
type Campaign struct {
	Matrix campaign.Matrix
	Trials []trial.Result
	TTL    time.Duration // the lease time; 0 = 1 s
	// Latency has the durations of acquires in trials without faults, by recipe.
	Latency []Latency
	// Sizes says, for each fault, what the sizes of its sweep measure (nemesis.Fault.Axis).
	Sizes map[string]string
	// Needs has, for each fault, the capabilities that it needs (nemesis.Fault.Needs).
	Needs map[string][]testbed.Capability
}

func (c Campaign) ttl() time.Duration {
	if c.TTL <= 0 {
		return time.Second
	}
	return c.TTL
}

// campaignPlot is a kind of picture of a whole campaign.
type campaignPlot struct {
	Name, Title string // Name is the name of the picture's files, without the extension
	// Draw returns nil if the campaign has nothing to show.
	Draw func(c Campaign) *svg.Picture
	// Table returns the figures behind the picture, with a header row; nil = the page shows them.
	Table func(c Campaign) [][]string
	// Needs is a sentence about what the campaign lacks if nothing is drawn; "" = the reason is
	// obvious.
	Needs string
}

// all are the plots, in the order of the report.
var all = []campaignPlot{
	{Name: "violations", Title: "Trials that show each verdict", Draw: plotViolations},
	{Name: "verdicts", Title: "Verdicts of each recipe", Draw: plotVerdicts},
	{Name: "breaks", Title: "Where each recipe breaks", Draw: plotBreaks, Table: breaksTable, Needs: breaksNeed},
	{Name: "damage", Title: "What a broken lock costs", Draw: plotDamage, Table: damageTable, Needs: damageNeeds},
	{Name: "overlap", Title: "How long two clients held the lock at once", Draw: plotOverlaps, Table: overlapTable},
	{Name: "acquire", Title: "Time of an acquire, undisturbed", Draw: plotLatency, Needs: "No undisturbed trial in which somebody got the lock was run here."},
	{Name: "waiting", Title: "How long clients waited while faults came and went", Draw: plotWaiting, Table: waitsTable, Needs: waitingNeeds},
	{Name: "recovery", Title: "Longest time until somebody got in after a fault, in any workload", Draw: plotRecovery, Needs: "No client asked for a lock after a fault."},
	{Name: "fairness", Title: "How evenly the lock was shared", Draw: plotFairness, Needs: fairnessNeeds},
}

// Draw draws every plot for which the campaign has data.
func Draw(c Campaign) ([]Plot, error) {
	var out []Plot
	for _, p := range all {
		drawn := p.Draw(c)
		if drawn == nil {
			continue
		}
		var table [][]string
		if p.Table != nil {
			table = p.Table(c)
		}
		plot, err := New(p.Name, p.Title, *drawn, table)
		if err != nil {
			return nil, err
		}
		out = append(out, plot)
	}
	return out, nil
}

// Missing is a plot that was not drawn. Needs is a sentence about what the campaign lacks.
type Missing struct{ Title, Needs string }

// NotDrawn returns the plots that are not among the drawn ones, except those whose reason is
// obvious.
func NotDrawn(drawn []Plot) (missing []Missing) {
	for _, p := range all {
		if p.Needs != "" && !slices.ContainsFunc(drawn, func(d Plot) bool { return d.Name == p.Name }) {
			missing = append(missing, Missing{p.Title, p.Needs})
		}
	}
	return missing
}

// Plot is a drawn plot.
type Plot struct {
	Name, File, Title string // File is the name of the picture's file
	Data              string // name of the file with the figures; "" = none
	Picture           []byte // SVG
	table             [][]string
}

// New draws a picture as a plot with the figures in table; table nil = without figures. Name is
// the name of the plot's files, without the extension.
func New(name, title string, drawn svg.Picture, table [][]string) (Plot, error) {
	p := Plot{Name: name, File: name + ".svg", Title: title, table: table}
	if table != nil {
		p.Data = name + ".csv"
	}
	var err error
	if p.Picture, err = drawn.SVG(); err != nil {
		return Plot{}, fmt.Errorf("plot %s: %w", name, err)
	}
	return p, nil
}

// Files returns the contents of the plot's files, by name: SVG and, if any, CSV figures.
func (p Plot) Files() (map[string][]byte, error) {
	files := map[string][]byte{p.File: p.Picture}
	if p.Data != "" {
		var text bytes.Buffer
		if err := csv.NewWriter(&text).WriteAll(p.table); err != nil {
			return nil, fmt.Errorf("figures of plot %s: %w", p.Name, err)
		}
		files[p.Data] = text.Bytes()
	}
	return files, nil
}
