package workloads

import (
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// answer is a resource's answer to a read or write.
type answer struct {
	values []int64 // the registers, as history.Op.Value
	seq    int64   // as history.Op.Seq: the call's place in one total order of those that are not refused
	stale  bool    // refused: the resource has seen a newer fencing token
}

// resources returns new guarded resources for a trial with these options. The map's keys are the
// names of the locks.
func (w Workload) resources(o Options, fenced bool) map[string]*resource {
	all := make(map[string]*resource, max(0, o.Keys))
	for k := range o.Keys {
		all[lockName(k)] = &resource{fenced: fenced, tallied: w.tallied, values: make([]int64, w.values)}
	}
	return all
}

// resource is what a lock guards. It never fails, since only the lock is under test. Its methods are safe
// for concurrent use.
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

// read returns the registers. Fence is the caller's fencing token; 0 = none.
func (r *resource) read(fence int64) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return answer{stale: true}
	}
	r.seq++
	return answer{values: slices.Clone(r.values), seq: r.seq}
}

// write sets the first len(values) registers and returns all registers.
func (r *resource) write(fence int64, values []int64) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.admits(fence) {
		return answer{stale: true}
	}
	r.seq++
	copy(r.values, values)
	if r.writes++; r.tallied {
		r.values[len(r.values)-1] = r.writes
	}
	return answer{values: slices.Clone(r.values), seq: r.seq}
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
func (h *hold) read() ([]int64, error) {
	return h.use(history.FRead, nil, h.resources[h.lock].read)
}

// write writes the guarded resource and records the operation with the resulting values. If the
// resource refuses, the client knows that its lease ended.
func (h *hold) write(values ...int64) error {
	_, err := h.use(history.FWrite, values, func(fence int64) answer {
		return h.resources[h.lock].write(fence, values)
	})
	return err
}

// use performs an operation on the resource and records it. After a refusal it also records the
// loss of the lease, which even a trusting client notices.
func (h *hold) use(f string, values []int64, do func(fence int64) answer) ([]int64, error) {
	op := h.op(f)
	op.Value = values
	op, err := h.Rec.Invoke(op)
	if err != nil {
		return nil, err
	}
	fence := h.lease.Fence
	if h.Remedies.On(remedy.Fence) {
		fence = h.Remedies.Grant(h.id, h.lock)
	}
	answer := do(fence)
	if answer.stale && h.Remedies.On(remedy.Fence) {
		h.Remedies.Act()
	}
	op.Type, op.Value, op.Seq = history.OK, answer.values, answer.seq
	if answer.stale {
		op.Type, op.Reason = history.Fail, history.Stale
	}
	if _, err := h.Rec.Complete(op); err != nil {
		return nil, err
	}
	if answer.stale {
		return nil, h.lose()
	}
	return op.Value, nil
}
