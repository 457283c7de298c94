package campaign

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestLatestStaysIfARunIsInterruptedBeforeItsFaultFreeTrialsAreDone(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := complete(t, Campaign{Config: fakeConfig(root, trialtest.Sound), Testbed: &trialtest.Bed{}})
		ctx, cancel := context.WithCancel(t.Context())
		named := fakeConfig(root, trialtest.Sound)
		named.Named, named.NamedOnly, named.Trials, named.Faults = true, true, 0, []string{"none", "delay"}
		bed := &trialtest.Bed{Fail: func(testbed.Setup) error { cancel(); return ctx.Err() }}
		second, err := Campaign{Config: named, Testbed: bed}.Run(ctx)
		if err != nil || len(second.Trials) != 0 || !second.Matrix.Interrupted {
			t.Fatalf("got %d trials, interrupted: %v, %v", len(second.Trials), second.Matrix.Interrupted, err)
		}
		// The campaign stopped before it knew its schedules. Its cells have no trials, but must not
		// be reported as cells that the testbed does not support.
		stored, err := Load(second.Dir)
		if err != nil || !stored.Matrix.Interrupted || len(stored.Matrix.Cells) == 0 {
			t.Errorf("read again: %+v, %v", stored.Matrix, err)
		}
		for _, c := range stored.Matrix.Cells {
			if c.Lack != nil {
				t.Errorf("%s under %s: %s", c.Lock, c.Fault, c.Why)
			}
		}
		if all, err := Inventory(root); err != nil || all[0].Outcome != Interrupted && all[1].Outcome != Interrupted {
			t.Errorf("%+v, %v: none is interrupted", all, err)
		}
		got, err := os.Readlink(filepath.Join(root, Latest))
		if want, _ := filepath.Rel(root, first.Dir); err != nil || got != want {
			t.Errorf("latest points to %s, %v; want %s", got, err, want)
		}
	})
}
