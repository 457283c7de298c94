package plots

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// Campaign is the input of all plots.
type Campaign struct {
	Matrix campaign.Matrix
	Trials []trial.Result
	TTL    time.Duration // the lease time; 0 = 1 s
	// Latency has the durations of acquires in trials without faults, by recipe.
	Latency []Latency
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
	// Draw returns the picture, nil if the campaign has nothing to show, and the figures behind it, with a header;
	// nil = the page shows them.
	Draw func(c Campaign) (*chart, [][]string)
	// Needs is a sentence about what the campaign lacks if nothing is drawn; "" = the reason is
	// obvious.
	Needs string
}

// all are the plots, in the order of the report.
var all = []campaignPlot{
	{"violations", "Trials that show each verdict", plotViolations, ""},
	{"verdicts", "Verdicts of each recipe", plotVerdicts, ""},
	{"breaks", "Where each recipe breaks", plotBreaks, breaksNeed},
	{"damage", "What a broken lock costs", plotDamage, "No trial counted its updates; versions before this one did not."},
	{"overlap", "How long two clients held the lock at once", plotOverlaps, ""},
	{"acquire", "Time of an acquire, undisturbed", plotLatency, "No undisturbed trial in which somebody got the lock was run here."},
	{"waiting", "How long clients waited while faults came and went", plotWaiting, waitingNeeds},
	{"recovery", "Longest time until somebody got in after a fault, in any workload", plotRecovery, "No client asked for a lock after a fault."},
	{"fairness", "How evenly the lock was shared", plotFairness, "In no trial did several clients get a lock as often as there were clients."},
}

// Draw draws every plot for which the campaign has data.
func Draw(c Campaign) []Plot {
	var out []Plot
	if len(c.Matrix.Cells) == 0 {
		return nil
	}
	for _, p := range all {
		drawn, table := p.Draw(c)
		if drawn == nil {
			continue
		}
		x := Plot{Name: p.Name, File: p.Name + ".svg", Title: p.Title, Picture: &drawn.Picture, table: table}
		if table != nil {
			x.Data = p.Name + ".csv"
		}
		out = append(out, x)
	}
	return out
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
	Picture           *svg.Picture
	table             [][]string
}

// Files returns the contents of the plot's files, by name: SVG and, if any, CSV figures.
func (p Plot) Files() (map[string][]byte, error) {
	files := map[string][]byte{p.File: p.Picture.File()}
	if p.Data != "" {
		var text bytes.Buffer
		if err := csv.NewWriter(&text).WriteAll(p.table); err != nil {
			return nil, fmt.Errorf("figures of plot %s: %w", p.Name, err)
		}
		files[p.Data] = text.Bytes()
	}
	return files, nil
}
