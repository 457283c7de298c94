package live

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnUndoOutlivesItsContextAndStillEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		var before error
		undo := once(func(ctx context.Context) (int, error) {
			before = ctx.Err()
			<-ctx.Done() // stands for a wait that never succeeds
			return 3, ctx.Err()
		})
		began := time.Now()
		hits, err := undo(ended)
		if before != nil {
			t.Errorf("with a context that has ended it begins with %v, want time to do it", before)
		}
		if hits != 3 || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != undoTimeout {
			t.Errorf("got %d hits, %v after %v, want 3, %v after %v", hits, err, time.Since(began), context.DeadlineExceeded, undoTimeout)
		}
		if hits, err := undo(ended); hits != 3 || err != nil {
			t.Errorf("again: got %d hits, %v, want 3 as before", hits, err)
		}
	})
}
