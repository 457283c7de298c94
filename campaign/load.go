package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// Stored is a campaign as stored in its directory. If the campaign was killed, Trials has the
// finished trials, and Matrix covers only these.
type Stored struct {
	Dir    string
	Info   Info
	Trials []trial.Result
	Matrix Matrix
	// Reproduced counts the sampled trials that gave the same history when they were repeated. Only
	// Run sets it.
	Reproduced int
	// Truncated is not nil if the list of trials has no end mark: the campaign was killed, is
	// running, or its file was cut short.
	Truncated error
}

// Virtual is the total duration of all trials on virtual time; 0 on testbeds on real
// time.
func (s Stored) Virtual() (sum time.Duration) {
	for _, t := range s.Trials {
		sum += t.Virtual
	}
	if f := s.Info.Further; f != nil {
		sum += f.Virtual
	}
	return sum
}

// Ran returns the number of trials that ran, stored or only counted.
func (s Stored) Ran() int { return len(s.Trials) + s.Info.Further.tallied() }

// StallWords says, in a sentence without a full stop, in how many trials the machine stalled for so long
// that violations may be its fault; "" if in none.
func (s Stored) StallWords() string {
	var n int
	var longest time.Duration
	for _, t := range s.Trials {
		if t.Stall > 0 {
			n, longest = n+1, max(longest, t.Stall)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("the machine stalled in %d of %d %s, longest %.1f ms; their doubtful violations do not count",
		n, s.Ran(), wording.Plural(s.Ran(), "trial"), float64(longest)/float64(time.Millisecond))
}

// Report hands a stored campaign to a new sink, as Run does: every trial, then the minimal trials,
// then the matrix.
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
			r, err := trial.LoadRecord(filepath.Join(s.Dir, t.Dir))
			if err != nil {
				return err
			}
			t.Acquires = trial.AcquireTimes(r.Evidence)
		}
		if err := sink.Trial(ctx, t); err != nil {
			return fmt.Errorf("report %s: %w", t.Dir, err)
		}
	}
	if err := sink.Done(ctx, s); err != nil {
		return fmt.Errorf("report the campaign: %w", err)
	}
	return nil
}

// Load reads a campaign back from its directory. Every error is an input.Error that names the file or the
// directory. It wraps trial.ErrFormat if the campaign has another version's format.
func Load(dir string) (Stored, error) {
	s := Stored{Dir: dir}
	var err error
	s.Info, err = LoadInfo(dir)
	// The format comes before the error: fields of another version may have another type. No versions: not a
	// campaign's file.
	if s.Info.Format != trial.Format && s.Info.Versions.Lockstorm != "" {
		return s, trial.OtherFormat(filepath.Join(dir, CampaignFile), s.Info.Format)
	}
	if err != nil {
		return s, err
	}
	path := filepath.Join(dir, trial.ResultsFile)
	f, err := packed.Open(path)
	if err != nil {
		return s, input.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if s.Trials, s.Truncated, err = readTrials(f, f.Name); err != nil {
		return s, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // not "latest", whose target may change
	}
	s.Matrix = fold(s.Info, dir, s.Trials)
	s.Matrix.withMinimals(dir)
	return s, nil
}

// LoadInfo reads campaign.json from a directory. Errors are input.Errors.
func LoadInfo(dir string) (info Info, err error) {
	err = packed.ReadJSON(filepath.Join(dir, CampaignFile), &info)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if _, lerr := os.Stat(filepath.Join(dir, Latest, CampaignFile)); lerr == nil {
			hint = ": the last one of this store is " + filepath.Join(dir, Latest)
		}
		err = input.Errorf("%s: expected the directory of a stored campaign, with %s in it%s", dir, CampaignFile, hint)
	}
	return info, err
}

// CampaignOf returns the directory of the campaign that a trial's folder belongs to.
func CampaignOf(folder string) string {
	if path, err := filepath.Abs(folder); err == nil {
		folder = path
	}
	for range trial.FolderDepth {
		folder = filepath.Dir(folder)
	}
	return folder
}

// readTrials decodes trials.jsonl. It leaves out a last line that was cut short.
func readTrials(r io.Reader, name string) (trials []trial.Result, truncated error, err error) {
	truncated, err = history.ReadLines(r, name, func(t trial.Result) error {
		trials = append(trials, t)
		return nil
	})
	if err != nil {
		return nil, nil, &input.Error{Err: err}
	}
	return trials, truncated, nil
}
