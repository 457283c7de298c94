package campaign

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/internal/fakebed"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestLatestStaysIfARunIsInterruptedBeforeItsFaultFreeTrialsAreDone(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := Campaign{Config: fakeConfig(root, fakebed.Sound), Testbed: &fakebed.Bed{}}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		bed := &fakebed.Bed{Fail: func(testbed.Setup) error { cancel(); return ctx.Err() }}
		second, err := Campaign{Config: fakeConfig(root, fakebed.Sound), Testbed: bed}.Run(ctx)
		if err != nil || len(second.Trials) != 0 || !second.Matrix.Interrupted {
			t.Fatalf("got %d trials, interrupted: %v, %v", len(second.Trials), second.Matrix.Interrupted, err)
		}
		got, err := os.Readlink(filepath.Join(root, Latest))
		if want, _ := filepath.Rel(root, first.Dir); err != nil || got != want {
			t.Errorf("latest points to %s, %v; want %s", got, err, want)
		}
	})
}
