package linear

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// MaxOperations bounds how many operations on one lock are judged: porcupine's
// memory grows with their square.
const MaxOperations = 20_000

// Operation is an acquire or a release that did not fail.
type Operation struct {
	Client  int
	Release bool // else it is an acquire
	// Mode counts for a read-write lock only. A release without one has the mode with
	// which its client last acquired; otherwise none means writing.
	Mode  history.Mode
	Fence int64 // of an acquire: the fence that its client was told; 0 for none
	// Call and Reply are where its entries stand in the history: their order is the
	// order in time. Reply is -1 if Perhaps.
	Call, Reply int
	// Perhaps: its outcome is unknown. It takes effect after Call, at any time, or never.
	Perhaps bool
}

// Result is the answer for the operations on one lock.
type Result struct {
	Lock     string
	Answer   Answer
	Doubt    Doubt     // why Answer is Undecided
	Conflict *Conflict // why Answer is Illegal
}

// Doubt is why operations were not decided.
type Doubt string

// Doubts.
const (
	NoTime  Doubt = "no-time"  // the time was over before
	TooMany Doubt = "too-many" // there are more than MaxOperations
)

// Conflict is a set of operations that cannot all have happened, whichever of the others
// did. Without any one of them, the rest could have.
type Conflict struct {
	Operations []int // places among the operations of the lock, in order of invocation
	Last       int   // the one of them whose reply made the conflict certain
	// Minimal is false if the time was over before: then Operations is Last alone.
	Minimal bool
	// OwnersOnly: the operations conflict only if none but its owner may release.
	OwnersOnly bool
	// Anyone: who acquires or releases makes no difference to the conflict.
	Anyone bool
}

// Check decides for each lock whether its operations, which are in order of invocation,
// can have happened one after the other on the model: linearizability, which is how
// Knossos judges. An operation takes effect at one instant between its call and its reply.
// One of unknown outcome takes effect at any time after its call, or never.
//
// The results are in order of the locks' names. Limit and ctx bound the time. A third of
// it is kept for finding the few operations that show each violation.
func Check(ctx context.Context, m Model, byLock map[string][]Operation, limit time.Duration) []Result {
	end := endOf(ctx, limit)
	r := m.rules(m.Claims.Permits)
	decide := search{ctx: ctx, rules: r, end: end.Add(-time.Until(end) / 3)}
	var results []Result
	recorded := map[string][]recording{}
	var illegal []int // places among the results
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		result := Result{Lock: lock, Answer: Undecided, Doubt: TooMany}
		if len(byLock[lock]) <= MaxOperations {
			recorded[lock] = r.read(byLock[lock])
			result.Answer, result.Doubt = decide.decide(recorded[lock]), ""
		}
		switch {
		case result.Answer == Undecided && result.Doubt == "":
			result.Doubt = NoTime
		case result.Answer == Illegal:
			illegal = append(illegal, len(results))
		}
		results = append(results, result)
	}
	for n, i := range illegal {
		share := time.Until(end) / time.Duration(len(illegal)-n)
		c := search{ctx: ctx, rules: r, end: time.Now().Add(share)}.conflict(recorded[results[i].Lock])
		results[i].Conflict = c.told(r)
	}
	return results
}

// recording is an operation as its rules read it.
type recording struct {
	stride
	place       int // among the operations of its lock
	client      int
	call, reply int // as Operation.Call and Reply
}

// read gives the operations on a lock the owners, modes and fences that the rules know.
func (r *rules) read(ops []Operation) []recording {
	all := make([]recording, len(ops))
	took := map[int]history.Mode{} // how a client last acquired the lock
	for i, o := range ops {
		op := recording{place: i, client: o.Client, call: o.Call, reply: o.Reply}
		op.perhaps = o.Perhaps
		op.action = action{release: o.Release}
		if !r.anyone {
			op.owner = o.Client
		}
		if r.modes {
			if op.mode = o.Mode; op.mode == "" && op.release {
				op.mode = took[o.Client]
			}
			if op.mode != history.Read {
				op.mode = history.Write
			}
		}
		if !op.release {
			took[o.Client] = op.mode
			if r.greatest != nil {
				op.fence = o.Fence
			}
		}
		all[i] = op.asModelled(r)
	}
	return all
}

// asModelled replaces a fence that nobody learnt, of an acquire that may have happened, by
// anyFence.
func (op recording) asModelled(r *rules) recording {
	if op.perhaps && !op.release && r.greatest != nil && op.fence == 0 {
		op.fence = anyFence
	}
	return op
}

// search asks porcupine, as long as there is time.
type search struct {
	ctx   context.Context
	rules *rules
	end   time.Time
	first []any // what the lock may be before all; nil: as it is made
}

// decide asks first whether stricter rules allow the operations.
func (s search) decide(all []recording) Answer {
	if r := s.rules.stricter; r != nil && s.first == nil {
		strict := search{ctx: s.ctx, rules: r, end: time.Now().Add(time.Until(s.end) / 2)}
		if strict.ask(owning(all)) == Legal {
			return Legal
		}
	}
	return s.ask(all)
}

// owning gives operations their owners back.
func owning(all []recording) []recording {
	all = slices.Clone(all)
	for i := range all {
		all[i].owner = all[i].client
	}
	return all
}

func (s search) inTime() bool { return s.ctx.Err() == nil && time.Now().Before(s.end) }

func (s search) ask(all []recording) Answer {
	left := time.Until(s.end)
	if !s.inTime() {
		return Undecided
	}
	ops := make([]porcupine.Operation, len(all))
	for i, op := range all {
		ops[i] = porcupine.Operation{ClientId: op.client, Input: op.stride, Call: int64(op.call), Return: int64(op.reply)}
		if op.perhaps {
			ops[i].Return = ops[i].Call
		}
	}
	first := s.first
	if first == nil {
		first = []any{s.rules.init}
	}
	answer := Answer(porcupine.CheckOperationsTimeout(s.stoppable(s.rules.model(first)), ops, left))
	if answer == Illegal && s.ctx.Err() != nil {
		return Undecided
	}
	return answer
}

// stoppable returns the model, with nothing legal any more once ctx has ended. Porcupine
// can be stopped in no other way, and is through at once then.
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
