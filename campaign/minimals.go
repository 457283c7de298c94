package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// MinimalSink is a Sink that also shows minimal trials.
type MinimalSink interface {
	// Minimal is called for each minimal trial before Done, from one goroutine at a
	// time. t.Dir is its folder, relative to the campaign.
	Minimal(ctx context.Context, t trial.Result, e history.Evidence) error
}

// withMinimals sets Minimal in the cells that have a minimal trial below dir.
func (m *Matrix) withMinimals(dir string) {
	for i := range m.Cells {
		c := &m.Cells[i]
		minimal := filepath.Join(c.Dir, trial.MinimalFolder)
		if _, err := os.Stat(packed.Find(filepath.Join(dir, minimal, trial.VerdictFile))); c.Dir != "" && err == nil {
			c.Minimal = minimal
		}
	}
}

// reportMinimals hands the cells' minimal trials to the sink, if it is a MinimalSink.
func (m Matrix) reportMinimals(ctx context.Context, dir string, to Sink) error {
	sink, ok := to.(MinimalSink)
	if !ok {
		return nil
	}
	for _, c := range m.Cells {
		if c.Minimal == "" {
			continue
		}
		t, e, err := trial.Load(filepath.Join(dir, c.Minimal))
		if err != nil {
			return err
		}
		t.Dir = c.Minimal
		if err := sink.Minimal(ctx, t, e); err != nil {
			return fmt.Errorf("report %s: %w", c.Minimal, err)
		}
	}
	return nil
}
