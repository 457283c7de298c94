package history

import (
	"io"
	"testing"
	"time"
)

// What one operation costs a client: invocation and completion, streamed.
func BenchmarkRecorder(b *testing.B) {
	start := time.Now()
	r := NewRecorder(io.Discard, func() time.Duration { return time.Since(start) })
	op := Op{F: FAcquire, Lock: "lock-0", Lease: &Lease{Token: "0123456789abcdef"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Invoke(op); err != nil {
			b.Fatal(err)
		}
		done := op
		done.Type = OK
		if _, err := r.Complete(done); err != nil {
			b.Fatal(err)
		}
	}
}
