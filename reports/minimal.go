package reports

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
)

// Minimal implements campaign.MinimalSink: the story and the pictures of a minimal
// trial are in its own folder.
func (s *sink) Minimal(_ context.Context, t campaign.Trial, e history.Evidence) error {
	if err := s.glossary.minimal(filepath.Join(s.dir, filepath.FromSlash(t.Dir)), path.Join(s.dir, t.Dir), t, e); err != nil {
		return err
	}
	f, ok := focusOn(t, e)
	if !ok {
		return nil
	}
	d, err := s.glossary.detail(t, e, f)
	if err != nil {
		return err
	}
	if t.Shrinking != nil {
		d.Shrunk = "Shrunk from the trial as it first ran: " + t.Shrinking.Words()
	}
	s.minimal[t.Dir] = d
	return nil
}

// Minimal writes the pictures and the story of a minimal trial into its folder,
// with what it was shrunk from.
func Minimal(folder string, t campaign.Trial, e history.Evidence) error {
	return registries().minimal(folder, filepath.ToSlash(folder), t, e)
}

func (g glossary) minimal(folder, name string, t campaign.Trial, e history.Evidence) error {
	if _, err := g.render(folder, name, t, e); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	if t.Shrinking == nil {
		return nil
	}
	file := filepath.Join(folder, CounterexampleFile)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the counterexample: %w", err)
	}
	return write(file, fmt.Appendf(text, "\nShrunk in %d trials: %s.\n", t.Shrinking.Trials, t.Shrinking.Words()))
}
