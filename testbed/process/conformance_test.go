package process

import (
	"os"
	"testing"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
	"github.com/lockstorm/lockstorm/testbed/clockshim/clockshimtest"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// TestProcessKeepsWhatTestbedsPromise leaves out clocks of nodes if no clock shim can be built.
// TestANodesClockIsItsOwn is then skipped with the reason.
func TestProcessKeepsWhatTestbedsPromise(t *testing.T) {
	if shim, err := clockshimtest.Make(t); err == nil {
		// t.Setenv would forbid that promises are tested at the same time.
		was, had := os.LookupEnv(clockshim.PathVariable)
		if err := os.Setenv(clockshim.PathVariable, shim); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if os.Unsetenv(clockshim.PathVariable); had {
				os.Setenv(clockshim.PathVariable, was)
			}
		})
	}
	testbedtest.Run(t, func(t testing.TB) testbed.Testbed {
		temp := redistest.Memory(t)
		t.Cleanup(func() { checkEmpty(t, temp) })
		tb, err := New(Options{Temp: temp})
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}, true)
}

// checkEmpty checks that trials have left nothing in their directory.
func checkEmpty(t testing.TB, temp string) {
	t.Helper()
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
