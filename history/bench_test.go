package history

import (
	"io"
	"testing"
	"time"
)

// BenchmarkRecorder measures what one operation costs a client: invocation and completion,
// streamed.
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

// BenchmarkHash measures the cost of hashing a trial's commands.
func BenchmarkHash(b *testing.B) {
	cmds := make([]Command, 1000)
	for i := range cmds {
		cmds[i] = Command{
			Index: i, Node: "n0", Conn: 1, Phase: "acquire", N: 1, Op: i, Sent: 123456789, Arrived: 123556789,
			Served: 123556789, Replied: 123656789, Exec: i, Reply: "OK",
			Args: []Bytes{"set", "lock-0", "0123456789abcdef", "nx", "px", "1000"},
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		Hash(Evidence{Commands: cmds})
	}
}
