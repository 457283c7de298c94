package reports

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// Minimal implements campaign.MinimalSink. It writes the story and the pictures of a
// minimal trial into the trial's folder.
func (s *sink) Minimal(_ context.Context, t trial.Result, e history.Evidence) error {
	d, err := s.glossary.minimal(filepath.Join(s.dir, filepath.FromSlash(t.Dir)), path.Join(s.dir, t.Dir), s.full, t, e)
	if err != nil {
		return err
	}
	s.minimal[t.Dir] = d
	return nil
}

// Minimal writes the pictures and the story of a minimal trial into its folder. The story
// says what the trial was shrunk from.
func Minimal(folder string, t trial.Result, e history.Evidence) error {
	_, err := registries().minimal(folder, filepath.ToSlash(folder), true, t, e)
	return err
}

func (g glossary) minimal(folder, name string, porcupine bool, t trial.Result, e history.Evidence) (detail, error) {
	d, err := g.render(folder, name, originWords(t.Shrinking), porcupine, t, e)
	if err != nil {
		return d, fmt.Errorf("render %s: %w", name, err)
	}
	return d, nil
}
