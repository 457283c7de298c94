package testbed

import (
	"context"
	"errors"
	"testing"
)

func TestAnEndedContextIsToldEvenIfNothingIsLeftToWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // a select between two ready channels would choose at random
		if err := Sleep(ctx, 0); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want %v", err, context.Canceled)
		}
	}
}
