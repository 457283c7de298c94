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
	"github.com/lockstorm/lockstorm/internal/packed"
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
	trials *os.File // trials.jsonl.zst
	lines  *packed.Appender
	// batched: lines may wait for others before they are written. A kill then loses the last ones.
	batched bool
	sealed  bool // nothing more is appended
}

// createStore makes root/name/<time>; publish points root/latest to it. createStore never touches
// existing files: a second campaign within one second gets a number.
func createStore(root, name string, now time.Time) (*store, error) {
	parent := filepath.Join(root, name)
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, input.Errorf("%s %s: expected a directory that can be written: %w", input.Setting("store"), root, err)
	}
	stamp := now.UTC().Format("20060102T150405Z")
	dir := filepath.Join(parent, stamp)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, input.Errorf("%s %s: expected a directory that can be written: %w", input.Setting("store"), root, err)
		}
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", stamp, n))
	}
	if err := replaceable(root); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	f, err := os.OpenFile(filepath.Join(dir, trial.ResultsFile)+packed.Suffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, input.Errorf("%s %s: %w", input.Setting("store"), root, err)
	}
	// The file lock marks the campaign as running until close, or until this program ends in whatever
	// way. On a file system without locks, Over cannot tell.
	for range 100 { // an Over may look just now
		if !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return &store{root: root, dir: dir, trials: f, lines: packed.NewAppender(f)}, nil
}

// Over returns nil if the campaign in dir has ended, in whatever way, else an input.Error.
func Over(dir string) error {
	f, err := os.Open(packed.Find(filepath.Join(dir, trial.ResultsFile)))
	if err != nil {
		return input.Errorf("%s: expected the directory of a stored campaign: %w", dir, errors.Unwrap(err))
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) // shared: another Over is no campaign
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return input.Errorf("%s: the campaign is running", dir)
	case err != nil:
		return input.Errorf("%s: check whether the campaign is running: %w", dir, err)
	}
	return nil
}

// publish points latest to the campaign.
func (s *store) publish() error { return pointLatest(s.root, s.dir) }

// discard removes the campaign's directory.
func (s *store) discard() error { return os.RemoveAll(s.dir) }

// replaceable returns an input.Error if root/latest exists and is not a symbolic link.
func replaceable(root string) error {
	link := filepath.Join(root, Latest)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return input.Errorf("%s %s: %s is not a symbolic link: move it away", input.Setting("store"), root, link)
	}
	return nil
}

// pointLatest atomically makes root/latest a relative link to dir. It replaces only a symbolic
// link.
func pointLatest(root, dir string) error {
	if err := replaceable(root); err != nil {
		return err
	}
	link := filepath.Join(root, Latest)
	target, err := filepath.Rel(root, dir)
	if err != nil {
		return input.Errorf("%s %s: %w", input.Setting("store"), root, err)
	}
	// Two campaigns may start at once: each first makes its link under a name of its own.
	temporary := filepath.Join(dir, "."+Latest)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // a killed program left it
		return input.Errorf("%s %s: %w", input.Setting("store"), root, err)
	}
	if err := os.Symlink(target, temporary); err != nil {
		return input.Errorf("%s %s: %w", input.Setting("store"), root, err)
	}
	if err := os.Rename(temporary, link); err != nil {
		return input.Errorf("%s %s: %w", input.Setting("store"), root, err)
	}
	return nil
}

// add appends a line to trials.jsonl. A kill cuts off the line that is being written. If lines are
// batched, it also loses those that still wait.
func (s *store) add(t trial.Result) error {
	line, err := json.Marshal(t.Brief())
	if err != nil {
		return fmt.Errorf("encode trial: %w", err)
	}
	write := s.lines.Append
	if s.batched {
		write = s.lines.Buffer
	}
	if err := write(append(line, '\n')); err != nil {
		s.sealed = true // leave the list without an end mark: it lacks this line
		return err
	}
	return nil
}

// flush writes the lines that still wait. Whoever stores counts of trials must flush first: otherwise,
// after a kill, the counts would include trials that the list lacks.
func (s *store) flush() error {
	if s.sealed {
		return nil
	}
	return s.lines.Flush()
}

// seal marks the end of trials.jsonl: the file has every trial. The campaign still counts as
// running until close.
func (s *store) seal() error {
	if s.sealed {
		return nil
	}
	s.sealed = true
	return s.lines.Close()
}

// close ends the campaign: it no longer counts as running.
func (s *store) close() error { return errors.Join(s.seal(), s.trials.Close()) }
