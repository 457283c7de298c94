package campaign

import (
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

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
