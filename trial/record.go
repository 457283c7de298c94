package trial

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
)

// Format is the format number of stored campaigns and trials, in campaign.json and
// spec.json. This version reads no other format.
const Format = 3

// ErrFormat says that a file has another format than Format.
var ErrFormat = errors.New("stored by another version of Lockstorm")

// OtherFormat returns the error for a file of another format, in one line.
func OtherFormat(path string, format int) error {
	return input.Errorf("%s: %w, in format %d: this one reads format %d only", path, ErrFormat, format, Format)
}

// storedSpec is spec.json. It includes the claims, so that a stored history can be judged again
// even if its recipe has changed or is gone.
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
	// Standing says how far the files can be trusted. Only LoadJudged and LoadJudgedOps set it.
	Standing Standing
	// Differs says why the files that a run recorded are not vouched for; else nil.
	Differs error

	hash                             string // of the evidence; "" = not computed
	historyCut, commandsCut, keysCut bool
	keysGone                         bool // keys.jsonl is missing although spec.json promises it
}

// LoadRecord reads a history and, from the files next to it, its commands, key changes, spec and
// claims, as far as they exist, compressed or not. The path is a history file or a trial's folder.
// Errors are input.Errors that name the file and the line, or wrap ErrFormat.
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

// loadBeside completes a history with the files next to it. cut is ReadOps's error about a last
// line that was cut off; nil = none was.
func loadBeside(path string, ops []history.Op, cut error) (r Record, err error) {
	r.Evidence.Ops = ops
	r.historyCut = r.truncated(cut)
	dir := filepath.Dir(path)
	if r.Evidence.Commands, r.commandsCut, _, err = load(&r, filepath.Join(dir, CommandsFile), history.ReadCommands); err != nil {
		return r, err
	}
	// A log of key changes, even an empty one, means that the keys were watched.
	if r.Evidence.Keys, r.keysCut, r.Evidence.Watched, err = load(&r, filepath.Join(dir, KeysFile), history.ReadKeyChanges); err != nil {
		return r, err
	}
	var s storedSpec
	err = packed.ReadJSON(filepath.Join(dir, SpecFile), &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, err
	// A spec without a format is accepted only if it names no testbed: such a spec was written by hand,
	// for a history that no run recorded.
	case s.Format != Format && (s.Format != 0 || s.Testbed != ""):
		return r, OtherFormat(filepath.Join(dir, SpecFile), s.Format)
	default:
		r.Spec, r.Evidence.Claims = &s.Spec, s.Claims
		r.keysGone = s.Watched && !r.Evidence.Watched
	}
	return r, nil
}

// truncated notes and reports whether a file was cut short; err says where.
func (r *Record) truncated(err error) bool {
	if err != nil {
		r.Truncated = append(r.Truncated, err)
	}
	return err != nil
}

// LoadJudged is like LoadRecord, and compares the files and the claims with what the run
// judged.
func LoadJudged(path string) (Record, error) {
	r, err := LoadRecord(path)
	if err != nil {
		return r, err
	}
	return r.judged(path), nil
}

// LoadJudgedOps is LoadJudged for a history file that the caller has read: ops and cut are the
// entries and the error about a cut line, as history.ReadOps returns them.
func LoadJudgedOps(path string, ops []history.Op, cut error) (Record, error) {
	r, err := loadBeside(path, ops, cut)
	if err != nil {
		return r, err
	}
	return r.judged(path), nil
}

// judged returns the record after comparing its evidence with what the run judged.
func (r Record) judged(path string) Record {
	if info, err := os.Stat(packed.Find(path)); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	r.vouch(path)
	return r
}

// load reads a log beside the history; found says whether the log exists.
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
