package checker

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// turns returns a clean history of n critical sections, taken in turns by three clients. During
// each section, another client makes one attempt that is busy.
func turns(n int) history.Evidence {
	var ops []history.Op
	now := time.Duration(0)
	log := func(client int, f string, typ history.Type, reason history.Reason) {
		now += 100 * time.Microsecond
		op := history.Op{
			Index: len(ops), Time: now, Process: history.Process(client), Client: client,
			Type: typ, F: f, Lock: "lock-0", Reason: reason, Lease: &history.Lease{Token: fmt.Sprint("t", now)},
		}
		if f == history.FRead || f == history.FWrite {
			op.Seq, op.Value = int64(len(ops)), []int64{int64(len(ops))}
		}
		ops = append(ops, op)
	}
	for i := range n {
		holder, rival := i%3, (i+1)%3
		log(holder, history.FAcquire, history.Invoke, "")
		log(holder, history.FAcquire, history.OK, "")
		log(rival, history.FAcquire, history.Invoke, "")
		log(rival, history.FAcquire, history.Fail, history.Busy)
		log(holder, history.FRelease, history.Invoke, "")
		log(holder, history.FRelease, history.OK, "")
	}
	return history.Evidence{Ops: ops, Claims: history.Claims{TTL: time.Second}}
}

// BenchmarkExclusion runs both deciders of exclusion on the same histories.
func BenchmarkExclusion(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		e := turns(n)
		b.Run(fmt.Sprintf("sweep/%d", n), func(b *testing.B) {
			for b.Loop() {
				holds, err := Holds(e)
				if err != nil || len(holds) != n {
					b.Fatalf("got %d holds, %v; want %d", len(holds), err, n)
				}
				if found := sweep(holds, 1); len(found.List) > 0 {
					b.Fatal("overlaps in a clean history")
				}
			}
		})
		b.Run(fmt.Sprintf("porcupine/%d", n), func(b *testing.B) {
			for b.Loop() {
				linearize(b.Context(), NewCase(e))
			}
		})
	}
}

// BenchmarkJudge runs all oracles on one history.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{100, 1000} {
		e := turns(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Judge(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkJudgeTrial runs all oracles on a trial with its commands and keys: n critical sections
// in turn, each with one busy attempt of another client.
func BenchmarkJudgeTrial(b *testing.B) {
	for _, n := range []int{100, 1000} {
		var t testing.T
		s := tell(&t, "set-nx-px")
		for i := range n {
			at, token := 10+10*float64(i), fmt.Sprint("t", i)
			s.take(at, i%3, "OK", setPX(token)...)
			s.busy(at+3, (i+1)%3, "nil", setPX("x"+token)...)
			s.give(at+6, i%3, "1", s.cad(token)...)
		}
		e := s.evidence()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := Judge(b.Context(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
