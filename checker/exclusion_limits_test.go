package checker

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// These histories once made porcupine's search explode. Porcupine must decide them within its own
// generous limit: a search that exceeds this limit is exponential.
func TestPorcupineNeverRunsAway(t *testing.T) {
	const overlap = "c90 acquire 999990-999991 ok\nc91 acquire 999990-999992 ok\n"
	type line = func(i int) string
	repeat := func(n int, f line) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	readers := func(mode string) line {
		return func(i int) string {
			return fmt.Sprintf("c%d acquire 1-%d ok mode=%s\nc%d release %d-%d ok mode=%s\n", i, 10+i%7, mode, i, 500+i%5, 900+i, mode)
		}
	}
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   Result
	}{
		{"64 acquires of unknown outcome, and hundreds of holds", history.Claims{},
			repeat(64, func(i int) string { return fmt.Sprintf("c%d acquire %d-%d info\n", i, i, 5000+i) }) +
				repeat(400, func(i int) string {
					return fmt.Sprintf("c%d acquire %d-%d ok\nc%d release %d-%d info\n", 100+i, 10*i, 10*i+3, 100+i, 10*i+9, 10*i+9000)
				}) + overlap, Violated},
		{"releases of which none was answered", history.Claims{},
			repeat(500, func(i int) string {
				return fmt.Sprintf("c%d acquire %d-%d ok\nc%d release %d-\n", i+100, 10*i, 10*i+3, i+100, 10*i+9)
			}) + overlap, Violated},
		{"three hundred who wait from the start", history.Claims{},
			repeat(300, func(i int) string {
				return fmt.Sprintf("c%d acquire 1-%d ok\nc%d release %d-%d ok\n", i+100, 10*i+13, i+100, 10*i+19, 10*i+20)
			}) + overlap, Violated},
		{"two hundred readers together", history.Claims{ReadWrite: true}, repeat(200, readers("read")), Held},
		{"two hundred readers and two writers together", history.Claims{ReadWrite: true},
			repeat(200, readers("read")) + overlap, Violated},
		{"a hundred writers together", history.Claims{ReadWrite: true}, repeat(100, readers("write")), Violated},
		{"readers of whom some is always there, and a writer at the end", history.Claims{ReadWrite: true},
			repeat(3000, func(i int) string {
				return fmt.Sprintf("c%d acquire %d-%d ok mode=read\nc%d release %d-%d ok mode=read\n", i%3, 10*i, 10*i+1, i%3, 10*i+25, 10*i+26)
			}) + "c91 acquire 30000-30001 ok mode=write\n", Violated},
		{"three hundred deep", history.Claims{Reentrant: true},
			repeat(300, func(i int) string {
				return fmt.Sprintf("c0 acquire %d-%d ok\nc0 release %d-%d ok\n", i, i, 5000+i, 5000+i)
			}) +
				"c1 acquire 5200-5201 ok\n", Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			v, err := exclusion(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims}))
			if err != nil || v.Result != c.want {
				t.Errorf("got %s (%s), %v; want %s", v.Result, v.words(), err, c.want)
			}
			t.Log(time.Since(began))
		})
	}
}

func TestNoTimeMeansUnknown(t *testing.T) {
	e := history.Evidence{Ops: histories.Timeline(t, "c0 acquire 1-2 ok\nc1 acquire 3-4 ok")}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	v, err := exclusion(ctx, NewCase(e))
	if err != nil || v.Result != Unknown || !strings.Contains(v.words(), "in time") {
		t.Errorf("got %+v, %v; want unknown", v, err)
	}
}
