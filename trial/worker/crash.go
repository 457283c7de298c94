package worker

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// afterCrash makes an outcome from the evidence in the task's folder, which the second worker left
// when it died. A streamed task runs only once: then first and second are the same death. If both
// deaths show the same breakdown, the history ends with it.
func afterCrash(ctx context.Context, t trial.Task, first, second *crash.Death) (trial.Done, error) {
	broken, failure := crash.Agreed(first, second)
	e, err := left(t, broken)
	if err != nil {
		return trial.Done{Trial: trial.Result{Spec: t.Spec, Probe: t.Probe}, Died: true}, err
	}
	d, err := trial.Conclude(ctx, t, e, failure, second.Stderr)
	d.RaceReport = crash.Races(second.Stderr)
	return d, err
}

// left returns the evidence in the task's folder, with the breakdown, if any, as the last entry.
func left(t trial.Task, broken *testbed.Breakdown) (history.Evidence, error) {
	var e history.Evidence
	if _, err := os.Stat(filepath.Join(t.Folder, trial.HistoryFile)); err == nil {
		r, err := trial.LoadRecord(t.Folder)
		if err != nil {
			return e, err
		}
		e = r.Evidence
	}
	if broken != nil {
		op := broken.Event()
		op.Index, op.Type = len(e.Ops), history.Info
		if op.Index > 0 {
			op.Time = e.Ops[op.Index-1].Time
		}
		e.Ops = append(e.Ops, op)
	}
	return e, nil
}
