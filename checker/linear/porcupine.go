package linear

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// MaxOperations is the greatest number of operations on one lock that porcupine judges as a
// second opinion: its memory grows with the square of this number.
const MaxOperations = 20_000

// Porcupine would have to try every subset of the operations of unknown outcome, since they stay concurrent
// with all later operations. Therefore porcupine gets only the invocation of such an operation, as an operation
// that puts it in the pool.

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

func (s search) askPorcupine(all []recording) Answer {
	ops := make([]porcupine.Operation, len(all))
	for i, op := range all {
		ops[i] = porcupine.Operation{ClientId: op.client, Input: op.lot, Call: int64(op.call), Return: int64(op.due)}
		if op.due == never {
			ops[i].Return = ops[i].Call
		}
	}
	left := time.Until(s.end)
	if s.ctx.Err() != nil || left <= 0 {
		return Undecided
	}
	answer := Answer(porcupine.CheckOperationsTimeout(s.model(), ops, left))
	if answer == Illegal && s.ctx.Err() != nil {
		return Undecided
	}
	return answer
}

// model returns a porcupine model whose states are sets of possible states. No operation is legal once ctx has
// ended, so that porcupine returns at once: nothing else stops it before its time limit.
func (s search) model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() (all []any) {
			for _, lock := range s.first {
				all = append(all, state{lock: lock})
			}
			return all
		},
		Step: func(now, input, _ any) (all []any) {
			w, in := now.(state), input.(lot)
			switch {
			case s.ctx.Err() != nil:
			case in.due == never:
				in.alone = false
				return []any{state{w.lock, w.pool.with(in, 1)}}
			default:
				s.spec.follow(w, in.action, func(next state) bool { all = append(all, next); return true })
			}
			return all
		},
		Equal: func(a, b any) bool { return a.(state).same(b.(state)) },
	}
	return m.ToModel()
}

// owning returns copies of the operations with their real owners.
func owning(all []recording) []recording {
	all = slices.Clone(all)
	for i := range all {
		all[i].owner = all[i].client
	}
	return all
}
