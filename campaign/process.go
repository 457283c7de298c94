package campaign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/child"
)

// errDied says that a worker is no longer there.
var errDied = errors.New("worker died")

// Why a worker is killed.
const (
	tooLong    = "the trial did not come to an end" // with all the processor time that it needs
	tooSlow    = "the trial was not over"           // with little of it, or nobody knows how much
	standstill = "the trial's clock stands still"
)

// slowness is how many times longer than its limit a trial may take on a machine
// that gives it little processor time.
const slowness = 10

const (
	// dumping is how long a process may take to show its goroutines and end.
	dumping = 3 * time.Second
	// leaving is how long one may take to end when there is nothing more to do.
	leaving = 2 * time.Second
	// idleFor is how long one at work may do nothing.
	idleFor = 3 * time.Second
	// stderrLimit is how much is kept of how a worker's complaints begin, and of
	// how they end.
	stderrLimit = 512 << 10
)

// process is a worker that runs. It is used by one goroutine at a time.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr ends
	killed string // why we did, "" if we did not
}

// workerGC is a worker's GOGC. What a trial leaves is garbage, and little lives
// on: collected rarely, a trial takes half the time.
const workerGC = 1000

// startProcess starts a worker and waits until it is ready.
func startProcess(ctx context.Context, argv []string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &process{cmd: exec.Command(argv[0], argv[1:]...), stderr: ends{limit: stderrLimit}}
	// One thread each: there is one process per core.
	w.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprint("GOGC=", workerGC), "GOTRACEBACK=all")
	w.cmd.Stderr = &w.stderr
	w.cmd.WaitDelay = time.Second // what the code under test started may hold our pipes open
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	w.in, w.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := child.Start(w.cmd); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	defer w.watch(ctx, time.Minute)()
	a, err := readAnswer(w.out)
	if err == nil && !a.Ready {
		err = errors.New("it does not speak as one")
	}
	if err == nil {
		return w, nil
	}
	d := w.end()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("start a worker: %s: %w: %s %s", argv[0], err, d.how, firstLine(d.stderr))
}

// do runs one task. The error is errDied, ctx's, or why the campaign cannot go on.
func (w *process) do(ctx context.Context, t task, limit time.Duration, log func(history.Command)) (done, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return done{}, fmt.Errorf("encode a trial: %w", err)
	}
	w.stderr.reset.Store(true)
	defer w.watch(ctx, limit)()
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return done{}, errDied
	}
	for {
		a, err := readAnswer(w.out)
		switch {
		case a.Err != "":
			return done{}, err
		case err != nil:
			return done{}, errDied
		case a.Command != nil && log != nil:
			log(*a.Command)
		case a.Done != nil:
			a.Done.Trial.Spec = t.Spec
			return *a.Done, nil
		}
	}
}

// watch kills the process if ctx ends, and if it does not come to an end within
// the limit of processor time, or no longer does anything at all; in these cases
// the process is first asked to show its goroutines.
func (w *process) watch(ctx context.Context, limit time.Duration) (off func()) {
	stop := context.AfterFunc(ctx, func() { w.signal(syscall.SIGKILL) })
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		if w.killed = w.hangs(limit, over); w.killed == "" {
			return
		}
		w.signal(syscall.SIGQUIT)
		select {
		case <-over:
		case <-time.After(dumping):
			w.signal(syscall.SIGKILL)
		}
	}()
	return func() {
		stop()
		close(over)
		<-gone
	}
}

// hangs says why the process must be killed; "" if it is over before.
func (w *process) hangs(limit time.Duration, over <-chan struct{}) (why string) {
	every := min(limit, idleFor)
	started := time.Now()
	before, known := cpuTime(w.cmd.Process.Pid)
	used := before
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return ""
		case <-tick.C:
		}
		now, ok := cpuTime(w.cmd.Process.Pid)
		known = known && ok
		switch took := time.Since(started); {
		case known && now-before >= limit:
			return tooLong
		case took >= slowness*limit, !known && took >= limit:
			return tooSlow
		case known && now-used < every/100:
			return standstill
		}
		used = now
	}
}

// signal reaches the process and what it has started.
func (w *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-w.cmd.Process.Pid, s) // it may have ended
}

// end waits for a process that died, or kills it, and says how it died.
func (w *process) end() *death {
	_ = w.in.Close()
	timer := time.AfterFunc(dumping, func() { w.signal(syscall.SIGKILL) })
	defer timer.Stop()
	err := w.cmd.Wait()
	child.Ended()
	d := &death{how: "exit status 0", killed: w.killed}
	d.stderr, d.cut = w.stderr.text()
	if s := w.cmd.ProcessState; s != nil {
		d.how, d.exited = s.String(), s.Exited()
	} else if err != nil {
		d.how = err.Error()
	}
	return d
}

// stop ends a process that has nothing to do.
func (w *process) stop() error {
	_ = w.in.Close()
	timer := time.AfterFunc(leaving, func() { w.signal(syscall.SIGKILL) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, w.out) // until it has gone
	w.end()
	return nil
}
