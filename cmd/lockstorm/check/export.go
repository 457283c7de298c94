package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/jepsen"
	"github.com/lockstorm/lockstorm/internal/input"
)

// exports are functions that write a history, by the name of the format.
var exports = map[string]func(io.Writer, history.Evidence) error{
	"edn": func(w io.Writer, e history.Evidence) error { return jepsen.Write(w, e.Ops) },
	"jsonl": func(w io.Writer, e history.Evidence) error {
		var line []byte
		for i := range e.Ops {
			line = append(e.Ops[i].AppendJSON(line[:0]), '\n')
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	},
	"knossos": writeKnossos,
}

// ExportNames returns the formats of Export.
func ExportNames() []string { return slices.Sorted(maps.Keys(exports)) }

// Export writes the history in a format of ExportNames.
func Export(w io.Writer, format string, e history.Evidence) error {
	write := exports[format]
	if write == nil {
		return fmt.Errorf("unknown format %q", format)
	}
	return write(w, e)
}

// writeKnossos writes the believed holds as operations of Knossos's mutex. For each hold, an acquire
// returns when the hold begins, and a release runs when the hold ends, whatever ends it. Such a
// history is linearizable if and only if no two holds overlap: the oracle exclusion checks the same.
// Knossos has no other way to express a hold that ends by a deadline or a crash.
func writeKnossos(w io.Writer, e history.Evidence) error {
	if e.Claims.ReadWrite || e.Claims.Permits > 1 {
		return input.Errorf("%s knossos: Knossos has a model of a mutex only, expected a lock with one owner at a time", input.Setting("export"))
	}
	holds, err := checker.Holds(e)
	if err != nil {
		return input.Errorf("%s knossos: %w", input.Setting("export"), err)
	}
	names := map[string]bool{}
	for _, h := range holds {
		names[h.Lock] = true
	}
	if len(names) > 1 {
		return input.Errorf("%s knossos: Knossos judges one lock at a time, and this history has %d: %v", input.Setting("export"), len(names), slices.Sorted(maps.Keys(names)))
	}
	pairs, err := history.Pairs(e.Ops)
	if err != nil {
		return input.Errorf("%s knossos: %w", input.Setting("export"), err)
	}
	invoked := map[int]time.Duration{} // invocation time of an operation, by the index of its completion
	for _, p := range pairs {
		if p.Complete != nil {
			invoked[p.Complete.Index] = p.Invoke.Time
		}
	}
	return jepsen.Write(w, holdOps(holds, invoked))
}

// holdOps turns holds into the operations of a mutex.
func holdOps(holds []checker.Hold, invoked map[int]time.Duration) []history.Op {
	var ops []history.Op
	free := map[int]time.Duration{} // end of the client's last release
	for _, h := range holds {
		op := history.Op{Process: history.Process(h.Client), Client: h.Client, Lock: h.Lock}
		add := func(f string, kind history.Type, at time.Duration) {
			op.F, op.Type, op.Time = f, kind, at
			ops = append(ops, op)
		}
		add(history.FAcquire, history.Invoke, max(invoked[h.Acquire], free[h.Client]))
		add(history.FAcquire, history.OK, h.From)
		if h.To != checker.Never {
			add(history.FRelease, history.Invoke, h.To)
			add(history.FRelease, history.OK, h.To)
			free[h.Client] = h.To
		}
	}
	// At one instant, releases come before acquires: a hold that begins when another one ends
	// does not overlap it.
	rank := func(op history.Op) int {
		switch {
		case op.F == history.FRelease:
			return 0
		case op.Type == history.Invoke:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(ops, func(a, b history.Op) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(rank(a), rank(b)))
	})
	for i := range ops {
		ops[i].Index = i
	}
	return ops
}
