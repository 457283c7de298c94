package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// Names of files in a campaign's directory.
const (
	CampaignFile = "campaign.json"
	MatrixFile   = "matrix.json"
)

// Latest is the symbolic link, in the root of a store, to its newest campaign.
const Latest = "latest"

// store is the directory of one campaign.
type store struct {
	root   string
	dir    string
	trials *os.File // trials.jsonl
}

// createStore makes root/name/<time>; publish points root/latest to it. It never
// touches existing files: a second campaign within one second gets a number.
func createStore(root, name string, now time.Time) (*store, error) {
	parent := filepath.Join(root, name)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, input.Errorf("--store %s: expected a directory that can be written: %w", root, err)
	}
	stamp := now.UTC().Format("20060102T150405Z")
	dir := filepath.Join(parent, stamp)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, input.Errorf("--store %s: expected a directory that can be written: %w", root, err)
		}
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", stamp, n))
	}
	if err := replaceable(root); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	f, err := os.OpenFile(filepath.Join(dir, trial.ResultsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, input.Errorf("--store %s: %w", root, err)
	}
	// The lock says that the campaign is running, until this program ends in any way.
	// Where files cannot be locked, nobody will take the campaign for dead.
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return &store{root: root, dir: dir, trials: f}, nil
}

// Over is nil if the campaign in that directory has ended, in whatever way. The error
// is an input.Error.
func Over(dir string) error {
	path := filepath.Join(dir, trial.ResultsFile)
	f, err := os.Open(path)
	if err != nil {
		return input.Errorf("%s: expected the directory of a stored campaign: %w", dir, errors.Unwrap(err))
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return input.Errorf("%s: the campaign is running", dir)
	case err != nil:
		return input.Errorf("%s: it cannot be told whether the campaign is running: %w", dir, err)
	}
	return nil
}

// publish points latest to the campaign, which now has something to show.
func (s *store) publish() error { return pointLatest(s.root, s.dir) }

// discard removes a campaign that tested nothing.
func (s *store) discard() error { return os.RemoveAll(s.dir) }

// replaceable is nil if root/latest is a link or does not exist.
func replaceable(root string) error {
	link := filepath.Join(root, Latest)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return input.Errorf("--store %s: %s is not a symbolic link: move it away", root, link)
	}
	return nil
}

// pointLatest atomically makes root/latest a relative link to dir. It leaves anything
// else of that name alone.
func pointLatest(root, dir string) error {
	if err := replaceable(root); err != nil {
		return err
	}
	link := filepath.Join(root, Latest)
	target, err := filepath.Rel(root, dir)
	if err != nil {
		return input.Errorf("--store %s: %w", root, err)
	}
	// Two campaigns may start at once: each link first has a name of its own.
	temporary := filepath.Join(dir, "."+Latest)
	if err := os.Symlink(target, temporary); err != nil {
		return input.Errorf("--store %s: %w", root, err)
	}
	if err := os.Rename(temporary, link); err != nil {
		return input.Errorf("--store %s: %w", root, err)
	}
	return nil
}

// add appends a line to trials.jsonl.
func (s *store) add(t trial.Result) error {
	line, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode trial: %w", err)
	}
	if _, err := s.trials.Write(append(line, '\n')); err != nil {
		return err
	}
	return nil
}

func (s *store) close() error { return s.trials.Close() }
