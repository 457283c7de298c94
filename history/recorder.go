package history

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// ErrSealed is returned for entries of a crashed client, and for all entries once the
// history has ended.
var ErrSealed = errors.New("history is sealed: the client has crashed, or the trial is over")

// Recorder records a history as it happens. It is safe for concurrent use,
// gives every entry its index and time under one lock, and refuses impossible
// histories.
type Recorder struct {
	now func() time.Duration

	mu      sync.Mutex
	w       io.Writer
	line    []byte // buffer for the next line
	ops     []Op
	open    map[Process]Op
	windows map[int]Op // open windows of the nemesis, by Window.ID
	sealed  map[int]bool
	ended   bool
	err     error
}

// NewRecorder returns a recorder that streams each entry to w as one line of
// JSON, at once, so that a killed run leaves a readable file; w may be nil.
// now returns the time since the trial's start; it must not go backwards.
func NewRecorder(w io.Writer, now func() time.Duration) *Recorder {
	return &Recorder{
		now:     now,
		w:       w,
		open:    map[Process]Op{},
		windows: map[int]Op{},
		sealed:  map[int]bool{},
	}
}

// Now reads the history's clock.
func (r *Recorder) Now() time.Duration { return r.now() }

// Invoke records the start of an operation and returns the entry with its
// index, time and type. A process may have one open operation; the nemesis may
// have several windows open, told apart by Window.ID.
func (r *Recorder) Invoke(op Op) (Op, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Type = Invoke
	if err := r.admit(op); err != nil {
		return Op{}, err
	}
	if op.Process == Nemesis {
		if op.Window == nil {
			return Op{}, fmt.Errorf("record %s of the nemesis: an invocation needs a window", op.F)
		}
		if w, ok := r.windows[op.Window.ID]; ok {
			return Op{}, fmt.Errorf("record %s of the nemesis: window %d (%s) is open", op.F, op.Window.ID, w.F)
		}
	} else if o, ok := r.open[op.Process]; ok {
		return Op{}, fmt.Errorf("record %s of process %d: its %s (index %d) is open", op.F, op.Process, o.F, o.Index)
	}
	op = r.append(op)
	if op.Process == Nemesis {
		r.windows[op.Window.ID] = op
	} else {
		r.open[op.Process] = op
	}
	return op, nil
}

// Complete records how the open operation of op.Process ended. op.Type is OK, Fail or Info, and
// op.F is the F of the invocation. For the nemesis it closes the window of op.Window.ID.
func (r *Recorder) Complete(op Op) (Op, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.Type != OK && op.Type != Fail && op.Type != Info {
		return Op{}, fmt.Errorf("record completion of %s: type is %q, not ok, fail or info", op.F, op.Type)
	}
	if err := r.admit(op); err != nil {
		return Op{}, err
	}
	if op.Process == Nemesis {
		if op.Window == nil {
			return Op{}, fmt.Errorf("record %s of the nemesis: a completion needs a window", op.F)
		}
		if w, ok := r.windows[op.Window.ID]; !ok || w.F != op.F {
			return Op{}, fmt.Errorf("record %s of the nemesis: no such window %d is open", op.F, op.Window.ID)
		}
		delete(r.windows, op.Window.ID)
		return r.append(op), nil
	}
	o, ok := r.open[op.Process]
	if !ok || o.F != op.F || o.Client != op.Client {
		return Op{}, fmt.Errorf("record completion of %s of process %d (client %d): no such invocation is open", op.F, op.Process, op.Client)
	}
	delete(r.open, op.Process)
	return r.append(op), nil
}

// Event records an entry that has no invocation: FLost of a client, or an
// event of the nemesis.
func (r *Recorder) Event(op Op) (Op, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Type = Info
	if err := r.admit(op); err != nil {
		return Op{}, err
	}
	return r.append(op), nil
}

// End records an event of the nemesis as the history's last entry. The entry's time is the parameter at, or
// the previous entry's time if that is later; the clock is not read. Later entries, and a second End, are
// refused with ErrSealed. Any other error is that of Err.
func (r *Recorder) End(op Op, at time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return ErrSealed
	}
	op.Type, op.Process = Info, Nemesis
	r.appendAt(op, at)
	r.ended = true
	return r.err
}

// Crash records that a client stops for ever, and seals the client in the same moment: its later
// entries are refused with ErrSealed. A second Crash, or one after End, also fails with ErrSealed. Any
// other error is that of Err.
func (r *Recorder) Crash(client int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed[client] || r.ended {
		return fmt.Errorf("crash client %d: %w", client, ErrSealed)
	}
	r.append(Op{Process: Nemesis, Client: client, Type: Info, F: FCrash})
	r.sealed[client] = true
	return r.err
}

// Ops returns the entries so far, in order. The recorder never changes an entry; the
// caller must not either.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clip(r.ops)
}

// Err returns the first error of writing to the stream. Ops returns all entries even after an error.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// admit refuses entries of crashed clients or of invalid processes, and all entries after
// the end. The nemesis never crashes: it still closes a window that concerns a crashed
// client.
func (r *Recorder) admit(op Op) error {
	if op.Process < Nemesis {
		return fmt.Errorf("record %s: process %d is negative", op.F, op.Process)
	}
	if r.ended {
		return ErrSealed
	}
	if op.Process != Nemesis && r.sealed[op.Client] {
		return ErrSealed
	}
	return nil
}

// append gives the entry its index and time and streams it.
func (r *Recorder) append(op Op) Op { return r.appendAt(op, r.now()) }

func (r *Recorder) appendAt(op Op, at time.Duration) Op {
	op.Index = len(r.ops)
	op.Time = at
	if n := len(r.ops); n > 0 { // even if the clock goes backwards, the file must stay readable
		op.Time = max(op.Time, r.ops[n-1].Time)
	}
	r.ops = append(r.ops, op)
	if r.w == nil || r.err != nil {
		return op
	}
	r.line = append(op.AppendJSON(r.line[:0]), '\n')
	if _, err := r.w.Write(r.line); err != nil {
		r.err = fmt.Errorf("write history entry %d: %w", op.Index, err)
	}
	return op
}
