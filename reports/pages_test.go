package reports

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

// sampleResult is a hand-made result of a whole campaign.
func sampleResult(t *testing.T) result {
	t.Helper()
	r := result{
		Info: campaign.Info{
			Config:   campaign.Config{Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Duration: 3 * time.Second, Trials: 5, Expect: true},
			Versions: campaign.Versions{Lockstorm: "v0.1.0", Commit: "0a1b2c3d", Go: "go1.26", Redis: "7.0.15"},
			Started:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Elapsed: 41 * time.Second,
		},
		Matrix: sampleMatrix(t), Details: map[string]detail{}, Glossary: testGlossary,
	}
	samples := map[string][]time.Duration{}
	for _, s := range sampleTrials(t) {
		f, _ := story.FocusOn(told(s.Trial, s.Evidence))
		d, err := testGlossary.detail(s.Trial, f, true)
		if err != nil {
			t.Fatal(err)
		}
		d.Kept = keptFiles{Timeline: true, Porcupine: true}
		r.Details[s.Trial.Dir] = d
		r.Trials = append(r.Trials, s.Trial)
		samples[s.Trial.Spec.Lock] = append(samples[s.Trial.Spec.Lock], s.Trial.Acquires...)
	}
	r.Latency = plots.Summarize(samples)
	return r
}

func TestPagesAreAsTheyWereReviewed(t *testing.T) {
	r := sampleResult(t)
	plots := drawPlots(r)
	for _, p := range plots {
		reporttest.Golden(t, "plots/"+p.File, p.Picture.File())
		reporttest.WellFormed(t, p.Picture.File())
	}
	reporttest.Golden(t, MarkdownFile, summaryReport(r))
	suites, err := junitReport(r)
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "junit.xml", suites)
	reporttest.WellFormed(t, suites)
	html, err := htmlReport(r, plots)
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "report.html", expanded(t, html))
	reporttest.WellFormed(t, bytes.Replace(html, []byte("<!DOCTYPE html>"), nil, 1))
}

func TestHostileNamesStayText(t *testing.T) {
	r := sampleResult(t)
	r.Matrix.Command = `lockstorm run --locks '<script>alert(1)</script>'`
	for i := range r.Matrix.Cells {
		r.Matrix.Cells[i].Why = `<img src=x onerror=alert(1)> | cut`
	}
	html, err := htmlReport(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	reporttest.WellFormed(t, bytes.Replace(html, []byte("<!DOCTYPE html>"), nil, 1))
	for _, bad := range []string{"<script>alert", "<img"} {
		if bytes.Contains(expanded(t, html), []byte(bad)) {
			t.Errorf("the page has %s", bad)
		}
	}
}
