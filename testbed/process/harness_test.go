package process

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/childtest"
)

// harnessVariable makes the test binary play a harness in the middle of a trial. Its value is the
// directory for the nodes. The harness prints the nodes' process ids and waits.
const harnessVariable = "LOCKSTORM_TEST_TRIAL"

func playHarness() {
	tb, err := New(Options{Temp: os.Getenv(harnessVariable)})
	if err == nil {
		err = tb.Run(context.Background(), testbed.Setup{
			Topology: testbed.Independent, Nodes: 3, Clients: 2,
			Clock: func() time.Duration { return 1 }, Commands: func(history.Command) {},
		}, func(ctx context.Context, e testbed.Env) error {
			for n := range 3 {
				pid, err := serverOf(ctx, e, n)
				if err != nil {
					return err
				}
				fmt.Println(pid)
			}
			select {}
		})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestNoServerSurvivesAKilledHarness(t *testing.T) {
	childtest.KillHarness(t, harnessVariable+"="+t.TempDir(), 3)
}
