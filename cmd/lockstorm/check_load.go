package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// givenHistory is check's input: a trial stored by Lockstorm, or another program's
// record.
type givenHistory struct {
	record trial.Record
	// notes say what was assumed in reading it.
	notes []string
	// apart are the operations with each process as a client of its own, if processes
	// that are step apart were merged into one client by a guess; else nil.
	apart []history.Op
	step  int
	// silent are the oracles that cannot judge it, and why.
	silent map[string]checker.What
}

// jepsenFile is the history in the directory of a run of Jepsen's.
const jepsenFile = "history.edn"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loadHistory reads a trial's folder, a run of Jepsen's, or a history in a file of any format.
func loadHistory(path string, values jepsen.Values) (givenHistory, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && exists(filepath.Join(path, jepsenFile)) && !exists(filepath.Join(path, trial.HistoryFile)) {
		path = filepath.Join(path, jepsenFile)
	} else if err != nil || info.IsDir() {
		record, err := trial.LoadJudged(path)
		return givenHistory{record: record}, err
	}
	r, err := readHistory(path, values)
	if err != nil {
		return givenHistory{}, &input.Error{Err: err}
	}
	if !r.Foreign {
		record, err := trial.LoadJudged(path)
		return givenHistory{record: record, notes: r.Notes, silent: silent(r)}, err
	}
	if i := slices.IndexFunc(r.Ops, hasInstant); r.Untimed && i >= 0 {
		return givenHistory{}, input.Errorf("%s: entry %d has a deadline or an offset, which are instants and durations, and no entry has a time: expected times as well", path, r.Ops[i].Index)
	}
	if r.Truncated != nil {
		return givenHistory{}, input.Errorf("%w: expected a whole file, since clients or indices are missing too", r.Truncated)
	}
	return givenHistory{
		record: trial.Record{Evidence: history.Evidence{Ops: r.Ops}}, notes: r.Notes, silent: silent(r),
		apart: r.Apart, step: r.Step,
	}, nil
}

// hasInstant says whether an entry is meaningless unless all entries have times.
func hasInstant(op history.Op) bool {
	return op.Offset != 0 || op.Lease != nil && op.Lease.Deadline != 0
}

func readHistory(path string, values jepsen.Values) (r jepsen.Reading, err error) {
	file, err := os.Open(path)
	if err != nil {
		return r, fmt.Errorf("%s: expected a history file or a trial's folder: %w", path, errors.Unwrap(err))
	}
	defer file.Close()
	return jepsen.Read(file, path, values)
}

// silent says which oracles cannot judge a reading, and why.
func silent(r jepsen.Reading) map[string]checker.What {
	none := map[string]checker.What{}
	if r.Untimed {
		none["liveness"] = checker.HistoryUntimed
	}
	if r.Unordered {
		none["resource"] = checker.HistoryUnordered
	}
	return none
}

// standing says what vouches for the files.
func (h givenHistory) standing() trial.Standing { return cmp.Or(h.record.Standing, trial.Given) }

// withhold withdraws the verdicts of oracles that lack a basis.
func (h givenHistory) withhold(verdicts []checker.Verdict) {
	for i, v := range verdicts {
		if why, ok := h.silent[v.Oracle]; ok {
			verdicts[i] = checker.Judged(v.Oracle, checker.NotApplicable, checker.Fact{What: why})
		}
	}
}

// judge judges a history; if its clients are a guess, also with each process as a
// client of its own. A result violated or unknown in one reading only is unknown.
func (h givenHistory) judge(ctx context.Context, more ...func(context.Context, history.Evidence) checker.Verdict) (trial.Result, error) {
	result, err := trial.Judge(ctx, h.record, more...)
	if err != nil || h.apart == nil {
		return result, err
	}
	record := h.record
	record.Evidence.Ops = h.apart
	other, err := trial.Judge(ctx, record, more...)
	if err != nil {
		return result, err
	}
	for i, v := range result.Verdicts {
		fine := func(r checker.Result) bool { return r == checker.Held || r == checker.NotApplicable }
		if w := other.Verdicts[i]; v.Result != w.Result && !(fine(v.Result) && fine(w.Result)) {
			result.Verdicts[i] = checker.Judged(v.Oracle, checker.Unknown, checker.Fact{
				What: checker.ClientsGuessed, Count: h.step, Results: []checker.Result{v.Result, w.Result},
			})
		}
	}
	return result, nil
}

// warn prints the reading's notes and warnings on stderr.
func (a *app) warn(path string, h givenHistory) {
	for _, t := range h.record.Truncated {
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", t)
	}
	if h.record.Differs != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s: %v\n", path, h.record.Differs)
	}
	for _, n := range h.notes {
		fmt.Fprintf(a.stderr, "lockstorm: %s: %s\n", path, n)
	}
}
