package trial

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/workloads"
)

// The faults (Like) and the oracle (LikeIn) that a workload names must exist. A workload
// with which every lock is tried may resemble faults for only one oracle.
func TestWorkloadsAreLikeFaultsThatExist(t *testing.T) {
	for _, w := range workloads.All() {
		everyLock := w.Standard && w.Asks == nil && w.Suits(history.Claims{})
		for _, name := range w.Like {
			if _, ok := nemesis.ByName(name); !ok || everyLock && w.LikeIn == "" {
				t.Errorf("%s is like %s: expected a fault, and one oracle for the workload of every lock", w.Name, name)
			}
		}
		if w.LikeIn != "" && (checker.OracleNamed(w.LikeIn).Judge == nil || len(w.Like) == 0) {
			t.Errorf("%s is like something in the oracle %q: expected an oracle, and a fault", w.Name, w.LikeIn)
		}
	}
}
