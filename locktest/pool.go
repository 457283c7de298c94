package locktest

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// slowAfter is the real time after which Run reports that a trial is slow. Most trials take
// milliseconds.
const slowAfter = 15 * time.Second

// reportingPool is a pool that adds the race detector's report to a trial's error. It also reports,
// at most once, that a trial takes long.
type reportingPool struct {
	worker.Pool
	test      string
	out       io.Writer // where Run reports a slow trial; nil = nowhere
	slowAfter time.Duration
	reported  sync.Once
}

// Run implements worker.Pool.
func (p *reportingPool) Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error) {
	if p.out != nil {
		slow := time.AfterFunc(p.slowAfter, func() { p.reported.Do(func() { p.reportSlow(t.Spec) }) })
		defer slow.Stop()
	}
	d, err := p.Pool.Run(ctx, t, log)
	if d.RaceReport != "" && err == nil {
		d.Trial.Err += "\n" + d.RaceReport
	}
	return d, err
}

func (p *reportingPool) reportSlow(s trial.Spec) {
	fmt.Fprintf(p.out, "locktest: %s: a trial under %s (%s) has been running for %v and goes on; a trial that does not end is stopped after a minute of processor time\n",
		p.test, s.Fault, s.Workload+"/"+number(s), p.slowAfter)
}
