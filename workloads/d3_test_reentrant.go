package workloads

import "github.com/lockstorm/lockstorm/history"

// d3TestReentrant is D3's testReentrant: one thread locks and unlocks, and both must succeed. The
// test's comments say that it does each four times, but its code does each once. So the thread
// never re-enters the lock, and every lock passes, reentrant or not. The workload reentrant does
// re-enter.
//
// docs/measurements.md describes what the test shows of locks that cannot be entered twice.
var d3TestReentrant = Workload{
	Name:     "d3-test-reentrant",
	Doc:      "D3's testReentrant: one client locks once and unlocks once",
	Document: "D3",
	Clients:  1,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	once:     true,
	body:     func(*hold) error { return nil },
}
