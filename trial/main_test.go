package trial

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/internal/fakebed"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
)

// asClient is set in the environment of this program when it is to be a client process.
const asClient = "LOCKSTORM_TEST_CLIENT"

// undisturbed is the fault that does nothing.
var undisturbed = nemesis.Undisturbed().Name

// The locks in memory count as recipes of a user's test.
func init() {
	for _, r := range fakebed.Recipes() {
		open := r.New
		r.New = func(c *locks.Client) (locks.Maker, error) { return open(c) }
		locks.Register(r)
	}
}

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	if os.Getenv(asClient) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := ServeClient(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
