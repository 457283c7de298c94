package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// stored is the content of a stored trial's folder.
type stored struct {
	spec trial.Spec
	// hash is the hash of the judged history; "" if no history was judged.
	hash string
	// differs says how the files differ from the judged history: truncated or changed since. nil =
	// they do not differ, or it is unknown.
	differs error
}

// folderOf returns the folder of a stored trial. The path is one of the folder's files or the
// folder itself.
func folderOf(path string) string {
	if info, err := os.Stat(packed.Find(path)); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// readStored reads a trial's folder. The path may also be a file in that folder.
func readStored(path string) (s stored, err error) {
	path = folderOf(path)
	err = packed.ReadJSON(filepath.Join(path, trial.SpecFile), &s.spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, input.Errorf("%s: expected the folder of a stored trial, with %s in it", path, trial.SpecFile)
	case err != nil:
		return s, err
	}
	record, unreadable := trial.LoadJudged(path)
	if errors.Is(unreadable, trial.ErrFormat) {
		return s, unreadable
	}
	var verdict struct{ Hash string }
	err = packed.ReadJSON(filepath.Join(path, trial.VerdictFile), &verdict)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, err
	}
	s.hash, s.differs = verdict.Hash, cmp.Or(unreadable, record.Differs) // unreadable files differ from what was judged
	return s, nil
}

func sameDirectory(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
