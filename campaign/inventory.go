package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// Outcomes of campaigns that have no matrix, or an incomplete one.
const (
	Running     = "running"
	Killed      = "killed" // the campaign ended without a matrix
	Interrupted = "interrupted"
)

// Holding is one campaign in a store.
type Holding struct {
	Name    string    `json:"name"`
	Dir     string    `json:"dir"`
	Started time.Time `json:"started"`
	// Bytes is the total size of the campaign's files.
	Bytes  int64 `json:"bytes"`
	Trials int   `json:"trials"`
	// Outcome is the worst verdict of the campaign's cells, or Running, Killed or Interrupted.
	Outcome string `json:"outcome"`
}

// Inventory lists the campaigns of a store, newest first. It leaves out other directories. The
// error is an input.Error if root cannot be read or a campaign's file is broken.
func Inventory(root string) ([]Holding, error) {
	if _, err := os.ReadDir(root); err != nil {
		return nil, input.Errorf("%s %s: expected a directory with campaigns: %w", input.Setting("store"), root, errors.Unwrap(err))
	}
	found, err := campaigns(root)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if err := found[i].measure(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// campaigns finds the campaigns of a store, newest first, with names and times only.
func campaigns(root string) (found []Holding, err error) {
	dirs, err := below(root, "*/*")
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		info, err := LoadInfo(dir)
		if errors.Is(err, fs.ErrNotExist) { // another program may have removed it
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, Holding{Name: filepath.Base(filepath.Dir(dir)), Dir: dir, Started: info.Started})
	}
	slices.SortFunc(found, func(a, b Holding) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.Dir, a.Dir))
	})
	return found, nil
}

// measure sets Bytes, Trials and Outcome from the campaign's files.
func (h *Holding) measure() error {
	err := filepath.WalkDir(h.Dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			h.Bytes += info.Size()
		}
		return gone(err)
	})
	if err != nil {
		return fmt.Errorf("measure %s: %w", h.Dir, err)
	}
	var m Matrix
	err = packed.ReadJSON(filepath.Join(h.Dir, MatrixFile), &m)
	switch {
	case Over(h.Dir) != nil:
		h.Outcome = Running
	case errors.Is(err, fs.ErrNotExist):
		h.Outcome = Killed
	case err != nil:
		return err
	case m.Interrupted:
		h.Outcome = Interrupted
	default:
		h.Outcome = string(m.worst())
	}
	for _, c := range m.Cells {
		h.Trials += c.Trials
	}
	if h.Outcome != Running && h.Outcome != Killed {
		return nil
	}
	s, err := Load(h.Dir)
	if errors.Is(err, trial.ErrFormat) {
		return nil
	}
	h.Trials = len(s.Trials)
	return err
}

// gone returns err, or nil if a file is missing: a running campaign may have removed it.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// worst returns the worst verdict of the cells; trial.Unknown if there are no cells.
func (m Matrix) worst() trial.Outcome {
	ranked := []trial.Outcome{trial.Violated, trial.Blocked, trial.Unknown, trial.NotExercised, trial.Holds, trial.NotSupported}
	for _, o := range ranked {
		if slices.ContainsFunc(m.Cells, func(c Cell) bool { return c.Verdict == o }) {
			return o
		}
	}
	return trial.Unknown
}

// Remove removes a campaign from its store. The error is an input.Error if dir is not a campaign or
// the campaign is running. If latest pointed to the campaign, Remove points it to the newest
// remaining campaign, or removes it if none remains.
func Remove(dir string) error {
	if _, err := LoadInfo(dir); err != nil {
		return err
	}
	if err := Over(dir); err != nil {
		return err
	}
	dir, err := filepath.EvalSymlinks(dir) // "latest" is a link
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	parent := filepath.Dir(dir)
	_ = os.Remove(parent) // fails unless the directory is empty, as intended
	return relink(filepath.Dir(parent))
}

// relink points root/latest to the newest campaign if its target is gone. If no campaign remains,
// it removes the link.
func relink(root string) error {
	link := filepath.Join(root, Latest)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil // the directory is no store, or was moved out of one
	}
	if _, err := os.Stat(link); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	left, err := campaigns(root)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return os.Remove(link)
	}
	return pointLatest(root, left[0].Dir)
}

// Surplus returns, for each name, all campaigns except the newest n. It ignores running campaigns.
// The list must be sorted newest first.
func Surplus(all []Holding, n int) (some []Holding) {
	seen := map[string]int{}
	for _, h := range all { // newest first
		if h.Outcome == Running {
			continue
		}
		if seen[h.Name]++; seen[h.Name] > n {
			some = append(some, h)
		}
	}
	return some
}
