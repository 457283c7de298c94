package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

func TestWithoutAShimTheTestbedSaysWhatItLacks(t *testing.T) {
	for name, without := range map[string]func(*testing.T){
		"no compiler": func(t *testing.T) { t.Setenv("XDG_CACHE_HOME", t.TempDir()); t.Setenv("PATH", t.TempDir()) },
		"missing":     func(t *testing.T) { t.Setenv(clockshim.PathVariable, filepath.Join(t.TempDir(), "none.so")) },
	} {
		tb, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			without(t)
			if slices.Contains(tb.Capabilities(), testbed.CanNodeClocks) {
				t.Error("it says that it has node-clocks")
			}
			why := tb.Lacks()[testbed.CanNodeClocks]
			if !strings.Contains(why, clockshim.PathVariable) || strings.Contains(why, "\n") {
				t.Errorf("got %q, want one line that names $%s", why, clockshim.PathVariable)
			}
		})
	}
}

func TestAClockShimWithoutEffectIsNoticed(t *testing.T) {
	not := filepath.Join(t.TempDir(), "not-a-library.so")
	if err := os.WriteFile(not, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(clockshim.PathVariable, not)
	err := run(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env) error {
		_, err := e.(testbed.NodeClocks).SkewNode(ctx, "n0", time.Minute, nil)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the clock shim has no effect") {
		t.Errorf("got %v, want it said that the shim has no effect", err)
	}
}
