package foreign_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
)

// The client, which is in C, checks each wait itself. It is ready if none was wrong.
func TestThreadsWaitForEachOtherInVirtualTime(t *testing.T) {
	program := filepath.Join(t.TempDir(), "threads")
	if out, err := exec.Command("cc", "-pthread", "-o", program, "testdata/threads.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, err := simulate(t, 1, func(_ context.Context, env testbed.Env) error {
		_, _, err := foreign.Start(env.Client(0).Locks(), []string{program})
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
