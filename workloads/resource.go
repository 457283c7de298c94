package workloads

import (
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// Resource is the resource that a lock guards. Its methods are safe for concurrent use; Answer.Seq
// gives each call that is not refused its place in one total order. An error means that the caller
// could not reach the resource, for example because its process is about to end.
type Resource interface {
	// Read returns the registers. Fence is the caller's fencing token; 0 = none.
	Read(fence int64) (Answer, error)
	// Write sets the first len(values) registers and returns all registers.
	Write(fence int64, values []int64) (Answer, error)
}

// Answer is a resource's answer to a read or write.
type Answer struct {
	Values []int64 // the registers, as history.Op.Value
	Seq    int64   // as history.Op.Seq
	Stale  bool    // refused: the resource has seen a newer fencing token
}

// Resources returns new guarded resources for a trial with these options and claims. The map's
// keys are the names of the locks.
func (w Workload) Resources(o Options, c history.Claims) map[string]Resource {
	all := make(map[string]Resource, max(0, o.Keys))
	for k := range o.Keys {
		all[lockName(k)] = &resource{fenced: c.Fenced, tallied: w.tallied, values: make([]int64, w.values)}
	}
	return all
}

// resource is a Resource in memory that never fails, since only the lock is under test. Its
// mutex orders all reads and writes.
type resource struct {
	// fenced says that the resource refuses a fencing token older than the greatest token that it
	// has seen (Kleppmann 2016, "How to do distributed locking").
	fenced bool
	// tallied says that the resource itself counts writes in its last register.
	tallied bool

	mu     sync.Mutex
	values []int64
	seq    int64
	writes int64
	fence  int64 // the greatest fencing token seen
}

// Read implements Resource.
func (r *resource) Read(fence int64) (Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return Answer{Stale: true}, nil
	}
	r.seq++
	return Answer{Values: slices.Clone(r.values), Seq: r.seq}, nil
}

// Write implements Resource.
func (r *resource) Write(fence int64, values []int64) (Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return Answer{Stale: true}, nil
	}
	r.seq++
	copy(r.values, values)
	if r.writes++; r.tallied {
		r.values[len(r.values)-1] = r.writes
	}
	return Answer{Values: slices.Clone(r.values), Seq: r.seq}, nil
}

// admits reports whether the resource accepts the fencing token. A fenced resource refuses a token
// older than the greatest that it has seen, and remembers an accepted token.
func (r *resource) admits(fence int64) bool {
	if !r.fenced {
		return true
	}
	if fence < r.fence {
		return false
	}
	r.fence = fence
	return true
}

// read reads the guarded resource and records the operation. It returns nil if the resource
// refuses; the client then knows that its lease ended.
func (s *session) read(h *hold) ([]int64, error) {
	return s.use(h, history.FRead, nil, s.Resources[h.lock].Read)
}

// write writes the guarded resource and records the operation with the resulting values. If the
// resource refuses, the client knows that its lease ended.
func (s *session) write(h *hold, values ...int64) error {
	_, err := s.use(h, history.FWrite, values, func(fence int64) (Answer, error) {
		return s.Resources[h.lock].Write(fence, values)
	})
	return err
}

// use performs an operation on the resource and records it. After a refusal it also records the
// loss of the lease, which even a trusting client notices.
func (s *session) use(h *hold, f string, values []int64, do func(fence int64) (Answer, error)) ([]int64, error) {
	op := s.op(f, *h)
	op.Value = values
	op, err := s.Rec.Invoke(op)
	if err != nil {
		return nil, err
	}
	answer, err := do(h.lease.Fence)
	if err != nil {
		return nil, err
	}
	op.Type, op.Value, op.Seq = history.OK, answer.Values, answer.Seq
	if answer.Stale {
		op.Type, op.Reason = history.Fail, history.Stale
	}
	if _, err := s.Rec.Complete(op); err != nil {
		return nil, err
	}
	if answer.Stale {
		return nil, s.lose(h)
	}
	return op.Value, nil
}
