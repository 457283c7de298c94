package campaign

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// autopsy makes a trial of what the worker that died second left in the task's
// folder: its history ends with how it died.
func autopsy(ctx context.Context, t task, first, second *death) (done, error) {
	broken, failure := agreed(first, second)
	e, err := left(t, broken)
	if err != nil {
		return done{Trial: Trial{Spec: t.Spec, Probe: t.Probe}, Died: true}, err
	}
	return conclude(ctx, t, e, failure, second.stderr)
}

// left is the evidence in the task's folder, with the end of its history.
func left(t task, broken *testbed.Breakdown) (history.Evidence, error) {
	var e history.Evidence
	if _, err := os.Stat(filepath.Join(t.Folder, HistoryFile)); err == nil {
		r, err := LoadRecord(t.Folder)
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
