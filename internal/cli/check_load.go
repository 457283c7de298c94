package cli

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
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// givenHistory is check's input: a trial stored by Lockstorm, or another program's
// record.
type givenHistory struct {
	record trial.Record
	// notes list the assumptions made in reading the history.
	notes []string
	// apart is set if reading guessed that processes whose numbers are step apart are one
	// client: the operations with each process as a client of its own.
	apart []history.Op
	step  int
	// silent maps each oracle that cannot judge the history to the reason.
	silent map[string]checker.What
	// log is set instead of the record's evidence if the file has holds, or completions
	// without invocations.
	log *applog.Log
	// lines has the line of the file for each entry of the evidence. limits says what the
	// log cannot show. Both are set only if log is.
	lines  []int
	limits string
}

// jepsenFile is the name of the history in a Jepsen run's directory.
const jepsenFile = "history.edn"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// loadHistory reads a trial's folder, a Jepsen run's directory, or a history file of any
// format.
func loadHistory(path string, values jepsen.Values) (givenHistory, error) {
	info, err := os.Stat(packed.Find(path))
	if err == nil && info.IsDir() && exists(filepath.Join(path, jepsenFile)) && !exists(packed.Find(filepath.Join(path, trial.HistoryFile))) {
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
		record, err := trial.LoadJudgedOps(path, r.Ops, r.Truncated)
		return givenHistory{record: record, notes: r.Notes, silent: silent(r)}, err
	}
	if r.Log != nil {
		return givenHistory{notes: r.Notes, log: r.Log}, nil
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

// hasInstant says whether an entry contains a point in time, which means nothing if entries
// lack times.
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

// silent returns the oracles that cannot judge the history that was read, with the reasons.
func silent(r jepsen.Reading) map[string]checker.What {
	none := map[string]checker.What{}
	for _, o := range checker.Oracles() {
		switch {
		case r.Untimed && o.NeedsTimes:
			none[o.Name] = checker.HistoryUntimed
		case r.Unordered && o.NeedsOrder:
			none[o.Name] = checker.HistoryUnordered
		}
	}
	return none
}

// standing returns how far the files can be trusted.
func (h givenHistory) standing() trial.Standing { return cmp.Or(h.record.Standing, trial.Given) }

// withhold replaces the verdicts of the oracles in silent by "not applicable".
func (h givenHistory) withhold(verdicts []checker.Verdict) {
	for i, v := range verdicts {
		if why, ok := h.silent[v.Oracle]; ok {
			verdicts[i] = checker.Judged(v.Oracle, checker.NotApplicable, checker.Fact{What: why})
		}
	}
}

// judge judges a history. If its clients are a guess, judge also tries each process as a
// client of its own: a result that is violated or unknown in only one of the two readings
// is unknown.
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

// warn prints notes and warnings about reading the history on stderr.
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
