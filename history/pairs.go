package history

import "fmt"

// Pair is an operation. Its entries are part of the history and must not be changed.
type Pair struct {
	Invoke   *Op
	Complete *Op // nil: the operation was still open when the history ended
}

// Done reports how the operation ended: Info if it never completed.
func (p Pair) Done() Type {
	if p.Complete == nil {
		return Info
	}
	return p.Complete.Type
}

// Lease returns the lease that the operation returned, or else was invoked with; the zero
// Lease if there is neither.
func (p Pair) Lease() Lease {
	switch {
	case p.Complete != nil && p.Complete.Lease != nil:
		return *p.Complete.Lease
	case p.Invoke.Lease != nil:
		return *p.Invoke.Lease
	}
	return Lease{}
}

// Pairs matches invocations with completions, for clients by process and for the
// nemesis by window. The pairs are in order of invocation; events are left out. The error
// is a MisfitError if the history is impossible: two open operations of one process, or a
// completion that fits no invocation. The pairs point into ops.
func Pairs(ops []Op) ([]Pair, error) {
	type key struct {
		process Process
		window  int
	}
	pairs := make([]Pair, 0, len(ops)/2+1)
	open := map[key]int{}
	for i := range ops {
		op := &ops[i]
		k := key{process: op.Process}
		if op.Process == Nemesis {
			if op.Window == nil {
				continue // an event
			}
			k.window = op.Window.ID
		}
		at, isOpen := open[k]
		switch {
		case op.Type == Invoke && isOpen:
			return nil, misfit(i, "entry %d: process %v invokes %s while its %s (entry %d) is open",
				op.Index, op.Process, op.F, pairs[at].Invoke.F, pairs[at].Invoke.Index)
		case op.Type == Invoke:
			open[k] = len(pairs)
			pairs = append(pairs, Pair{Invoke: op})
		case op.Type == Info && op.F == FLost:
			// An event of a client needs no invocation.
		case op.Type != OK && op.Type != Fail && op.Type != Info:
			return nil, misfit(i, "entry %d: type is %q, not invoke, ok, fail or info", op.Index, op.Type)
		case !isOpen || pairs[at].Invoke.F != op.F:
			return nil, misfit(i, "entry %d: %s of %s by process %v completes no open invocation",
				op.Index, op.Type, op.F, op.Process)
		case op.Process != Nemesis && pairs[at].Invoke.Client != op.Client:
			return nil, misfit(i, "entry %d: client %d completes what client %d invoked (entry %d)",
				op.Index, op.Client, pairs[at].Invoke.Client, pairs[at].Invoke.Index)
		default:
			pairs[at].Complete = op
			delete(open, k)
		}
	}
	return pairs, nil
}

// MisfitError says why Pairs refuses an entry: earlier entries make it impossible.
type MisfitError struct {
	At   int // the entry's place in the history, from 0
	text string
}

// Error implements error.
func (e *MisfitError) Error() string { return e.text }

func misfit(at int, format string, args ...any) error {
	return &MisfitError{at, fmt.Sprintf(format, args...)}
}
