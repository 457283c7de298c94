package plots

import (
	"bytes"
	"encoding/csv"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/trial"
)

// everyPlot draws all plots of one campaign. The campaign has a sweep, trials with overlaps, and
// trials with updates and recoveries.
func everyPlot(t *testing.T) []Plot {
	t.Helper()
	updating := sweptTrials("plain", 0, 1)
	updating[0].Progress = &progress.Measures{Updates: 40, LostUpdates: 2, Lasted: 36 * time.Second, Recoveries: 1, RecoveryMax: time.Second, Clients: 3, Grants: 12, Jain: 0.75}
	var overlaps []trial.Result
	for range leastOverlaps {
		overlaps = append(overlaps, overlapping("plain", 30))
	}
	c := campaignOf(sweptTrials("plain", 1, 8, trial.Violated), overlaps, updating,
		waited(leastWaiting, "plain", "partition", progress.Waiting{Ends: 1, Until: 2, Waits: [][2]int{{0, 1}}}))
	c.Latency = Summarize(map[string][]time.Duration{"plain": {time.Millisecond, 2 * time.Millisecond}})
	drawn := Draw(c)
	if len(drawn) != len(all) {
		t.Fatalf("%d of %d plots are drawn", len(drawn), len(all))
	}
	return drawn
}

// If the plots' font is missing, a viewer uses another font, which may be wider.
func TestTitlesOfPlotsFitInAWiderFontToo(t *testing.T) {
	const wider = 1.2
	for _, p := range everyPlot(t) {
		title := regexp.MustCompile("<title>(.*)</title>").FindSubmatch(p.Picture.File())
		if title == nil {
			t.Fatalf("%s has no title", p.Name)
		}
		if got := svg.TextWidth(titleFont, string(title[1])) * wider; got > plotWidth-20 {
			t.Errorf("%s: the title is %.0f points wide, the plot %d: %s", p.Name, got, plotWidth, title[1])
		}
	}
}

func TestEveryPlotHasAPictureAndItsFigures(t *testing.T) {
	for _, p := range everyPlot(t) {
		files, err := p.Files()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{p.Name + ".svg"}
		if p.Data != "" {
			want = append([]string{p.Name + ".csv"}, want...)
		}
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
			t.Errorf("%s: got files %v, want %v", p.Name, got, want)
		}
		for name, data := range files {
			if len(data) == 0 {
				t.Errorf("%s is empty", name)
			}
		}
	}
}

// plotOf returns a campaign's plot of the name; false if it is not drawn.
func plotOf(c Campaign, name string) (Plot, bool) {
	drawn := Draw(c)
	if i := slices.IndexFunc(drawn, func(p Plot) bool { return p.Name == name }); i >= 0 {
		return drawn[i], true
	}
	return Plot{}, false
}

// tableOf returns the figures of a campaign's plot of the name, without the header.
func tableOf(t *testing.T, c Campaign, name string) [][]string {
	t.Helper()
	p, _ := plotOf(c, name)
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(files[name+".csv"])).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("no figures: %v", err)
	}
	return rows[1:]
}

// asReviewed compares a campaign's plot of the name with its golden file.
func asReviewed(t *testing.T, c Campaign, name string) {
	t.Helper()
	p, ok := plotOf(c, name)
	if !ok {
		t.Fatal("nothing is drawn")
	}
	reporttest.WellFormed(t, p.Picture.File())
	reporttest.Golden(t, p.File, p.Picture.File())
}
