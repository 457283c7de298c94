package history_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A history is recorded as it happens and read back from its JSON Lines.
func Example() {
	var file bytes.Buffer
	clock := time.Duration(0)
	rec := history.NewRecorder(&file, func() time.Duration {
		clock += time.Millisecond
		return clock
	})

	// Client 0 gets the lock; client 1 is refused.
	rec.Invoke(history.Op{Process: 0, Client: 0, F: history.FAcquire, Lock: "jobs"})
	rec.Invoke(history.Op{Process: 1, Client: 1, F: history.FAcquire, Lock: "jobs"})
	rec.Complete(history.Op{Process: 0, Client: 0, F: history.FAcquire, Type: history.OK, Lock: "jobs", Lease: &history.Lease{Token: "t1"}})
	rec.Complete(history.Op{Process: 1, Client: 1, F: history.FAcquire, Type: history.Fail, Lock: "jobs", Reason: history.Busy})
	if err := rec.Err(); err != nil {
		fmt.Println(err)
		return
	}

	ops, truncated, err := history.ReadOps(&file, "history.jsonl")
	if err != nil || truncated != nil {
		fmt.Println(err, truncated)
		return
	}
	pairs, err := history.Pairs(ops)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pairs {
		fmt.Println(history.ClientName(p.Invoke.Client), p.Invoke.F, p.Done(), "from", p.Invoke.Time)
	}
	// Output:
	// c0 acquire ok from 1ms
	// c1 acquire fail from 2ms
}

// The recorder refuses impossible histories: here, a process releases while its acquire is open.
func ExampleRecorder() {
	rec := history.NewRecorder(nil, func() time.Duration { return 0 })
	rec.Invoke(history.Op{Process: 0, Client: 0, F: history.FAcquire, Lock: "jobs"})
	_, err := rec.Invoke(history.Op{Process: 0, Client: 0, F: history.FRelease, Lock: "jobs"})
	fmt.Println(err)
	// Output: record release of process 0: its acquire (index 0) is open
}
