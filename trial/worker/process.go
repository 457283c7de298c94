package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/child"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/trial"
)

// errDied says that a worker is no longer there.
var errDied = errors.New("worker died")

// slowness is how much longer than its limit a trial may take on a machine with little
// processor time; the trial's own patience ends earlier.
const slowness = 12

const (
	// dumping is how long a process may take to dump its goroutines and end.
	dumping = 3 * time.Second
	// parting is how long each remaining answer of an ended process may take to arrive.
	parting = time.Second
	// leaving is how long an idle process may take to end.
	leaving = 2 * time.Second
	// idleFor is how long a busy process may do nothing, idleTimes in a row: a busy
	// machine may starve it for that long once.
	idleFor   = 3 * time.Second
	idleTimes = 2
	// stderrLimit is how many bytes are kept of the beginning, and of the end, of a
	// worker's stderr.
	stderrLimit = 512 << 10
)

// process is a worker that runs. It is used by one goroutine at a time.
type process struct {
	cmd     *exec.Cmd
	tasks   *os.File // its tasks, one line each
	answers *os.File
	lines   *bufio.Scanner // its answers
	stderr  child.Output   // includes what it writes to stdout
	killed  string         // why we killed it, "" if we did not
	garbled bool           // it sent something that is no answer
	last    bool           // it ends itself: its next task goes to another
	told    atomic.Int64   // odd while a command is being passed on
	exited  chan struct{}  // closed when it has ended
}

// GC is a worker's GOGC. A trial leaves much garbage and few live objects: with rare
// collections it takes half the time.
const GC = 1000

// workerDebug is a worker's GODEBUG: ours, and math/rand may be seeded.
func workerDebug() string {
	return strings.TrimPrefix(os.Getenv("GODEBUG")+",randseednop=0", ",")
}

// startProcess starts a worker and waits until it is ready.
func startProcess(ctx context.Context, argv []string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := fork(argv)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	off := w.watch(ctx, time.Minute, false)
	a, err := readAnswer(w.lines)
	off()
	if err == nil && !a.Ready {
		err = errors.New("it does not speak as one")
	}
	if err == nil && w.killed == "" && ctx.Err() == nil {
		return w, nil
	}
	d := w.end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.Killed != "":
		err = errors.New("it is not ready after a minute")
	}
	return nil, fmt.Errorf("start a worker: %s: %w: %s %s", argv[0], err, d.How, crash.FirstLine(d.Stderr))
}

// fork starts the process. Tasks and answers use two pipes that the code under test
// does not see: for it, stdin is empty, and stdout is stderr.
func fork(argv []string) (*process, error) {
	w := &process{cmd: exec.Command(argv[0], argv[1:]...), stderr: child.Output{Limit: stderrLimit}, exited: make(chan struct{})}
	// One thread each, since there is one process per core.
	w.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprint("GOGC=", GC), "GOTRACEBACK=all", "GODEBUG="+workerDebug())
	w.cmd.Stdout, w.cmd.Stderr = &w.stderr, &w.stderr
	w.cmd.WaitDelay = time.Second // what the code under test started may hold stderr open
	tasks, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tasks.Close()
	out, answers, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer answers.Close()
	w.tasks, w.answers, w.lines = in, out, newLines(remainder{out})
	w.cmd.ExtraFiles = []*os.File{tasks, answers} // tasksFile and answersFile
	if err := child.Start(w.cmd); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() {
		defer close(w.exited)
		_ = child.Wait(w.cmd) // ProcessState has the result
		w.unblock()           // children may hold its pipes open
	}()
	return w, nil
}

// unblock ends all waiting for the process.
func (w *process) unblock() {
	_ = w.tasks.SetWriteDeadline(time.Now())
	_ = w.answers.SetReadDeadline(time.Now())
}

// remainder also reads what had been written before the deadline.
type remainder struct{ *os.File }

// Read implements io.Reader.
func (r remainder) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = r.SetReadDeadline(time.Now().Add(parting))
		n, err = r.File.Read(p)
	}
	return n, err
}

// do runs one task. The error is errDied, or why the campaign cannot go on.
func (w *process) do(ctx context.Context, t trial.Task, limit time.Duration, log func(history.Command)) (trial.Done, error) {
	line, err := json.Marshal(t)
	if err != nil {
		return trial.Done{}, fmt.Errorf("encode a trial: %w", err)
	}
	w.stderr.Reset()
	defer w.watch(ctx, limit, true)()
	if _, err := w.tasks.Write(append(line, '\n')); err != nil {
		return trial.Done{}, errDied
	}
	for {
		a, err := readAnswer(w.lines)
		switch {
		case errors.Is(err, errGarbled):
			w.garbled = true
			return trial.Done{}, errDied
		case err != nil:
			return trial.Done{}, errDied
		case a.Err != "":
			return trial.Done{}, errors.New(a.Err)
		case a.Command != nil && log != nil:
			w.told.Add(1)
			log(*a.Command)
			w.told.Add(1)
		case a.Done != nil:
			a.Done.Trial.Spec, w.last = t.Spec, a.Last
			return *a.Done, nil
		}
	}
}

// watch kills the process if ctx ends, if it exceeds the limit of processor time, or
// if, at work, it does nothing any more. In these cases it first asks the process to
// dump its goroutines.
func (w *process) watch(ctx context.Context, limit time.Duration, work bool) (off func()) {
	stop := context.AfterFunc(ctx, func() {
		w.signal(syscall.SIGKILL)
		w.unblock()
	})
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		if w.killed = w.hangs(limit, work, over); w.killed == "" {
			return
		}
		w.signal(syscall.SIGQUIT)
		select {
		case <-over:
		case <-w.exited:
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

// hangs says why the process must be killed; "" if it ends before.
func (w *process) hangs(limit time.Duration, work bool, over <-chan struct{}) (why string) {
	every := min(limit, idleFor)
	started := time.Now()
	before, known := cpuTime(w.cmd.Process.Pid)
	used, told, idle := before, w.told.Load(), 0
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return ""
		case <-w.exited:
			return ""
		case <-tick.C:
		}
		now, ok := cpuTime(w.cmd.Process.Pid)
		known = known && ok
		was := told
		told = w.told.Load()
		switch took := time.Since(started); {
		case known && now-before >= limit:
			return crash.TooLong
		case told != was || told%2 == 1: // it may have waited for us
			started, idle = time.Now(), 0
		case took >= slowness*limit, !known && took >= limit:
			return crash.TooSlow
		case !work || !known || now-used >= every/100:
			idle = 0
		default:
			if idle++; idle == idleTimes {
				return crash.Standstill
			}
		}
		used = now
	}
}

// signal signals the process and its children.
func (w *process) signal(s syscall.Signal) {
	select {
	case <-w.exited: // its process id may be reused
	default:
		child.Signal(w.cmd, s)
	}
}

// end waits for a dead process, or kills a live one, and says how it died.
func (w *process) end() *crash.Death {
	w.leave()
	d := &crash.Death{How: "nobody knows how", Killed: w.killed}
	if w.garbled {
		d.Killed = crash.Garbled
	}
	if s := w.cmd.ProcessState; s != nil {
		d.How, d.Exited = s.String(), s.Exited()
	}
	d.Stderr, d.Cut = w.stderr.Text()
	return d
}

// leave returns when the process has ended: by itself if idle, else killed.
func (w *process) leave() {
	select {
	case <-w.exited:
	case <-time.After(leaving):
		w.signal(syscall.SIGKILL)
		<-w.exited
	}
	_, _ = w.tasks.Close(), w.answers.Close()
}

// stop ends an idle process.
func (w *process) stop() {
	_ = w.tasks.Close()
	w.leave()
}
