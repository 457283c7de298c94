package trial

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/jsonfile"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/shell"
)

// Format is the format number of stored campaigns and trials, in campaign.json and
// spec.json. Stores without a number have no keys.jsonl.
const Format = 2

// ErrOlder says that an older version stored the files, without the key changes that
// judging needs.
var ErrOlder = errors.New("stored by an older version, which kept no key changes")

// Older returns the error for a directory of an older version; command runs its trials
// again.
func Older(dir, command string) error {
	return input.Errorf("%s: %w: run it again with %s", dir, ErrOlder, command)
}

// ErrNewer says that this version cannot read what is stored.
var ErrNewer = errors.New("stored by a newer version")

// Newer returns the error for a file of a later format.
func Newer(path string, format int) error {
	return input.Errorf("%s: %w, in format %d: this one reads up to %d", path, ErrNewer, format, Format)
}

// storedSpec is spec.json. It includes the claims, so that a history is judged as
// before even if its recipe has changed or gone.
type storedSpec struct {
	Spec
	// Format is the constant Format of the version that wrote the file.
	Format int `json:"format,omitempty"`
	// Watched: keys.jsonl, the log of key changes, lies beside the file.
	Watched bool           `json:"watched,omitempty"`
	Claims  history.Claims `json:"claims"`
}

// Record is one stored history with everything needed to judge it.
type Record struct {
	Evidence history.Evidence
	// Spec is nil if no spec.json lies beside the history.
	Spec *Spec
	// Truncated reports files whose last line was cut off.
	Truncated []error
	// Standing says how far the files can be trusted. Only LoadJudged sets it.
	Standing Standing
	// Differs says why the files of a run are not vouched for; else nil.
	Differs error

	hash                             string // of the evidence; "" if it is not known
	historyCut, commandsCut, keysCut bool
	keysGone                         bool // keys.jsonl is missing although spec.json promises it
	older                            bool // another version stored it, see Format
}

// LoadRecord reads a history and, from the files next to it, its commands, key changes,
// spec and claims, if they exist, compressed or not. The path is a history file or a trial's
// folder.
// Errors are input.Errors that name the file and the line.
func LoadRecord(path string) (Record, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, HistoryFile)
	}
	var r Record
	f, err := packed.Open(path)
	if err != nil {
		return r, input.Errorf("%s: expected a history file (JSON Lines) or a trial's folder: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	ops, truncated, err := history.ReadOps(f, f.Name)
	if err != nil {
		return r, &input.Error{Err: err}
	}
	return loadBeside(path, ops, truncated)
}

// loadBeside completes a history with the files next to it. cut is a history that was cut short
// as ReadOps reports it.
func loadBeside(path string, ops []history.Op, cut error) (r Record, err error) {
	r.Evidence.Ops = ops
	r.historyCut = r.truncated(cut)
	dir := filepath.Dir(path)
	if r.Evidence.Commands, r.commandsCut, _, err = load(&r, filepath.Join(dir, CommandsFile), history.ReadCommands); err != nil {
		return r, err
	}
	// A log of keys, even an empty one, means that they were watched.
	if r.Evidence.Keys, r.keysCut, r.Evidence.Watched, err = load(&r, filepath.Join(dir, KeysFile), history.ReadKeyChanges); err != nil {
		return r, err
	}
	var s storedSpec
	err = jsonfile.Read(filepath.Join(dir, SpecFile), &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, err
	case s.Format > Format:
		return r, Newer(filepath.Join(dir, SpecFile), s.Format)
	default:
		r.Spec, r.Evidence.Claims = &s.Spec, s.Claims
		r.keysGone = s.Watched && !r.Evidence.Watched
		// A spec that names no testbed was written for a history that no run recorded.
		r.older = s.Format < Format && s.Testbed != ""
	}
	return r, nil
}

// truncated notes whether a file was cut short.
func (r *Record) truncated(err error) bool {
	if err != nil {
		r.Truncated = append(r.Truncated, err)
	}
	return err != nil
}

// LoadJudged is like LoadRecord, and compares the files and the claims with what the run
// judged. It refuses older stores with ErrOlder.
func LoadJudged(path string) (Record, error) {
	r, err := LoadRecord(path)
	if err != nil {
		return r, err
	}
	return r.judged(path)
}

// LoadJudgedOps is LoadJudged for a history file whose entries history.ReadOps would return, and
// which were read already; cut is what it would return as truncated.
func LoadJudgedOps(path string, ops []history.Op, cut error) (Record, error) {
	r, err := loadBeside(path, ops, cut)
	if err != nil {
		return r, err
	}
	return r.judged(path)
}

// judged compares the record with what the run judged.
func (r Record) judged(path string) (Record, error) {
	if info, err := os.Stat(packed.Find(path)); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	if r.older {
		return r, Older(path, shell.Join("lockstorm", "replay", path))
	}
	r.vouch(path)
	return r, nil
}

// load reads a log beside the history, if there is one, and reports whether there is.
func load[T any](r *Record, path string, read func(io.Reader, string) ([]T, error, error)) (all []T, cut, found bool, err error) {
	f, err := packed.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, false, nil
	}
	if err != nil {
		return nil, false, false, input.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	all, truncated, err := read(f, f.Name)
	if err != nil {
		return nil, false, false, &input.Error{Err: err}
	}
	return all, r.truncated(truncated), true, nil
}
