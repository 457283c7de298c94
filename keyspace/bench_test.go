package keyspace

import (
	"strconv"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// raised returns the history of a counter that three clients increment in turn, n times in
// all. Each increment is a successful acquire. Every eighth acquire gives the key a new
// TTL.
func raised(n int) history.Evidence {
	e := history.Evidence{Watched: true}
	var was *history.KeyContent
	exec := 0
	run := func(client, op int, at time.Duration, is history.KeyContent, args ...history.Bytes) {
		exec++
		e.Commands = append(e.Commands, history.Command{
			Index: len(e.Commands), Client: client, Node: "n0", Op: op, Exec: exec, Args: args, Sent: at, Arrived: at, Served: at, Replied: at,
		})
		e.Keys = append(e.Keys, history.KeyChange{Node: "n0", Key: "fence", By: history.ByCommand, Exec: exec, From: at, To: at, Before: was, After: &is})
		was = &is
	}
	for i := range n {
		at, client := time.Duration(i+1)*time.Millisecond, i%3
		op := history.Op{
			Index: len(e.Ops), Process: history.Process(client), Client: client, Type: history.Invoke, F: history.FAcquire, Lock: "lock", Time: at,
		}
		is := history.KeyContent{Type: "string", Value: history.Bytes(strconv.Itoa(i + 1))}
		if was != nil {
			is.Expires = was.Expires
		}
		run(client, op.Index, at, is, "INCR", "fence")
		if i%8 == 0 {
			is.Expires = at + time.Hour
			run(client, op.Index, at+time.Microsecond, is, "PEXPIRE", "fence", "3600000")
		}
		e.Ops = append(e.Ops, op)
		op.Index, op.Type, op.Time = len(e.Ops), history.OK, at+10*time.Microsecond
		e.Ops = append(e.Ops, op)
	}
	return e
}

// Like a fencing counter, the counter is raised with every grant.
func BenchmarkCounter(b *testing.B) {
	e := raised(16_000)
	for b.Loop() {
		if k := Read(e); len(k.Grants) != 16_000 {
			b.Fatalf("got %d grants, want one for each", len(k.Grants))
		}
	}
}
