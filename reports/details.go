package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/reports/timeline"
	"github.com/lockstorm/lockstorm/trial"
)

// details writes the pages of the stored violated trials that the report names, and returns what it shows of
// them, by folder: first the cells' minimal trials, then the trials as they ran.
func (s *sink) details(ctx context.Context, r result) (map[string]detail, error) {
	var minimals []trial.Result
	shown := map[string]bool{}
	for _, c := range r.Matrix.Cells {
		shown[c.Dir] = true
		if c.Minimal != "" {
			minimals = append(minimals, trial.Result{Dir: c.Minimal})
		}
	}
	for _, u := range r.Matrix.Unexpected {
		shown[u.Dir] = true
	}
	small, err := each(ctx, minimals, s.minimal)
	if err != nil {
		return nil, err
	}
	whole := slices.DeleteFunc(slices.Clone(r.Trials), func(t trial.Result) bool { return t.Dir == "" || !t.Violation() || !shown[t.Dir] })
	details, err := each(ctx, whole, func(t trial.Result) (detail, error) {
		minimal, shrunk := small[filepath.Join(t.Dir, trial.MinimalFolder)]
		return s.whole(t, shrunk, shrunk && showsAll(minimal.Flaws, t.Flaws))
	})
	maps.Copy(details, small)
	return details, err
}

// each renders trials, several at once, and returns what they have to show by their folders.
func each(ctx context.Context, trials []trial.Result, render func(trial.Result) (detail, error)) (map[string]detail, error) {
	var mu sync.Mutex
	details := map[string]detail{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range trials {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := render(t)
			if err != nil {
				return fmt.Errorf("render %s: %w", t.Dir, err)
			}
			mu.Lock()
			defer mu.Unlock()
			details[t.Dir] = d
			return nil
		})
	}
	return details, group.Wait()
}

// minimal renders the minimal trial in a folder of the campaign.
func (s *sink) minimal(t trial.Result) (detail, error) {
	folder := s.folder(t.Dir)
	small, evidence, err := trial.Load(folder)
	if err != nil {
		return detail{}, err
	}
	return s.glossary.render(folder, path.Join(s.dir, t.Dir), originWords(small.Shrinking), layout{drawn: true}, small, evidence)
}

// whole renders a trial as it ran. shrunk says whether it has a minimal trial, and elsewhere whether that shows all its
// flaws.
func (s *sink) whole(t trial.Result, shrunk, elsewhere bool) (detail, error) {
	folder, name := s.folder(t.Dir), path.Join(s.dir, t.Dir)
	declared := len(undeclaredFlaws(t.Flaws)) == 0
	if elsewhere && declared { // the evidence need not be loaded
		kept := keptFiles{Timeline: exists(folder, TimelineFile), Porcupine: exists(folder, PorcupineFile), Minimal: true}
		return detail{}, write(filepath.Join(folder, CounterexampleFile), s.glossary.counterexample(t, story.Focus{}, name, origin(folder, nil, true), kept))
	}
	stored, evidence, err := trial.Load(folder)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && len(evidence.Ops) > 0) { // if the verdict is missing, the evidence is enough
		return detail{}, err
	}
	if err == nil {
		t.Verdicts = stored.Verdicts // the campaign's list shortens the verdicts
	}
	d, err := s.glossary.render(folder, name, origin(folder, stored.Shrinking, elsewhere), layout{elsewhere: elsewhere, drawn: !shrunk || !elsewhere || !declared}, t, evidence)
	d.Shrunk = strings.ReplaceAll(d.Shrunk, minimalLink, "its folder "+trial.MinimalFolder)
	if x := stored.Shrinking; x != nil && x.NotShrunk {
		d.NotShrunk = x.Unfinished
	}
	return d, err
}

// folder returns the path of a trial's folder; dir is relative to the campaign.
func (s *sink) folder(dir string) string { return filepath.Join(s.dir, filepath.FromSlash(dir)) }

// Trial writes the pictures and the story of a violated trial into its folder. It writes
// nothing if there was no violation.
func Trial(folder string, t trial.Result, e history.Evidence) error {
	if !t.Violation() {
		return nil
	}
	_, err := registries().render(folder, filepath.ToSlash(folder), "", layout{pictures: true}, t, e)
	return err
}

// layout says what render writes.
type layout struct {
	elsewhere bool // the page of the minimal trial below the folder has story and verdicts: leave them out
	drawn     bool // the report shows the timeline
	pictures  bool // write timeline and porcupine's page
}

// render writes the story and the pictures of one violated trial into its folder. It writes nothing if
// the trial has no operations. A trial without a finding has no story and gets only porcupine's page.
//
// name is the folder as command lines name it. origin says how the trial came about. Without pictures, a
// trial with a story gets a timeline file only if it shows an undeclared flaw: pictures are half of a
// folder's bytes, and can be drawn from the evidence at any time.
func (g glossary) render(folder, name, origin string, how layout, t trial.Result, e history.Evidence) (d detail, err error) {
	if len(e.Ops) == 0 {
		return d, nil
	}
	f, ok := story.FocusOn(told(t, e))
	if ok {
		if d, err = g.detail(t, f, how.drawn); err != nil {
			return d, err
		}
		d.Shrunk = origin
		d.Log, d.MoreLog = story.Log(f)
	} else {
		d.Story.Note = "There is no story: the oracle that was violated names no finding."
	}
	if how.pictures || !ok { // without a story, porcupine's page is the only picture
		page, err := picture(e)
		if err != nil {
			return d, err
		}
		if err := write(filepath.Join(folder, PorcupineFile), page); err != nil {
			return d, err
		}
	}
	d.Kept.Porcupine = exists(folder, PorcupineFile)
	if !ok {
		return d, nil
	}
	if how.pictures || len(undeclaredFlaws(t.Flaws)) > 0 {
		drawn, err := timeline.Draw(f, d.Story.Steps, g.faultColor, true)
		if err != nil {
			return d, fmt.Errorf("timeline: %w", err)
		}
		if err := write(filepath.Join(folder, TimelineFile), drawn); err != nil {
			return d, err
		}
	}
	d.Kept.Timeline, d.Kept.Minimal = exists(folder, TimelineFile), how.elsewhere
	return d, write(filepath.Join(folder, CounterexampleFile), g.counterexample(t, f, name, origin, d.Kept))
}

func exists(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

// told returns a trial as the input for a story and a timeline.
func told(t trial.Result, e history.Evidence) story.Trial {
	s := story.Trial{Title: trialTitle(t), Verdicts: t.Verdicts, Evidence: e, Remedied: t.Remedied}
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

// detail returns the story and, if it is to be drawn, the timeline of one violated trial.
func (g glossary) detail(t trial.Result, f story.Focus, drawn bool) (detail, error) {
	d := detail{Story: story.Tell(f), Declared: g.declaredWords(t, f.Finding), Title: f.Title, Flaws: t.Flaws,
		Told: trial.Flaw{Oracle: f.Finding.Oracle, Cause: string(f.Finding.Cause), Kind: f.Finding.Kind}}
	if !drawn {
		return d, nil
	}
	svg, err := timeline.Draw(f, d.Story.Steps, g.faultColor, false)
	d.Drawn = string(svg)
	return d, err
}
