package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/child"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/trial"
)

var errDied = errors.New("worker died")

// slowness is the factor by which a trial's real time may exceed its limit of processor
// time, on a busy machine. For trialLimit that makes 12 minutes; on virtual time the trial
// gives up by itself after 10.
const slowness = 12

const (
	// dumping is how long a process may take to dump its goroutines and end.
	dumping = 3 * time.Second
	// parting is how long each remaining answer of an ended process may take to arrive.
	parting = time.Second
	// leaving is how long an idle process may take to end.
	leaving = 2 * time.Second
	// A process with work stands still if, at idleTimes checks in a row, it had used almost no
	// processor time for idleFor and was not waiting for a processor.
	idleFor   = 3 * time.Second
	idleTimes = 2
	// stderrLimit is the number of bytes of a worker's stderr to keep, at the beginning and
	// again at the end.
	stderrLimit = 512 << 10
)

// process is a running worker. It is used by one goroutine at a time.
type process struct {
	cmd     *exec.Cmd
	tasks   *os.File // sends tasks, one line each
	answers *os.File
	lines   *bufio.Scanner // reads from answers
	stderr  child.Output   // also the worker's stdout
	killed  string         // why the harness killed the worker; "" if it did not
	garbled bool           // the worker sent something other than an answer
	last    bool           // the worker ends itself, so it gets no more tasks
	told    atomic.Int64   // incremented before and after each call of log: odd during a call
	exited  chan struct{}  // closed when the worker has ended
}

// GC is a worker's GOGC. A trial leaves much garbage and few live objects: rare collections halve the
// time of a trial.
const GC = 400

// workerDebug returns a worker's GODEBUG: this process's, plus permission to seed
// math/rand.
func workerDebug() string {
	return strings.TrimPrefix(os.Getenv("GODEBUG")+",randseednop=0", ",")
}

// startProcess starts a worker and waits until it is ready.
func startProcess(ctx context.Context, argv, env []string) (*process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := fork(argv, env)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	off := w.watch(ctx, time.Minute, false)
	a, err := readAnswer(w.lines)
	off()
	if err == nil && !a.Ready {
		err = errors.New("its first answer is not that of a worker")
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

// fork starts the process. Tasks and answers use two pipes that the code under test does
// not see: for it, stdin is empty, and stdout is stderr.
func fork(argv, env []string) (*process, error) {
	w := &process{cmd: exec.Command(argv[0], argv[1:]...), stderr: child.Output{Limit: stderrLimit}, exited: make(chan struct{})}
	// One thread each, since there is one process per core.
	w.cmd.Env = append(slices.Concat(os.Environ(), env), "GOMAXPROCS=1", fmt.Sprint("GOGC=", GC), "GOTRACEBACK=all", "GODEBUG="+workerDebug())
	w.cmd.Stdout, w.cmd.Stderr = &w.stderr, &w.stderr
	w.cmd.WaitDelay = time.Second // a process that the code under test started may hold stderr open
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
		w.unblock()           // children may hold the pipes open
	}()
	return w, nil
}

// unblock ends pending reads from the process and writes to it.
func (w *process) unblock() {
	_ = w.tasks.SetWriteDeadline(time.Now())
	_ = w.answers.SetReadDeadline(time.Now())
}

// remainder reads on for a moment after the deadline of its file, to get what was written before the
// deadline.
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

// do runs one task. The error is errDied, or says why the campaign cannot go on.
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

// watch kills the process if ctx ends, if the process takes too long, or if it stands still
// although it has work. In the last two cases it first asks the process for a goroutine dump. off
// ends the watch.
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

// hangs waits until the process must be killed, and returns why. It returns "" if the process ends,
// or over is closed, before that. limit is for processor time. Real time may be slowness times as
// long, or just as long if the processor time is unknown.
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
		case told != was || told%2 == 1: // the worker may have waited until log had taken a command
			started, idle = time.Now(), 0
		case took >= slowness*limit, !known && took >= limit:
			return crash.TooSlow
		case !work || !known || now-used >= every/100 || runnable(w.cmd.Process.Pid):
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
	case <-w.exited: // the process id may be reused
	default:
		child.Signal(w.cmd, s)
	}
}

// end waits for a dead process, or kills a live one, and returns how it died.
func (w *process) end() *crash.Death {
	w.leave()
	d := &crash.Death{How: "exit status unknown", Killed: w.killed}
	if w.garbled {
		d.Killed = crash.Garbled
	}
	if s := w.cmd.ProcessState; s != nil {
		d.How, d.Exited = s.String(), s.Exited()
	}
	d.Stderr, d.Cut = w.stderr.Text()
	return d
}

// leave returns when the process has ended. It kills a process that does not end soon.
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
