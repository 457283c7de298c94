package trial

import (
	"testing"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
)

// undisturbed is the fault that does nothing.
var undisturbed = nemesis.Undisturbed().Name

// Register the locks in memory. Each gets a function New of this package, so that it counts as code
// of a user's test.
func init() {
	for _, r := range trialtest.Recipes() {
		open := r.New
		r.New = func(c *locks.Client) (locks.Maker, error) { return open(c) }
		locks.Register(r)
	}
}

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	trialtest.Main(m, ServeClient, nil)
}
