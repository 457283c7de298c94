package reports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// Names of the files in a violated trial's folder.
const (
	TimelineFile       = "timeline.svg"
	PorcupineFile      = "porcupine.html"
	CounterexampleFile = "counterexample.md"
)

// Names of the files in the campaign's directory.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	JUnitFile    = "junit.xml"
	CSVFile      = "results.csv"
	PlotsDir     = "plots"
)

// latencyFile stores the figures behind acquire.svg, because the histories of undisturbed trials
// are seldom kept.
const latencyFile = "acquire.json"

// New returns a sink that writes the reports of the campaign in dir when the campaign is done: the
// pages and, in the trial's folder, the story of each trial that the pages show. A trial that
// shows an undeclared flaw also gets a timeline. The sink replaces only its own files.
func New(dir string) (campaign.Sink, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("reports of a campaign: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("reports of a campaign: %s is not a directory", dir)
	}
	return &sink{dir: dir, glossary: registries(), acquires: map[string][]time.Duration{}}, nil
}

// sink writes the reports of one campaign. It is the only campaign.Sink outside tests.
type sink struct {
	dir      string
	glossary glossary
	acquires map[string][]time.Duration // durations of acquires in undisturbed trials, by lock
}

// Trial implements campaign.Sink. It must be quick: a campaign calls it thousands of times.
func (s *sink) Trial(_ context.Context, t trial.Result) error {
	s.acquires[t.Spec.Lock] = append(s.acquires[t.Spec.Lock], t.Acquires...)
	return nil
}

// Done implements campaign.Sink.
func (s *sink) Done(ctx context.Context, stored campaign.Stored) (err error) {
	r := result{Info: stored.Info, Matrix: stored.Matrix, Trials: stored.Trials, Glossary: s.glossary}
	if r.Details, err = s.details(ctx, r); err != nil {
		return err
	}
	if r.Latency, err = s.latencies(); err != nil {
		return err
	}
	drawn := drawPlots(r)
	for _, p := range drawn {
		if err := savePlot(filepath.Join(s.dir, PlotsDir), p); err != nil {
			return err
		}
	}
	html, err := htmlReport(r, drawn)
	if err != nil {
		return err
	}
	suites, err := junitReport(r)
	if err != nil {
		return err
	}
	table, err := csvReport(r.Matrix)
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(s.dir, HTMLFile), html),
		write(filepath.Join(s.dir, MarkdownFile), summaryReport(r)),
		write(filepath.Join(s.dir, JUnitFile), suites),
		write(filepath.Join(s.dir, CSVFile), table),
	)
}

// latencies merges the latencies of this run with those stored by earlier runs, and stores the
// result.
func (s *sink) latencies() ([]plots.Latency, error) {
	path := filepath.Join(s.dir, PlotsDir, latencyFile)
	var before []plots.Latency
	if err := packed.ReadJSON(path, &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read latencies: %w", err)
	}
	all := plots.Merge(before, plots.Summarize(s.acquires))
	if len(all) == 0 {
		return nil, nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = packed.WriteJSON(path, all)
	}
	return all, err
}

// drawPlots draws every plot that has something to show.
func drawPlots(r result) []plots.Plot {
	return plots.Draw(plots.Campaign{Matrix: r.Matrix, Trials: r.Trials, TTL: r.Info.Config.TTL, Latency: r.Latency})
}

// savePlot writes the plot's files into a directory: SVG and, for some plots, its figures as CSV.
func savePlot(dir string, p plots.Plot) error {
	files, err := p.Files()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := write(filepath.Join(dir, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// write replaces a file atomically: a kill leaves either the old file or the new one.
func write(path string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = packed.Replace(path, data)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
