package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// drawings make the picture for --timeline, by file extension. They return nil without an
// error if there is nothing to draw.
var drawings = map[string]func(context.Context, trial.Result, history.Evidence) ([]byte, error){
	".svg": timelineSVG,
	".html": func(ctx context.Context, _ trial.Result, e history.Evidence) ([]byte, error) {
		var b bytes.Buffer
		err := checker.Visualize(ctx, &b, e, story.WindowWords)
		return b.Bytes(), err
	},
}

func pictureKind(path string) string { return strings.ToLower(filepath.Ext(path)) }

// timelineSVG returns the timeline that package reports makes of a violated trial.
func timelineSVG(_ context.Context, t trial.Result, e history.Evidence) ([]byte, error) {
	if !t.Violation() {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "lockstorm-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := reports.Trial(dir, t, e); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, reports.TimelineFile))
}

// draw writes the picture that --timeline asks for.
func (a *app) draw(ctx context.Context, f checkFlags, path string, t trial.Result, e history.Evidence) error {
	if t.Spec.Lock == "" { // no recipe: the picture's title is the finding
		t.Spec.Lock, t.Spec.Fault = filepath.Base(path), "the model "+f.model
	}
	picture, err := drawings[pictureKind(f.timeline)](ctx, t, e)
	if err != nil {
		return fmt.Errorf("draw %s: %w", f.timeline, err)
	}
	if picture == nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s: nothing is violated, so %s is not drawn (an .html shows the whole history)\n", path, f.timeline)
		return nil
	}
	if err := os.WriteFile(f.timeline, picture, 0o666); err != nil {
		return &input.Error{Err: err}
	}
	return nil
}
