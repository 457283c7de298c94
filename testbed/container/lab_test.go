package container

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// openTestLab opens the lab that `make up` started. Without a lab, it skips the test; but it fails
// the test if LOCKSTORM_NEED_LAB is set, as scripts/test does after it has started a lab.
func openTestLab(t *testing.T) *Lab {
	t.Helper()
	l, err := OpenLab(t.Context(), 1)
	if err != nil && os.Getenv("LOCKSTORM_NEED_LAB") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("NOT TESTED in the lab: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// TestTheLabKeepsWhatTestbedsPromise runs only if the lab is up.
func TestTheLabKeepsWhatTestbedsPromise(t *testing.T) {
	l := openTestLab(t)
	testbedtest.RunShared(t, func(testing.TB) testbed.Testbed { return l })
}

// TestTheLabStandsAgainAfterARun checks that the lab's servers answer after a run.
func TestTheLabStandsAgainAfterARun(t *testing.T) {
	l := openTestLab(t)
	err := l.Run(t.Context(), testbed.Setup{
		Topology: testbed.Single, Clients: 1, CommandTimeout: time.Minute, Clock: l.Clock(), Commands: func(history.Command) {},
	}, func(ctx context.Context, e testbed.Env) error {
		return e.Client(0).Locks().Nodes[0].Set(ctx, "k", "v", 0).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.lab.restore(); err != nil {
		t.Fatal(err)
	}
	addr, _, err := l.lab.masters[0].addresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !answers(addr) {
		t.Fatalf("no answer at %s", addr)
	}
}

func TestALabThatIsNotUpIsSaidInALine(t *testing.T) {
	if missing != nil {
		t.Skip(missing)
	}
	t.Setenv(labVariable, "lockstorm-no-such-lab")
	_, err := OpenLab(t.Context(), 1)
	if err == nil || !strings.Contains(err.Error(), "make up") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says how to start it", err)
	}
}
