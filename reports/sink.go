package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/reports/timeline"
	"github.com/lockstorm/lockstorm/testbed"
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
	return &sink{dir: dir, glossary: registries(), acquires: map[string][]time.Duration{}, minimal: map[string]detail{}}, nil
}

// sink writes the reports of one campaign. It is the only campaign.Sink outside tests.
type sink struct {
	dir      string
	glossary glossary
	acquires map[string][]time.Duration // durations of acquires in undisturbed trials, by lock
	minimal  map[string]detail          // what the pages show about the cells' minimal trials, by Cell.Minimal
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
	maps.Copy(r.Details, s.minimal)
	if r.Latency, err = s.latencies(); err != nil {
		return err
	}
	drawn, err := drawPlots(r)
	if err != nil {
		return err
	}
	for _, p := range drawn {
		if err := savePlot(filepath.Join(s.dir, PlotsDir), p); err != nil {
			return err
		}
	}
	html, err := htmlReport(r, drawn)
	if err != nil {
		return err
	}
	suites, err := junit(r)
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

// details renders the stored violated trials that the pages show.
func (s *sink) details(ctx context.Context, r result) (map[string]detail, error) {
	shown := map[string]bool{}
	for _, c := range r.Matrix.Cells {
		shown[c.Dir] = true
	}
	for _, u := range r.Matrix.Unexpected {
		shown[u.Dir] = true
	}
	var mu sync.Mutex
	details := map[string]detail{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range r.Trials {
		if t.Dir == "" || !t.Violation() || !shown[t.Dir] {
			continue
		}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			folder := filepath.Join(s.dir, filepath.FromSlash(t.Dir))
			whole, evidence, err := trial.Load(folder)
			if err != nil && !(errors.Is(err, fs.ErrNotExist) && len(evidence.Ops) > 0) { // if the verdict is missing, the evidence is enough
				return err
			}
			if err == nil {
				t.Verdicts = whole.Verdicts // the campaign's list shortens the verdicts
			}
			minimal, shrunk := s.minimal[filepath.Join(t.Dir, trial.MinimalFolder)]
			elsewhere := shrunk && showsAll(minimal.Flaws, t.Flaws)
			d, err := s.glossary.render(folder, path.Join(s.dir, t.Dir), origin(folder, whole.Shrinking, elsewhere), elsewhere, false, t, evidence)
			if err != nil {
				return fmt.Errorf("render %s: %w", t.Dir, err)
			}
			if s := whole.Shrinking; s != nil && s.NotShrunk {
				d.NotShrunk = s.Unfinished
			}
			mu.Lock()
			defer mu.Unlock()
			details[t.Dir] = d
			return nil
		})
	}
	return details, group.Wait()
}

// Trial writes the pictures and the story of a violated trial into its folder. It writes
// nothing if there was no violation.
func Trial(folder string, t trial.Result, e history.Evidence) error {
	if !t.Violation() {
		return nil
	}
	_, err := registries().render(folder, filepath.ToSlash(folder), "", false, true, t, e)
	return err
}

// render writes the story and the pictures of one violated trial into its folder. It writes nothing if
// the trial has no operations. A trial without a finding has no story and gets only porcupine's page.
//
// name is the folder as command lines name it. origin says how the trial came about. If elsewhere is
// set, the page leaves out story and verdicts, since the page of the minimal trial below the folder has
// them. If pictures is set, a trial with a story gets the timeline and porcupine's page. Otherwise a
// trial with a story gets the timeline only if it shows an undeclared flaw: pictures are half of a
// folder's bytes, and can be drawn from the evidence at any time.
func (g glossary) render(folder, name, origin string, elsewhere, pictures bool, t trial.Result, e history.Evidence) (d detail, err error) {
	if len(e.Ops) == 0 {
		return d, nil
	}
	f, ok := story.FocusOn(told(t, e))
	if ok {
		if d, err = g.detail(t, f); err != nil {
			return d, err
		}
		d.Shrunk = origin
		d.Log, d.MoreLog = story.Log(f)
	} else {
		d.Story.Note = "There is no story: the oracle that was violated names no finding."
	}
	if d.Picture, err = picture(e); err != nil {
		return d, err
	}
	if pictures || !ok { // without a story, porcupine's page is the only picture
		if err := write(filepath.Join(folder, PorcupineFile), d.Picture); err != nil {
			return d, err
		}
	}
	d.Kept.Porcupine = exists(folder, PorcupineFile)
	if !ok {
		return d, nil
	}
	if pictures || len(undeclaredFlaws(t.Flaws)) > 0 {
		drawn, err := timeline.Draw(f, d.Story.Steps, g.faultColor, true)
		if err != nil {
			return d, fmt.Errorf("timeline: %w", err)
		}
		if err := write(filepath.Join(folder, TimelineFile), drawn); err != nil {
			return d, err
		}
	}
	d.Kept.Timeline, d.Kept.Minimal = exists(folder, TimelineFile), elsewhere
	return d, write(filepath.Join(folder, CounterexampleFile), g.counterexample(t, f, name, origin, d.Kept))
}

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// told returns a trial as the input for a story and a timeline.
func told(t trial.Result, e history.Evidence) story.Trial {
	s := story.Trial{Title: trialTitle(t), Verdicts: t.Verdicts, Evidence: e}
	for _, f := range t.Flaws {
		s.Declared = append(s.Declared, locks.Flaw{Oracle: f.Oracle, Cause: f.Cause, Kind: f.Kind})
	}
	return s
}

// picture returns porcupine's page that shows the history.
func picture(e history.Evidence) ([]byte, error) {
	var b bytes.Buffer
	err := checker.Visualize(context.Background(), &b, e, story.WindowWords)
	return b.Bytes(), err
}

// detail returns the story and the timeline of one violated trial.
func (g glossary) detail(t trial.Result, f story.Focus) (detail, error) {
	told := story.Tell(f)
	drawn, err := timeline.Draw(f, told.Steps, g.faultColor, false)
	if err != nil {
		return detail{}, err
	}
	return detail{Story: told, Declared: g.declaredWords(t, f.Finding), Drawn: string(drawn), Title: f.Title, Flaws: t.Flaws,
		Told: trial.Flaw{Oracle: f.Finding.Oracle, Cause: string(f.Finding.Cause), Kind: f.Finding.Kind}}, nil
}

// latencies merges the latencies of this run with those stored by earlier runs, and stores the
// result.
func (s *sink) latencies() ([]plots.Latency, error) {
	path := filepath.Join(s.dir, PlotsDir, latencyFile)
	var before []plots.Latency
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read latencies: %w", err)
	default:
		if err := json.Unmarshal(data, &before); err != nil {
			return nil, fmt.Errorf("read latencies of %s: %w", path, err)
		}
	}
	all := plots.Merge(before, plots.Summarize(s.acquires))
	if len(all) == 0 {
		return nil, nil
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write latencies: %w", err)
	}
	return all, write(path, append(slices.Clone(text), '\n'))
}

// drawPlots draws every plot that has something to show.
func drawPlots(r result) ([]plots.Plot, error) {
	c := plots.Campaign{Matrix: r.Matrix, Trials: r.Trials, TTL: r.Info.Config.TTL, Latency: r.Latency, Sizes: map[string]string{}, Needs: map[string][]testbed.Capability{}}
	for _, f := range r.Glossary.Faults {
		c.Sizes[f.Name], c.Needs[f.Name] = f.Axis, f.Needs
	}
	return plots.Draw(c)
}

// notDrawn returns the titles of the plots that were not drawn, each with the data that the plot
// needs.
func notDrawn(drawn []plots.Plot) (missing []fact) {
	for _, m := range plots.NotDrawn(drawn) {
		missing = append(missing, fact{m.Title, m.Needs})
	}
	return missing
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
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, data, 0o666); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(fmt.Errorf("write report: %w", err), os.Remove(temporary))
	}
	return nil
}
