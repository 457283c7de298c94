package campaign

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// BenchmarkTrial runs, judges and stores trials as a worker does: of a campaign's
// defaults, and of two clients.
func BenchmarkTrial(b *testing.B) {
	for _, bench := range []struct {
		name, lock, fault string
		clients           int
	}{
		{"holds", "set-nx-px", undisturbed, 3},
		{"violated", "set-nx-px", "client-pause", 3},
		{"two clients", "set-nx-px", "client-pause", 2},
		{"five nodes", "redlock", "client-pause", 3},
	} {
		b.Run(bench.name, func(b *testing.B) {
			tb := sim.New()
			c := DefaultConfig()
			c.Clients = bench.clients
			p := newPlanner(c, tb)
			recipe, _ := locks.ByID(bench.lock)
			if err := p.look(b.Context(), tb, recipe, "mutex"); err != nil {
				b.Fatal(err)
			}
			cell, err := p.named(bench.lock, bench.fault, "mutex")
			if err != nil {
				b.Fatal(err)
			}
			dir, k := b.TempDir(), 0
			for b.Loop() {
				s, _, err := p.trial(cell, "mutex", k)
				if err != nil {
					b.Fatal(err)
				}
				k++
				d, err := execute(b.Context(), tb, task{Spec: s, Folder: filepath.Join(dir, folderName(s))}, new(sync.Mutex), nil)
				if err != nil || d.Trial.Err != "" {
					b.Fatal(err, d.Trial.Err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
		})
	}
}

// BenchmarkWorker runs violated trials in a worker process, and tells what that
// costs this one.
func BenchmarkWorker(b *testing.B) {
	b.Setenv(asWorker, "1")
	w := newProcesses([]string{os.Args[0]}, 1)
	tb := sim.New()
	p := newPlanner(DefaultConfig(), tb)
	recipe, _ := locks.ByID("set-nx-px")
	if err := p.look(b.Context(), tb, recipe, "mutex"); err != nil {
		b.Fatal(err)
	}
	cell, err := p.named(recipe.ID, "client-pause", "mutex")
	if err != nil {
		b.Fatal(err)
	}
	st, err := createStore(b.TempDir(), "bench", time.Now())
	if err != nil {
		b.Fatal(err)
	}
	r := &run{store: st, planner: p, workers: w}
	k, before := 0, spent(b)
	for b.Loop() {
		s, _, err := p.trial(cell, "mutex", k)
		if err != nil {
			b.Fatal(err)
		}
		k++
		r.trial(b.Context(), job{spec: s})
	}
	b.ReportMetric(float64((spent(b)-before).Microseconds())/float64(b.N), "own-µs/trial")
	if err := w.close(); err != nil || r.err != nil || len(r.trials) != k {
		b.Fatal(err, r.err, len(r.trials), k)
	}
	if err := st.close(); err != nil {
		b.Fatal(err)
	}
}

// spent is the processor time that this process used.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
