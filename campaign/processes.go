package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// trialLimit is how long a trial may take in a worker, on the machine's clock. A
// usual one takes some milliseconds.
const trialLimit = time.Minute

// processes are workers each of which is a process of its own. One that dies is
// replaced, and its trial is run once more, with its history written as it
// happens, to see what it did.
type processes struct {
	argv  []string
	limit time.Duration
	// idle holds one element per worker; nil = to be started when it is needed.
	idle chan *process
}

func newProcesses(argv []string, n int) *processes {
	p := &processes{argv: argv, limit: trialLimit, idle: make(chan *process, n)}
	for range n {
		p.idle <- nil
	}
	return p
}

func (p *processes) run(ctx context.Context, t task, log func(history.Command)) (done, error) {
	var w *process
	select {
	case w = <-p.idle:
	case <-ctx.Done():
		return done{}, ctx.Err()
	}
	defer func() { p.idle <- w }()
	d, death, err := p.attempt(ctx, &w, t, p.limit, log)
	if death == nil {
		return d, err
	}
	first := death
	if !t.Stream {
		t.Stream = true
		// What never ends need not be waited for as long a second time.
		if d, death, err = p.attempt(ctx, &w, t, p.limit/6, nil); err != nil {
			return d, err
		}
	}
	if death == nil {
		d.Trial.Err = fmt.Sprintf("%s; when it was run again it did not", first.words())
		d.Trial.Outcome, d.Died = Unknown, true
		return d, nil
	}
	death.limit = p.limit
	return autopsy(ctx, t, death)
}

// attempt runs a task in the process *w, which it starts if need be and sets to
// nil if it died.
func (p *processes) attempt(ctx context.Context, w **process, t task, limit time.Duration, log func(history.Command)) (done, *death, error) {
	if *w == nil {
		started, err := startProcess(ctx, p.argv)
		if err != nil {
			return done{}, nil, err
		}
		*w = started
	}
	d, err := (*w).do(ctx, t, limit, log)
	if errors.Is(err, errDied) {
		death := (*w).end()
		*w = nil
		return d, death, ctx.Err()
	}
	if (*w).killed != "" { // at the last moment
		(*w).end()
		*w = nil
	}
	return d, nil, err
}

// renew ends the processes: others will be started.
func (p *processes) renew() error {
	var errs []error
	for range cap(p.idle) {
		if w := <-p.idle; w != nil {
			errs = append(errs, w.stop())
		}
	}
	for range cap(p.idle) {
		p.idle <- nil
	}
	return errors.Join(errs...)
}

func (p *processes) close() error { return p.renew() }

// death is how a worker died.
type death struct {
	stderr string
	how    string // "exit status 2", "signal: killed"
	exited bool   // by itself, with a status
	killed string // why by us, "" if by somebody else
	limit  time.Duration
}

// words say it in one line.
func (d *death) words() string {
	switch d.killed {
	case tooLong:
		return fmt.Sprintf("%s within %v of the machine's time", d.killed, d.limit)
	case standstill:
		return d.killed
	}
	if text, _ := panicked(d.stderr); text != "" {
		return "the trial's process died: " + text
	}
	return "the trial's process died: " + d.how
}

// head is a writer that keeps the beginning of what is written since it was reset.
type head struct {
	text  strings.Builder
	limit int
	reset atomic.Bool
}

// Write implements io.Writer. It never fails.
func (h *head) Write(p []byte) (int, error) {
	if h.reset.Swap(false) {
		h.text.Reset()
	}
	if room := h.limit - h.text.Len(); room > 0 {
		h.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
