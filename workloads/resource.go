package workloads

import (
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// resource is what the lock guards. It is perfect and in memory: only the lock
// is on trial. Its own mutex orders all reads and writes.
type resource struct {
	// fenced: who comes with an older fencing token than the greatest seen is
	// refused (Kleppmann 2016, "How to do distributed locking").
	fenced bool
	// tallied: the resource keeps its last register itself, and counts writes there.
	tallied bool

	mu     sync.Mutex
	values []int64
	seq    int64
	writes int64
	fence  int64 // the greatest seen
}

// read returns the registers, or ok = false to who comes with an old fence.
func (r *resource) read(fence int64) (values []int64, seq int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return nil, 0, false
	}
	r.seq++
	return slices.Clone(r.values), r.seq, true
}

// write sets the first registers and returns all, or ok = false to who comes with
// an old fence.
func (r *resource) write(fence int64, values []int64) (stored []int64, seq int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return nil, 0, false
	}
	r.seq++
	copy(r.values, values)
	if r.writes++; r.tallied {
		r.values[len(r.values)-1] = r.writes
	}
	return slices.Clone(r.values), r.seq, true
}

// admits says whether the fence is not older than any that was seen.
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

// read records a read of the resource that the lock guards. It returns nil if
// the resource refused it: the client then knows that its lease ended.
func (s *session) read(h *hold) ([]int64, error) {
	return s.use(h, history.FRead, nil, s.resources[h.lock].read)
}

// write records a write of the resource that the lock guards, and what is stored
// then. The resource may refuse it, which tells the client that its lease ended.
func (s *session) write(h *hold, values ...int64) error {
	_, err := s.use(h, history.FWrite, values, func(fence int64) ([]int64, int64, bool) {
		return s.resources[h.lock].write(fence, values)
	})
	return err
}

// use records an operation on the resource, and the loss of the lease if it is
// refused, which not even a trusting client can overlook.
func (s *session) use(h *hold, f string, values []int64, do func(fence int64) ([]int64, int64, bool)) ([]int64, error) {
	op := s.op(f, *h)
	op.Value = values
	op, err := s.Rec.Invoke(op)
	if err != nil {
		return nil, err
	}
	var ok bool
	op.Type = history.OK
	if op.Value, op.Seq, ok = do(h.lease.Fence); !ok {
		op.Type, op.Reason = history.Fail, history.Stale
	}
	if _, err := s.Rec.Complete(op); err != nil {
		return nil, err
	}
	if !ok {
		return nil, s.lose(h)
	}
	return op.Value, nil
}
