package linear

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Answer states whether some order of the operations is legal on the model.
type Answer string

// The answers, spelt as porcupine spells them.
const (
	Legal     Answer = "Ok"
	Illegal   Answer = "Illegal"
	Undecided Answer = "Unknown" // not known, mostly because the time ran out
)

// longConflict bounds the search for the minimal conflict among more than MaxOperations
// operations, since the user waits for the verdict.
const longConflict = 2 * time.Second

// Operation is an acquire or a release that did not fail.
type Operation struct {
	Client  int
	Release bool // false for an acquire
	// Mode matters for a read-write lock only. A release with an empty mode has the mode of
	// its client's last acquire; any other empty mode means writing.
	Mode  history.Mode
	Fence int64 // the fence that an acquire returned; 0 for none
	// Call and Reply are the places of the operation's entries in the history, which is in
	// order of time. Reply is -1 if Perhaps.
	Call, Reply int
	// Perhaps: the outcome is unknown. The operation takes effect at any time after Call,
	// or never.
	Perhaps bool
}

// Result is the answer for the operations on one lock.
type Result struct {
	Lock     string
	Answer   Answer
	Doubt    Doubt     // why Answer is Undecided
	Conflict *Conflict // why Answer is Illegal
	// Alone: only the frontier decided (see Check). Either there are more than MaxOperations
	// operations, or porcupine's time ran out.
	Alone bool
}

// Doubt is the reason why operations were not decided.
type Doubt string

// Reasons why operations were not decided.
const (
	NoTime   Doubt = "no-time"  // the time ran out
	TooWide  Doubt = "too-wide" // too many states are possible at one time, and porcupine did not decide
	Disagree Doubt = "disagree" // the frontier and porcupine gave different answers: one is wrong
)

// Conflict is a set of operations that cannot all have happened, whatever other operations
// happened. Without any one of them, the rest could have happened.
type Conflict struct {
	Operations []int // places among the operations of the lock, in order of invocation
	Last       int   // the place of the operation whose reply made the conflict certain
	// Minimal is false if the time ran out: then Operations contains only Last.
	Minimal bool
	// OwnersOnly: the operations conflict only under the rule that the holder alone can release the
	// lock.
	OwnersOnly bool
	// Anyone: the conflict does not depend on which clients acquire and release.
	Anyone bool
}

// Check decides for each lock whether its operations can have happened one after the other
// on the model. This is linearizability, as Knossos judges it. An operation takes effect at
// one instant between its call and its reply. An operation of unknown outcome takes effect
// at any time after its call, or never. The operations of a lock must be in order of
// invocation.
//
// Two methods decide. They share the specification of the lock, and what an operation needs of those that may
// have happened (see states.go):
//
//   - The frontier goes through the history in order of time. It follows one possible state as far as that
//     goes, then all that are possible at each point. This takes O(n log n) time if one state suffices: always
//     if no outcome is unknown and each client runs one process.
//   - Porcupine judges at most MaxOperations operations, in the time that the frontier leaves.
//
// If both methods answer, they must agree.
//
// The results are in order of the locks' names. limit and ctx bound the time. Check
// reserves a third of the time for finding minimal conflicts.
func Check(ctx context.Context, m Model, byLock map[string][]Operation, limit time.Duration) []Result {
	end := endOf(ctx, limit)
	s := m.answered()
	decide := search{ctx: ctx, spec: s, first: []held{{}}, end: end.Add(-time.Until(end) / 3)}
	var results []Result
	recorded := map[string][]recording{}
	var illegal []int // places among the results
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		all := s.read(byLock[lock])
		result := decide.twice(all)
		if result.Lock = lock; result.Answer == Illegal {
			recorded[lock] = all
			illegal = append(illegal, len(results))
		}
		results = append(results, result)
	}
	for n, i := range illegal {
		share := time.Until(end) / time.Duration(len(illegal)-n)
		if len(recorded[results[i].Lock]) > MaxOperations {
			share = min(share, longConflict)
		}
		results[i].Conflict = search{ctx: ctx, spec: s, first: []held{{}}, end: time.Now().Add(share)}.conflict(recorded[results[i].Lock])
	}
	return results
}

// recording is an operation in the form in which a specification judges it.
type recording struct {
	lot
	place  int // place among the operations of its lock
	client int
	call   int // see Operation
}

// read converts the operations on a lock, keeping only the owners, modes and fences that
// the specification considers.
func (s spec) read(ops []Operation) []recording {
	all := make([]recording, len(ops))
	took := map[int]history.Mode{} // the mode with which a client last acquired the lock
	for i, o := range ops {
		op := recording{place: i, client: o.Client, call: o.Call}
		if op.due, op.release = o.Reply, o.Release; !s.anyone {
			op.owner = o.Client
		}
		if s.modes {
			if op.mode = o.Mode; op.mode == "" && op.release {
				op.mode = took[o.Client]
			}
			if op.mode != history.Read {
				op.mode = history.Write
			}
		}
		if !op.release {
			took[o.Client] = op.mode
			if s.fenced {
				op.fence = max(o.Fence, -1) // all negative fences are as illegal as -1
			}
		}
		if o.Perhaps {
			op = op.perhaps(s)
		}
		all[i] = op
	}
	return all
}

// perhaps returns the operation with an unknown outcome. A fence that no client learnt becomes anyFence.
func (op recording) perhaps(s spec) recording {
	if op.due = never; !op.release && s.fenced && op.fence == 0 {
		op.fence = anyFence
	}
	return op
}

// search asks the frontier and porcupine within a time limit.
type search struct {
	ctx   context.Context
	spec  spec
	end   time.Time
	first []held // the possible initial states
}

// twice asks the frontier, then porcupine, and combines their answers.
func (s search) twice(all []recording) Result {
	frontier, _ := s.askFrontier(all)
	second := Undecided
	if len(all) <= MaxOperations {
		second = s.decide(all)
	}
	switch {
	case s.ctx.Err() != nil:
		return Result{Answer: Undecided, Doubt: NoTime}
	case frontier == Undecided && second == Undecided && s.inTime():
		return Result{Answer: Undecided, Doubt: TooWide}
	case frontier == Undecided && second == Undecided:
		return Result{Answer: Undecided, Doubt: NoTime}
	case frontier == Undecided:
		return Result{Answer: second}
	case second != Undecided && frontier != second:
		return Result{Answer: Undecided, Doubt: Disagree}
	}
	return Result{Answer: frontier, Alone: second == Undecided}
}

// askFrontier calls advance with the search's initial states and time limit.
func (s search) askFrontier(all []recording) (answer Answer, failed recording) {
	return advance(s.ctx, s.end, s.spec, s.first, all)
}

// strict returns the search under the rule that only owners may release.
func (s search) strict(end time.Time) search {
	s.end, s.spec.anyone = end, false
	return s
}

func (s search) inTime() bool { return s.ctx.Err() == nil && time.Now().Before(s.end) }

// endOf returns the end of the time limit or the deadline of ctx, whichever is earlier.
func endOf(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

// clockEvery is the number of calls of a stopper's function per reading of the clock.
const clockEvery = 16

// stopper returns a function that reports whether ctx is done or the end has passed. The
// function checks this at the first call and then at every clockEvery'th call.
func stopper(ctx context.Context, end time.Time) func() bool {
	calls, over := 0, false
	return func() bool {
		if calls%clockEvery == 0 {
			over = over || ctx.Err() != nil || !time.Now().Before(end)
		}
		calls++
		return over
	}
}
