package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/shell"
)

// Stored is a campaign as its directory holds it. One that was killed has the
// trials that it finished, and a matrix of these.
type Stored struct {
	Dir    string
	Info   Info
	Trials []Trial
	Matrix Matrix
	// Repeated counts the trials that were run once more, and did the same; only
	// a run tells.
	Repeated int
	// Truncated reports a last line of trials.jsonl that was cut off; nil if
	// it was whole.
	Truncated error
}

// Virtual is how long all trials were together, on their own clocks; 0 on
// testbeds on the machine's time.
func (s Stored) Virtual() (sum time.Duration) {
	for _, t := range s.Trials {
		sum += t.Virtual
	}
	return sum
}

// Report hands a stored campaign to a sink, as its run did: every trial, then the
// matrix.
func (s Stored) Report(ctx context.Context, newSink func(dir string) (Sink, error)) error {
	sink, err := newSink(s.Dir)
	if err != nil {
		return fmt.Errorf("open the reports: %w", err)
	}
	for _, t := range s.Trials {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.Dir != "" && len(t.Spec.Plan) == 0 {
			r, err := LoadRecord(filepath.Join(s.Dir, t.Dir))
			if err != nil {
				return err
			}
			t.Acquires = acquireTimes(r.Evidence)
		}
		if err := sink.Trial(ctx, t, history.Evidence{}); err != nil {
			return fmt.Errorf("report %s: %w", t.Dir, err)
		}
	}
	if err := s.Matrix.reportMinimals(ctx, s.Dir, sink); err != nil {
		return err
	}
	if err := sink.Done(ctx, s.Matrix); err != nil {
		return fmt.Errorf("report the campaign: %w", err)
	}
	return nil
}

// storeFormat is the number of what campaigns and trials store, as campaign.json and
// spec.json name it. Those without one have no keys.jsonl.
const storeFormat = 2

// ErrOlder says that what is stored cannot be judged as this version judges.
var ErrOlder = errors.New("stored by an older version, which kept no key changes")

// older refuses a directory; the command runs again what it holds.
func older(dir, command string) error {
	return Inputf("%s: %w: run it again with %s", dir, ErrOlder, command)
}

// ErrNewer says that this version cannot read what is stored.
var ErrNewer = errors.New("stored by a newer version")

// newer refuses a file of a format that is not known yet.
func newer(path string, format int) error {
	return Inputf("%s: %w, in format %d: this one reads up to %d", path, ErrNewer, format, storeFormat)
}

// storedSpec is spec.json: with the claims beside it, a history is judged again
// as it was, even if its recipe has changed or gone.
type storedSpec struct {
	Spec
	// Format is storeFormat of the version that wrote it.
	Format int `json:"format,omitempty"`
	// Watched: there is a log of key changes beside it.
	Watched bool           `json:"watched,omitempty"`
	Claims  history.Claims `json:"claims"`
}

// Load reads a campaign back from its directory. Errors are InputErrors that
// name the file, or ErrOlder.
func Load(dir string) (Stored, error) {
	s := Stored{Dir: dir}
	var err error
	if s.Info, err = LoadInfo(dir); err != nil {
		return s, err
	}
	if s.Info.Format > storeFormat {
		return s, newer(filepath.Join(dir, CampaignFile), s.Info.Format)
	}
	if s.Info.Format < storeFormat && s.Info.Versions != (Versions{}) { // which every run writes
		return s, older(dir, s.Info.Command)
	}
	path := filepath.Join(dir, TrialsFile)
	f, err := os.Open(path)
	if err != nil {
		return s, Inputf("%s: %w", path, err)
	}
	defer f.Close()
	if s.Trials, s.Truncated, err = readTrials(f, path); err != nil {
		return s, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // not "latest", which moves on
	}
	s.Matrix = fold(s.Info, dir, s.Trials)
	s.Matrix.withMinimals(dir)
	return s, nil
}

// LoadInfo reads what a campaign's directory says of it. Errors are InputErrors.
func LoadInfo(dir string) (info Info, err error) {
	err = readJSON(filepath.Join(dir, CampaignFile), &info)
	if errors.Is(err, fs.ErrNotExist) {
		err = Inputf("%s: expected the directory of a stored campaign, with %s in it", dir, CampaignFile)
	}
	return info, err
}

// CampaignOf is the directory of the campaign that a stored trial's folder is in.
func CampaignOf(folder string) string {
	if path, err := filepath.Abs(folder); err == nil {
		folder = path
	}
	for range folderDepth {
		folder = filepath.Dir(folder)
	}
	return folder
}

// readTrials decodes trials.jsonl; a last line that was cut short is left out.
func readTrials(r io.Reader, name string) (trials []Trial, truncated error, err error) {
	truncated, err = history.ReadLines(r, name, func(t Trial) error {
		trials = append(trials, t)
		return nil
	})
	if err != nil {
		return nil, nil, &InputError{err}
	}
	return trials, truncated, nil
}

// Record is one stored history with all that there is to judge it by.
type Record struct {
	Evidence history.Evidence
	// Spec is nil if no spec.json lies beside the history.
	Spec *Spec
	// Truncated reports files whose last line was cut off.
	Truncated []error
	// Standing says what vouches for the files, if LoadJudged read them.
	Standing Standing
	// Differs says why nothing does, though a run recorded them; else nil.
	Differs error

	historyCut, commandsCut, keysCut bool
	keysGone                         bool // the file, which spec.json tells of
	older                            bool // another version stored it, see storeFormat
}

// LoadRecord reads a history and, from the files beside it if they are there,
// its commands, what became of the nodes' keys, its spec and its claims. The path is a history file or a
// trial's folder. Errors are InputErrors that name the file and the line.
func LoadRecord(path string) (Record, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, HistoryFile)
	}
	var r Record
	f, err := os.Open(path)
	if err != nil {
		return r, Inputf("%s: expected a history file (JSON Lines) or a trial's folder: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	ops, truncated, err := history.ReadOps(f, path)
	if err != nil {
		return r, &InputError{err}
	}
	r.Evidence.Ops = ops
	r.historyCut = r.truncated(truncated)
	if err := r.loadCommands(filepath.Join(filepath.Dir(path), CommandsFile)); err != nil {
		return r, err
	}
	if err := r.loadKeys(filepath.Join(filepath.Dir(path), KeysFile)); err != nil {
		return r, err
	}
	var s storedSpec
	err = readJSON(filepath.Join(filepath.Dir(path), SpecFile), &s)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, err
	case s.Format > storeFormat:
		return r, newer(filepath.Join(filepath.Dir(path), SpecFile), s.Format)
	default:
		r.Spec, r.Evidence.Claims = &s.Spec, s.Claims
		r.keysGone = s.Watched && !r.Evidence.Watched
		// A spec that names no testbed was written for a history that no run recorded.
		r.older = s.Format < storeFormat && s.Testbed != ""
	}
	return r, nil
}

// truncated notes that a file was cut short, if it was.
func (r *Record) truncated(err error) bool {
	if err != nil {
		r.Truncated = append(r.Truncated, err)
	}
	return err != nil
}

// LoadJudged is LoadRecord, and compares the files, and what the lock promised, with
// what was judged when the trial was run. It refuses, as ErrOlder, what an older version stored.
func LoadJudged(path string) (Record, error) {
	r, err := LoadRecord(path)
	if err != nil {
		return r, err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	if r.older {
		return r, older(path, shell.Join("lockstorm", "replay", path))
	}
	r.vouch(path)
	return r, nil
}

// loadCommands reads the command log, if there is one.
func (r *Record) loadCommands(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Inputf("%s: %w", path, err)
	}
	defer f.Close()
	cmds, truncated, err := history.ReadCommands(f, path)
	if err != nil {
		return &InputError{err}
	}
	r.Evidence.Commands = cmds
	r.commandsCut = r.truncated(truncated)
	return nil
}

// loadKeys reads the log of key changes, if there is one: then keys were watched.
func (r *Record) loadKeys(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Inputf("%s: %w", path, err)
	}
	defer f.Close()
	changes, truncated, err := history.ReadKeyChanges(f, path)
	if err != nil {
		return &InputError{err}
	}
	r.Evidence.Keys, r.Evidence.Watched = changes, true
	r.keysCut = r.truncated(truncated)
	return nil
}

// readJSON decodes a file; the error names it.
func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return Inputf("%s: %w", path, errors.Unwrap(err))
	}
	if err := json.Unmarshal(data, v); err != nil {
		return Inputf("%s: %w", path, err)
	}
	return nil
}
