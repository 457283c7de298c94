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

// asClient is set there when it is to be a client process.
const asClient = "LOCKSTORM_TEST_CLIENT"

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(asClient) != "":
		err = ServeClient(context.Background())
	case os.Getenv(asWorker) != "":
		err = ServeWorker(context.Background(), sim.New())
	default:
		goleak.VerifyTestMain(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
