package linear

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// MaxOperations is the greatest number of operations on one lock that porcupine judges as a
// second opinion: its memory grows with the square of this number.
const MaxOperations = 20_000

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
// Two methods decide, and they share nothing but the specification of the lock:
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
		c := search{ctx: ctx, spec: s, first: []held{{}}, end: time.Now().Add(share)}.conflict(recorded[results[i].Lock])
		results[i].Conflict = c.result(s)
	}
	return results
}

// recording is an operation in the form in which a specification judges it.
type recording struct {
	modelOp
	place       int // place among the operations of its lock
	client      int
	call, reply int // see Operation
}

// read converts the operations on a lock, keeping only the owners, modes and fences that
// the specification considers.
func (s spec) read(ops []Operation) []recording {
	all := make([]recording, len(ops))
	took := map[int]history.Mode{} // the mode with which a client last acquired the lock
	for i, o := range ops {
		op := recording{place: i, client: o.Client, call: o.Call, reply: o.Reply}
		op.perhaps = o.Perhaps
		op.action = action{release: o.Release}
		if !s.anyone {
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
		all[i] = op.asModelled(s)
	}
	return all
}

// asModelled replaces a missing fence by anyFence if the acquire has an unknown outcome and
// no client learnt its fence.
func (op recording) asModelled(s spec) recording {
	if op.perhaps && !op.release && s.fenced && op.fence == 0 {
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
	case second == Undecided:
		return Result{Answer: frontier, Alone: true}
	case frontier != second:
		return Result{Answer: Undecided, Doubt: Disagree}
	}
	return Result{Answer: frontier}
}

// askFrontier calls advance with the search's initial states and time limit. failed is an index in all.
func (s search) askFrontier(all []recording) (answer Answer, failed int) {
	return advance(s.ctx, s.end, s.spec, s.first, all)
}

// decide returns porcupine's answer. If anybody may release, it first tries the rule that only owners
// may: this decides faster, and a history that is legal under this rule is also legal without it.
func (s search) decide(all []recording) Answer {
	if s.spec.anyone && len(s.first) == 1 {
		strict := s.strict(time.Now().Add(time.Until(s.end) / 2))
		if strict.askPorcupine(owning(all)) == Legal {
			return Legal
		}
	}
	return s.askPorcupine(all)
}

// strict returns the search under the rule that only owners may release.
func (s search) strict(end time.Time) search {
	s.end, s.spec.anyone = end, false
	return s
}

// owning returns copies of the operations with their real owners.
func owning(all []recording) []recording {
	all = slices.Clone(all)
	for i := range all {
		all[i].owner = all[i].client
	}
	return all
}

func (s search) inTime() bool { return s.ctx.Err() == nil && time.Now().Before(s.end) }

func (s search) askPorcupine(all []recording) Answer {
	left := time.Until(s.end)
	if !s.inTime() {
		return Undecided
	}
	ops := make([]porcupine.Operation, len(all))
	for i, op := range all {
		ops[i] = porcupine.Operation{ClientId: op.client, Input: op.modelOp, Call: int64(op.call), Return: int64(op.reply)}
		if op.perhaps {
			ops[i].Return = ops[i].Call
		}
	}
	answer := Answer(porcupine.CheckOperationsTimeout(s.stoppable(s.spec.perhapsModel(s.first)), ops, left))
	if answer == Illegal && s.ctx.Err() != nil {
		return Undecided
	}
	return answer
}

// stoppable returns a model in which no operation is legal once ctx has ended, so that porcupine returns
// at once. Nothing else stops porcupine before its time limit.
func (s search) stoppable(m porcupine.Model) porcupine.Model {
	step := m.Step
	m.Step = func(state, input, output any) (bool, any) {
		if s.ctx.Err() != nil {
			return false, state
		}
		return step(state, input, output)
	}
	return m
}
