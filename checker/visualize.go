package checker

import (
	"context"
	"fmt"
	"io"

	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// Visualize writes porcupine's picture of the history, as one HTML page: see linear.Page.
// ctx limits the search for the model to draw by, but not the drawing.
func Visualize(ctx context.Context, w io.Writer, e history.Evidence, words linear.WindowWords) error {
	f := newCaseFile(e)
	if err := f.sound(); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	byLock, err := spans(f)
	if err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	page := linear.Page{Claims: f.Claims, Spans: byLock, Ops: e.Ops, Windows: words, Instant: seconds}
	given, err := readFences(f)
	if f.Claims.Fenced && err == nil && len(sweepFences(f.Claims, given)) == 0 {
		page.Claims = linear.Drawable(ctx, f.Claims, byLock)
	}
	if err := page.Draw(w); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}
