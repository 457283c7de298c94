package process

import (
	"os"
	"testing"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

func TestProcessKeepsWhatTestbedsPromise(t *testing.T) {
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
