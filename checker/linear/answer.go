package linear

import (
	"context"
	"time"

	"github.com/anishathalye/porcupine"
)

// Answer states whether some order of the operations is legal on the model.
type Answer string

// The answers, spelt as porcupine spells them.
const (
	Legal     Answer = "Ok"
	Illegal   Answer = "Illegal"
	Undecided Answer = "Unknown" // not known, mostly because the time ran out
)

// endOf returns the end of the time limit or the deadline of ctx, whichever is earlier.
func endOf(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

// clockEvery is the number of calls of a stopper's function per reading of the clock.
const clockEvery = 256

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

func decide(ctx context.Context, end time.Time, m porcupine.Model, ops []porcupine.Operation) Answer {
	left := time.Until(end)
	if ctx.Err() != nil || left <= 0 {
		return Undecided
	}
	return Answer(porcupine.CheckOperationsTimeout(m, ops, left))
}
