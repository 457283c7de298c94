package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/workloads"
)

// varied returns a trial of every recipe under every fault that it supports,
// with options and workload that vary.
func varied(t *testing.T, tb testbed.Testbed) []Spec {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 3))
	conf := DefaultConfig()
	conf.Testbed, conf.Seed, conf.Trials = tb.Name(), 7, 3
	conf.Locks = nil
	for _, r := range locks.All() {
		if strings.HasPrefix(r.Document, "D") { // not one of this package's tests
			conf.Locks = append(conf.Locks, r.ID)
		}
	}
	p := &planner{config: conf, topologies: tb.Topologies(), capabilities: tb.Capabilities(), points: map[pair][]testbed.Point{}}
	cells, err := p.cells()
	if err != nil {
		t.Fatal(err)
	}
	probes, err := p.probes(cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range probes {
		e, err := evidence(t, tb, j.spec)
		if err != nil {
			t.Fatalf("probe of %s: %v", j.spec.Lock, err)
		}
		p.points[pair{j.spec.Lock, j.spec.Workload}] = nemesis.Points(e.Commands)
	}
	jobs, err := p.jobs(cells)
	if err != nil {
		t.Fatal(err)
	}
	byCell := map[[2]string][]Spec{}
	for _, j := range jobs {
		k := [2]string{j.spec.Lock, j.spec.Fault}
		byCell[k] = append(byCell[k], j.spec)
	}
	var specs []Spec
	for _, c := range cells {
		if of := byCell[[2]string{c.recipe.ID, c.fault.Name}]; len(of) > 0 {
			specs = append(specs, of[rng.IntN(len(of))])
		}
	}
	return specs
}

func evidence(t *testing.T, tb testbed.Testbed, s Spec) (history.Evidence, error) {
	return RunTrial(t.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
}

// record is what a trial leaves behind, byte for byte.
func record(t *testing.T, tb testbed.Testbed, s Spec) []byte {
	e, err := evidence(t, tb, s)
	if err != nil {
		t.Errorf("%s under %s: %v", s.Lock, s.Fault, err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, op := range e.Ops {
		enc.Encode(op)
	}
	for _, c := range e.Commands {
		enc.Encode(c)
	}
	return b.Bytes()
}

// records runs all specs, so many at a time, on that many processors.
func records(t *testing.T, tb testbed.Testbed, specs []Spec, procs, parallel int) [][]byte {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	got := make([][]byte, len(specs))
	var workers sync.WaitGroup
	next := make(chan int)
	for range parallel {
		workers.Go(func() {
			for i := range next {
				got[i] = record(t, tb, specs[i])
			}
		})
	}
	for i := range specs {
		next <- i
	}
	close(next)
	workers.Wait()
	return got
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	tb := sim.New()
	specs := varied(t, tb)
	t.Logf("%d trials of %d recipes, %d faults, %d workloads", len(specs), len(locks.All()), len(nemesis.All()), len(workloads.All()))
	want := records(t, tb, specs, 1, 1)
	for _, c := range []struct{ procs, parallel int }{{1, 1}, {2, 1}, {2, 1}, {2, 4}, {1, 3}} {
		t.Run(fmt.Sprintf("%d processors, %d at a time", c.procs, c.parallel), func(t *testing.T) {
			differ := 0
			for i, got := range records(t, tb, specs, c.procs, c.parallel) {
				if !bytes.Equal(got, want[i]) {
					if differ++; differ <= 3 {
						t.Errorf("%s under %s (%s): %s", specs[i].Lock, specs[i].Fault, specs[i].Workload, firstDifference(t, got, want[i]))
					}
				}
			}
			if differ > 3 {
				t.Errorf("%d of %d trials differ", differ, len(specs))
			}
		})
	}
}

// firstDifference shows where two records part, and keeps both.
func firstDifference(t *testing.T, got, want []byte) string {
	if dir := os.Getenv("LOCKSTORM_KEEP"); dir != "" {
		os.WriteFile(filepath.Join(dir, "got.jsonl"), got, 0o644)
		os.WriteFile(filepath.Join(dir, "want.jsonl"), want, 0o644)
	}
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Sprintf("line %d of %d and %d\ngot  %s\nwant %s", i+1, len(a), len(b), a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}
