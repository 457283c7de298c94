package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// BenchmarkShortTrial runs the shortest trials: two clients take turns at a set-nx-px lock
// with a TTL of 100 ms, one fault strikes once, and after it is healed each client acquires
// the lock once more. It runs on one core, with and without the verdicts.
func BenchmarkShortTrial(b *testing.B) {
	for _, bench := range []struct {
		fault    string
		duration time.Duration // virtual time for faults
	}{
		{"lost-reply", 100 * time.Millisecond},
		{"client-pause", 250 * time.Millisecond}, // longer than the TTL
	} {
		b.Run(bench.fault+"/run", func(b *testing.B) {
			benchmarkShort(b, bench.fault, bench.duration, func(history.Evidence) error { return nil })
		})
		b.Run(bench.fault+"/run and judge", func(b *testing.B) {
			benchmarkShort(b, bench.fault, bench.duration, func(e history.Evidence) error {
				_, err := checker.Judge(b.Context(), e)
				return err
			})
		})
	}
}

func benchmarkShort(b *testing.B, fault string, duration time.Duration, then func(history.Evidence) error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // like a worker, which also has the GC setting below
	defer debug.SetGCPercent(debug.SetGCPercent(worker.GC))
	tb := sim.New()
	c := DefaultConfig()
	c.Clients, c.TTL, c.Duration = 2, 100*time.Millisecond, duration
	next := trialsOf(b, tb, c, "set-nx-px", fault)
	virtual, commands, hits, before := time.Duration(0), 0, 0, spent(b)
	for b.Loop() {
		s := next()
		e, err := trial.Run(b.Context(), tb, s, history.NewRecorder(nil, tb.Clock()), nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := then(e); err != nil {
			b.Fatal(err)
		}
		virtual += e.Ops[len(e.Ops)-1].Time
		commands += len(e.Commands)
		hits += min(1, trial.Hits(s, e.Ops))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "trials/s")
	b.ReportMetric(float64(b.N)/(spent(b)-before).Seconds(), "trials/cpu-s")
	b.ReportMetric(float64(commands)/float64(b.N), "commands/trial")
	b.ReportMetric(float64(hits)/float64(b.N), "struck")
	b.ReportMetric(virtual.Seconds()/b.Elapsed().Seconds(), "virtual-s/s")
}

// trialsOf plans the trials of one cell; each call of next returns one.
func trialsOf(b *testing.B, tb *sim.Testbed, c Config, lock, fault string) (next func() trial.Spec) {
	p, cell, err := planning(b.Context(), tb, c, lock, fault, "mutex")
	if err != nil {
		b.Fatal(err)
	}
	k := 0
	return func() trial.Spec {
		s, _, err := p.trial(cell, "mutex", k)
		if err != nil {
			b.Fatal(err)
		}
		k++
		return s
	}
}

// BenchmarkScaling runs the same trials in one worker process and in two, and reports the
// speed-up: at best 2, on two idle cores.
func BenchmarkScaling(b *testing.B) {
	b.Setenv(trialtest.AsWorker, "1")
	next := trialsOf(b, sim.New(), DefaultConfig(), "set-nx-px", "client-pause")
	trials := make([]trial.Spec, 100)
	for i := range trials {
		trials[i] = next()
	}
	dir, took := b.TempDir(), [3]time.Duration{}
	workers := [3]worker.Pool{1: worker.NewPool(nil, []string{os.Args[0]}, 1), 2: worker.NewPool(nil, []string{os.Args[0]}, 2)}
	run := func(n int, trials []trial.Spec) {
		started := time.Now()
		each(b.Context(), trials, n, func(_ int, s trial.Spec) {
			if _, err := workers[n].Run(b.Context(), trial.Task{Spec: s, Folder: filepath.Join(dir, fmt.Sprint(n), trial.Folder(s))}, nil); err != nil {
				b.Error(err)
			}
		})
		took[n] += time.Since(started)
	}
	for n := 1; n <= 2; n++ {
		run(n, trials[:10]) // start the workers first
	}
	took = [3]time.Duration{}
	for b.Loop() {
		run(1, trials)
		run(2, trials)
	}
	for n := 1; n <= 2; n++ {
		b.ReportMetric(float64(b.N*len(trials))/took[n].Seconds(), fmt.Sprintf("trials/s-on-%d", n))
		workers[n].Close()
	}
	b.ReportMetric(took[1].Seconds()/took[2].Seconds(), "times-faster")
}

// spent returns the processor time that this process has used.
func spent(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
