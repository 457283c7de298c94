package linear

import (
	"context"
	"time"

	"github.com/anishathalye/porcupine"
)

// Answer says whether some order of the operations is legal on the model.
type Answer string

// Answers.
const (
	Legal     Answer = "Ok"
	Illegal   Answer = "Illegal"
	Undecided Answer = "Unknown" // the time was over before
)

// endOf returns the earlier of two instants: the end of the limit, the deadline of ctx.
func endOf(ctx context.Context, limit time.Duration) time.Time {
	end := time.Now().Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		return d
	}
	return end
}

// decide asks porcupine, which has until end.
func decide(ctx context.Context, end time.Time, m porcupine.Model, ops []porcupine.Operation) Answer {
	left := time.Until(end)
	if ctx.Err() != nil || left <= 0 {
		return Undecided
	}
	return Answer(porcupine.CheckOperationsTimeout(m, ops, left))
}
