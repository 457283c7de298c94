package check

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// drawings are functions that draw a history, by file extension. They return nil without an error
// if there is nothing to draw.
var drawings = map[string]func(context.Context, trial.Result, history.Evidence) ([]byte, error){
	".svg": timelineSVG,
	".html": func(ctx context.Context, _ trial.Result, e history.Evidence) ([]byte, error) {
		var b bytes.Buffer
		err := checker.Visualize(ctx, &b, e, story.WindowWords)
		return b.Bytes(), err
	},
}

// Drawable reports whether Draw can make a picture for a file of that name: an SVG of the
// violation, or an HTML page of the whole history.
func Drawable(path string) bool { return drawings[pictureKind(path)] != nil }

// Draw returns the picture of a judged history for a file of that name (Drawable); nil without
// an error if there is nothing to draw.
func Draw(ctx context.Context, path string, t trial.Result, e history.Evidence) ([]byte, error) {
	return drawings[pictureKind(path)](ctx, t, e)
}

func pictureKind(path string) string { return strings.ToLower(filepath.Ext(path)) }

// timelineSVG returns the timeline of a violated trial, drawn by package reports.
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
