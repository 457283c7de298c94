package reports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// latencyFile keeps the figures of acquire.svg: the histories of undisturbed
// trials are seldom kept.
const latencyFile = "acquire.json"

// New returns the sink that writes the reports of the campaign in dir: the
// pictures and the story of a violated trial into its folder at once, so that
// they survive a kill, and the campaign's pages at the end. It writes nothing
// else and replaces only its own files.
func New(dir string) (campaign.Sink, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("reports of a campaign: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("reports of a campaign: %s is not a directory", dir)
	}
	return &sink{dir: dir, glossary: registries(), details: map[string]detail{}, acquires: map[string][]time.Duration{}}, nil
}

// sink is the one implementation of campaign.Sink.
type sink struct {
	dir      string
	glossary glossary
	details  map[string]detail
	acquires map[string][]time.Duration // per lock, of undisturbed trials
}

// Trial implements campaign.Sink.
func (s *sink) Trial(_ context.Context, t campaign.Trial, e history.Evidence) error {
	if len(t.Spec.Plan) == 0 {
		s.acquires[t.Spec.Lock] = append(s.acquires[t.Spec.Lock], acquireTimes(e)...)
	}
	if t.Dir == "" || !t.Violation() || len(e.Ops) == 0 {
		return nil
	}
	d, err := s.glossary.detail(t, e)
	if err != nil {
		return err
	}
	s.details[t.Dir] = d
	folder := filepath.Join(s.dir, filepath.FromSlash(t.Dir))
	if f, ok := focusOn(t, e); ok {
		if err := write(filepath.Join(folder, TimelineFile), d.Timeline); err != nil {
			return err
		}
		if err := write(filepath.Join(folder, CounterexampleFile), s.glossary.counterexample(t, e, f, s.dir)); err != nil {
			return err
		}
	}
	var picture bytes.Buffer
	if err := checker.Visualize(&picture, e); err != nil {
		return fmt.Errorf("picture of %s: %w", t.Dir, err)
	}
	return write(filepath.Join(folder, PorcupineFile), picture.Bytes())
}

// detail tells and draws one violated trial.
func (g glossary) detail(t campaign.Trial, e history.Evidence) (detail, error) {
	f, ok := focusOn(t, e)
	if !ok {
		return detail{Story: "The oracle that was violated names no finding."}, nil
	}
	picture, err := timeline(newScene(t, e, f), g.faultColor)
	if err != nil {
		return detail{}, fmt.Errorf("timeline of %s: %w", t.Dir, err)
	}
	return detail{Story: story(t, e, f), Declared: g.declaredWords(t, f.Finding), Timeline: picture}, nil
}

// Done implements campaign.Sink.
func (s *sink) Done(_ context.Context, m campaign.Matrix) error {
	stored, err := campaign.Load(s.dir)
	if err != nil {
		return err
	}
	r := result{Info: stored.Info, Matrix: m, Trials: stored.Trials, Details: s.details, Glossary: s.glossary}
	if r.Latency, err = s.latencies(); err != nil {
		return err
	}
	plots, err := drawPlots(r)
	if err != nil {
		return err
	}
	for _, p := range plots {
		if err := write(filepath.Join(s.dir, PlotsDir, p.File), p.Picture); err != nil {
			return err
		}
	}
	html, err := htmlReport(r, plots)
	if err != nil {
		return err
	}
	suites, err := junit(r)
	if err != nil {
		return err
	}
	return errors.Join(
		write(filepath.Join(s.dir, HTMLFile), html),
		write(filepath.Join(s.dir, MarkdownFile), markdownReport(r, plots)),
		write(filepath.Join(s.dir, JUnitFile), suites),
	)
}

// latencies joins what this run measured with what is stored of an earlier one.
func (s *sink) latencies() ([]latency, error) {
	path := filepath.Join(s.dir, PlotsDir, latencyFile)
	var before []latency
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
	all := merge(before, summarize(s.acquires))
	if len(all) == 0 {
		return nil, nil
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write latencies: %w", err)
	}
	return all, write(path, append(slices.Clone(text), '\n'))
}

// write replaces a file in one step, so that a kill leaves the old or the new one.
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
