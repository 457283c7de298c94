package clientproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/internal/child"
)

// saidLimit is the number of bytes of a process's output to keep, at the beginning and
// again at the end.
const saidLimit = 256 << 10

// Death is the error of a client process that ended without being asked to.
type Death struct {
	Client int
	How    string // "exit status 2", "signal: killed"
	Exited bool   // the process ended by itself, with an exit status
	Said   string // its output on stdout and stderr
	Cut    bool   // the middle of Said is missing
	// Garbled: the process made a call that could not be decoded.
	Garbled bool
}

// Error implements error.
func (d *Death) Error() string {
	return fmt.Sprintf("the process of client %d died: %s", d.Client, d.How)
}

type process struct {
	id     int
	cmd    *exec.Cmd
	said   child.Output
	pipe   pipes
	exited chan struct{} // closed when the process has ended
	ready  chan struct{} // closed when the client has its connections and, if it is to be frozen, is stopped
	ended  chan struct{} // closed when the session has ended
	end    End           // how the session ended; valid once ended is closed

	garbled atomic.Bool // the process made a call that could not be decoded

	mu     sync.Mutex
	frozen int   // number of freezes in force
	asked  bool  // killed on purpose
	gaps   []Gap // times when the process was stopped
	is     state
	work   <-chan struct{} // the last result of testbed.Client.Work
}

// state is the progress of a session.
type state int

const (
	starting state = iota
	running
	done
)

// reach notes the state that the process reports and, in state done, how the session ended. It ignores a
// state that was reached before. If the client was frozen before its process was ready, reach stops the
// process now, when the process has its connections: no client begins before all have theirs. If the
// process cannot be stopped, its session ends with that error, and it never becomes ready.
func (p *process) reach(s state, end End, now func() time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s <= p.is {
		return nil
	}
	if p.is = s; s == done {
		p.finish(end)
		return nil
	}
	if p.frozen > 0 && !p.still() && !p.gone() {
		if err := p.stop(now); err != nil {
			p.resume(now) // so that the process hears of the error
			p.is = done
			p.finish(End{Err: err.Error()})
			return err
		}
	}
	close(p.ready)
	return nil
}

// finish notes how the session ended. The caller holds mu.
func (p *process) finish(end End) {
	p.end = end
	close(p.ended)
}

// still says whether the process is stopped. The caller holds mu.
func (p *process) still() bool { return len(p.gaps) > 0 && p.gaps[len(p.gaps)-1].To == 0 }

func newProcess(id int) *process {
	return &process{
		id: id, said: child.Output{Limit: saidLimit},
		exited: make(chan struct{}), ended: make(chan struct{}), ready: make(chan struct{}),
	}
}

// start starts the process. The code under test does not see the pipes: for it, stdin is
// empty, and stdout is stderr.
func (p *process) start(argv []string, clock *os.File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.WaitDelay = time.Second // a process that the code under test started may hold stderr open
	in, calls, err := os.Pipe()
	if err != nil {
		return err
	}
	defer calls.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	defer answers.Close()
	p.pipe = pipes{in, out}
	p.cmd.ExtraFiles = []*os.File{calls, answers, clock} // callsFile, answersFile and clockFile
	if err := child.Start(p.cmd); err != nil {
		return errors.Join(err, p.pipe.Close())
	}
	go func() {
		defer close(p.exited)
		_ = child.Wait(p.cmd) // ProcessState has the result
	}()
	return nil
}

// gone says whether the process has not started or has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return p.cmd == nil || p.cmd.Process == nil
	}
}

// awaitStopped is child.AwaitStopped; tests replace it.
var awaitStopped = child.AwaitStopped

// freeze stops the process and the processes that it has started.
func (p *process) freeze(now func() time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen++; p.frozen > 1 || p.gone() {
		return nil
	}
	if err := p.stop(now); err != nil {
		p.release(now) // no thaw follows a failed freeze
		return err
	}
	return nil
}

func (p *process) stop(now func() time.Duration) error {
	p.gaps = append(p.gaps, Gap{From: now()})
	child.Signal(p.cmd, syscall.SIGSTOP)
	if err := awaitStopped(p.cmd.Process.Pid); err != nil {
		return fmt.Errorf("freeze client %d: %w", p.id, err)
	}
	return nil
}

// thaw undoes one freeze; the process resumes after the last one is undone.
func (p *process) thaw(now func() time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(now)
}

// release is thaw for callers that hold mu.
func (p *process) release(now func() time.Duration) {
	if p.frozen--; p.frozen > 0 || p.gone() {
		return
	}
	p.resume(now)
}

// resume lets the process go on. The caller holds mu.
func (p *process) resume(now func() time.Duration) {
	child.Signal(p.cmd, syscall.SIGCONT)
	if p.still() { // false if the freeze came before the process existed
		p.gaps[len(p.gaps)-1].To = now()
	}
}

// kill kills the process and waits for its end.
func (p *process) kill() {
	p.mu.Lock()
	p.asked = true
	if !p.gone() {
		child.Signal(p.cmd, syscall.SIGKILL)
	}
	started := p.cmd != nil && p.cmd.Process != nil
	p.mu.Unlock()
	if started {
		<-p.exited
	}
}

// lateness returns the part of a gap's lateness that no freeze explains.
func (p *process) lateness(g Gap) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := g.Late
	for _, f := range p.gaps {
		if f.To == 0 {
			f.To = g.To
		}
		late -= max(0, min(f.To, g.To)-max(f.From, g.From))
	}
	return late
}

// death returns how the ended process died; nil if it was killed on purpose.
func (p *process) death() *Death {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked {
		return nil
	}
	d := &Death{Client: p.id, How: "exit status unknown", Garbled: p.garbled.Load()}
	if s := p.cmd.ProcessState; s != nil {
		d.How, d.Exited = s.String(), s.Exited()
	}
	d.Said, d.Cut = p.said.Text()
	return d
}
