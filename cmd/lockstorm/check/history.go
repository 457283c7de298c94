package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// History is a history to judge: a trial stored by Lockstorm, or another program's record.
type History struct {
	Record trial.Record
	// Notes list the assumptions made in reading the history.
	Notes []string
	// silent maps each oracle that cannot judge the history to the reason.
	silent map[string]account.What
	// Log is set instead of Record's evidence if the file is a log of holds.
	Log *applog.Log
}

// jepsenFile is the name of the history in a Jepsen run's directory.
const jepsenFile = "history.edn"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Load reads a trial's folder, a Jepsen run's directory, or a history file of any
// format.
func Load(path string, values jepsen.Values) (History, error) {
	info, err := os.Stat(packed.Find(path))
	if err == nil && info.IsDir() && exists(filepath.Join(path, jepsenFile)) && !exists(packed.Find(filepath.Join(path, trial.HistoryFile))) {
		path = filepath.Join(path, jepsenFile)
	} else if err != nil || info.IsDir() {
		record, err := trial.LoadJudged(path)
		return History{Record: record}, err
	}
	r, err := readHistory(path, values)
	if err != nil {
		return History{}, &input.Error{Err: err}
	}
	if r.Log != nil {
		return History{Log: r.Log}, nil
	}
	if !r.Foreign {
		record, err := trial.LoadJudgedOps(path, r.Ops, r.Truncated)
		return History{Record: record, Notes: r.Notes, silent: silent(r)}, err
	}
	if i := slices.IndexFunc(r.Ops, hasInstant); r.Untimed && i >= 0 {
		return History{}, input.Errorf("%s: entry %d has a deadline or an offset, which are instants and durations, and no entry has a time: expected times as well", path, r.Ops[i].Index)
	}
	if r.Truncated != nil {
		return History{}, input.Errorf("%w: expected a whole file, since clients or indices are missing too", r.Truncated)
	}
	return History{Record: trial.Record{Evidence: history.Evidence{Ops: r.Ops}}, Notes: r.Notes, silent: silent(r)}, nil
}

// hasInstant reports whether an entry contains an instant or a duration. Instants and durations
// have no meaning if entries lack times.
func hasInstant(op history.Op) bool {
	return op.Offset != 0 || op.Lease != nil && op.Lease.Deadline != 0
}

func readHistory(path string, values jepsen.Values) (r jepsen.Reading, err error) {
	file, err := packed.Open(path)
	if err != nil {
		return r, fmt.Errorf("%s: expected a history file or a trial's folder: %w", path, errors.Unwrap(err))
	}
	defer file.Close()
	return jepsen.Read(file, file.Name, values)
}

// silent returns the oracles that cannot judge the history, each with the reason.
func silent(r jepsen.Reading) map[string]account.What {
	none := map[string]account.What{}
	for _, o := range checker.Oracles() {
		if r.Untimed && o.NeedsTimes {
			none[o.Name] = account.HistoryUntimed
		}
		if r.Unordered && o.NeedsOrder {
			none[o.Name] = account.HistoryUnordered
		}
	}
	return none
}

// Standing returns how far the history's files can be trusted.
func (h History) Standing() trial.Standing { return cmp.Or(h.Record.Standing, trial.Given) }

// withhold replaces the verdicts of the oracles in silent with "not applicable".
func (h History) withhold(verdicts []checker.Verdict) {
	for i, v := range verdicts {
		if why, ok := h.silent[v.Oracle]; ok {
			verdicts[i] = checker.Judged(v.Oracle, checker.NotApplicable, account.Fact{What: why})
		}
	}
}

// Judge is a function that returns an oracle's verdict on a history.
type Judge = func(context.Context, history.Evidence) checker.Verdict

// Judge judges the history by every oracle, and by the functions in more.
func (h History) Judge(ctx context.Context, more ...Judge) (trial.Result, error) {
	result, err := trial.Judge(ctx, h.Record, more...)
	if err != nil {
		return result, err
	}
	h.withhold(result.Verdicts)
	return result, nil
}
