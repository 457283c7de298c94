package workloads

import (
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// resource is what the lock guards. It is perfect and in memory: only the lock
// is on trial. Its own mutex orders all reads and writes.
type resource struct {
	mu     sync.Mutex
	values []int64
	seq    int64
}

func (r *resource) read() (values []int64, seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	return slices.Clone(r.values), r.seq
}

func (r *resource) write(values []int64) (seq int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	r.values = slices.Clone(values)
	return r.seq
}

// read records a read of the resource that the lock guards.
func (s *session) read(h *hold) ([]int64, error) {
	op, err := s.Rec.Invoke(s.op(history.FRead, *h))
	if err != nil {
		return nil, err
	}
	op.Value, op.Seq = s.resources[h.lock].read()
	op.Type = history.OK
	_, err = s.Rec.Complete(op)
	return op.Value, err
}

// write records a write of the resource that the lock guards.
func (s *session) write(h *hold, values []int64) error {
	op := s.op(history.FWrite, *h)
	op.Value = values
	op, err := s.Rec.Invoke(op)
	if err != nil {
		return err
	}
	op.Seq = s.resources[h.lock].write(values)
	op.Type = history.OK
	_, err = s.Rec.Complete(op)
	return err
}
