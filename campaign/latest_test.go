package campaign

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestLatestStaysIfARunIsInterruptedBeforeItsFaultFreeTrialsAreDone(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := Campaign{Config: fakeConfig(root, soundLock), Testbed: &fakeBed{}}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		bed := &fakeBed{fail: func(testbed.Setup) error { cancel(); return ctx.Err() }}
		second, err := Campaign{Config: fakeConfig(root, soundLock), Testbed: bed}.Run(ctx)
		if err != nil || len(second.Trials) != 0 || !second.Matrix.Interrupted {
			t.Fatalf("got %d trials, interrupted: %v, %v", len(second.Trials), second.Matrix.Interrupted, err)
		}
		got, err := os.Readlink(filepath.Join(root, Latest))
		if want, _ := filepath.Rel(root, first.Dir); err != nil || got != want {
			t.Errorf("latest points to %s, %v; want %s", got, err, want)
		}
	})
}
