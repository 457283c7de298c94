package campaign

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/testbed/sim"
)

// asWorker is set in the environment of this program when it is to be a worker.
const asWorker = "LOCKSTORM_TEST_WORKER"

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := ServeWorker(context.Background(), sim.New()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
