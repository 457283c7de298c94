package campaign

import (
	"flag"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

var cellsOf = flag.String("cells", "", "recipes whose cells BenchmarkCells runs, with commas between; default all of documents")

// BenchmarkCells runs, judges and stores one trial of every cell of the default campaign, as a
// worker does. Its profile shows where a campaign spends its time.
func BenchmarkCells(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(worker.GC))
	tb, c := sim.New(), DefaultConfig()
	c.Locks, c.Trials = documented(), 1
	if *cellsOf != "" {
		c.Locks = strings.Split(*cellsOf, ",")
	}
	p := newPlanner(c, tb)
	cells, err := p.cells()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	do := func(jobs []job, err error) {
		if err != nil {
			b.Fatal(err)
		}
		for _, j := range jobs {
			d, err := trial.Execute(b.Context(), tb, trial.Task{Spec: j.spec, Probe: j.probe, Folder: filepath.Join(dir, trial.Folder(j.spec))}, new(sync.Mutex), nil)
			if err != nil || d.Trial.Err != "" {
				b.Fatal(err, d.Trial.Err)
			}
			if j.probe {
				p.seen[pair{j.spec.Lock, j.spec.Workload}] = d.Seen
			}
		}
	}
	do(p.probes(cells))
	jobs, err := p.jobs(cells)
	before := spent(b)
	for b.Loop() {
		do(jobs, err)
	}
	trials := float64(b.N * len(jobs))
	b.ReportMetric(trials/b.Elapsed().Seconds(), "trials/s")
	b.ReportMetric(trials/(spent(b)-before).Seconds(), "trials/cpu-s")
}
