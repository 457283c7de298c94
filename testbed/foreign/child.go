package foreign

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/child"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/locks"
)

// readyWithin is how long a child may take until it is ready, on the clock that it runs on.
const readyWithin = 20 * time.Second

// errNotReady says that a child was not ready in time. What the child wrote past the library meanwhile
// explains it better, even if it is read later.
var errNotReady = errors.New("the client is not ready")

// defaultTimeout is LOCKSTORM_TIMEOUT_MS if the client's connections do not tell it.
const defaultTimeout = 3 * time.Second

// notCarried is the exit code with which the library ends a child that virtual time cannot carry.
const notCarried = 70

// stderrLimit is how much of a child's stderr is kept, in bytes, at the beginning and again at the end.
const stderrLimit = 32 << 10

// process is a running child. Its methods may be called concurrently.
type process struct {
	cmd    *exec.Cmd
	stderr child.Output
	// exited is closed after the child has ended. It is made outside of bubbles.
	exited <-chan struct{}

	// frozen freezes and thaws the child in virtual time; nil in real time.
	frozen func(bool)
	// own is nil unless the child's program is this one.
	own    *own
	within time.Duration // how long the child may take until it is ready

	mu      sync.Mutex
	in      io.Writer // the child's standard input; does not block
	last    int64
	pending map[int64]chan answer
	lost    map[int64]chan struct{}
	grants  map[<-chan struct{}]int64 // the requests that granted leases, by locks.Lease.LostC
	able    *Abilities                // nil until the child is ready
	broken  error                     // what the child did wrong
	killed  bool                      // the child was killed on purpose
	ready   chan struct{}             // closed when the child is ready
	ended   chan struct{}             // closed when no more lines come
}

func newProcess(argv []string) *process {
	p := &process{
		cmd: exec.Command(argv[0], argv[1:]...), stderr: child.Output{Limit: stderrLimit},
		pending: map[int64]chan answer{}, lost: map[int64]chan struct{}{}, grants: map[<-chan struct{}]int64{},
		ready: make(chan struct{}), ended: make(chan struct{}), within: readyWithin,
	}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.stderr, time.Second
	return p
}

// launch gives the child its environment and starts it. It may be called in a bubble.
func (p *process) launch(c *locks.Client, addrs []string, extra ...string) error {
	var seed [8]byte
	if _, err := io.ReadFull(c.Rand, seed[:]); err != nil {
		return fmt.Errorf("draw the seed of a client: %w", err)
	}
	p.cmd.Env = append(os.Environ(), "LOCKSTORM_ADDRS="+strings.Join(addrs, ","), "LOCKSTORM_CLIENT="+c.ID,
		fmt.Sprintf("LOCKSTORM_TIMEOUT_MS=%d", timeout(c).Milliseconds()),
		fmt.Sprintf("LOCKSTORM_SEED=%d", binary.LittleEndian.Uint64(seed[:])>>16))
	p.cmd.Env = append(p.cmd.Env, extra...)
	var err error
	outside(func() {
		if err = child.Start(p.cmd); err != nil {
			return
		}
		exited := make(chan struct{})
		p.exited = exited
		go func() {
			defer close(exited)
			_ = child.Wait(p.cmd) // ProcessState has the result
		}()
	})
	if err != nil {
		return fmt.Errorf("start the client %s: %w", p.cmd.Path, err)
	}
	if c.Adopt != nil {
		c.Adopt(p)
	}
	return nil
}

// timeout returns how long the client's connections wait for a reply.
func timeout(c *locks.Client) time.Duration {
	if len(c.Nodes) > 0 {
		if r, ok := c.Nodes[0].(*redis.Client); ok && r.Options().ReadTimeout > 0 {
			return r.Options().ReadTimeout
		}
	}
	return defaultTimeout
}

// errands are functions to run outside of bubbles: what a goroutine of a bubble starts or makes
// belongs to the bubble, but a child's end is awaited outside.
var errands = make(chan errand)

type errand struct {
	do   func()
	done *sync.Mutex // held until do has returned; unlike a channel, it belongs to no bubble
}

func init() {
	go func() {
		for e := range errands {
			e.do()
			e.done.Unlock()
		}
	}()
}

// outside runs do outside of any bubble.
func outside(do func()) {
	e := errand{do, new(sync.Mutex)}
	e.done.Lock()
	errands <- e
	e.done.Lock() // waits for do; no durable wait
	defer e.done.Unlock()
}

// await waits until the child is ready. The error is one line that ends with the child's stderr.
func (p *process) await() (Abilities, error) {
	late := time.NewTimer(p.within)
	defer late.Stop()
	select {
	case <-p.ready:
		return *p.able, nil
	case <-p.ended:
		return Abilities{}, p.why("before it was ready")
	case <-late.C:
		p.fail(p.late())
		return Abilities{}, p.why("")
	}
}

// late returns the error of a child that is not ready in time.
func (p *process) late() error { return fmt.Errorf("%w after %v", errNotReady, p.within) }

// said returns the last lines of the child's stderr, for the end of a sentence.
func (p *process) said() string {
	text, _ := p.stderr.Text()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(strings.Join(lines[max(0, len(lines)-3):], "; "))
	if text == "" {
		return "; it wrote nothing on its standard error"
	}
	return "; the end of its standard error: " + text
}

// why says how the child's output ended. It waits for the child's end.
func (p *process) why(when string) error {
	select {
	case <-p.exited:
	case <-p.left():
		p.fail(p.apart(when))
		<-p.exited
	}
	p.mu.Lock()
	broken, killed := p.broken, p.killed
	p.mu.Unlock()
	switch {
	case killed:
		return errKilled
	case broken != nil:
		return fmt.Errorf("%w%s", broken, p.said())
	case p.cmd.ProcessState.ExitCode() == notCarried:
		return fmt.Errorf("%w: use --testbed process%s", errNotCarried, p.said())
	}
	return fmt.Errorf("the client ended %s: %s%s", when, p.cmd.ProcessState, p.said())
}

// apart says what a child did that lives on although no more lines come from it.
func (p *process) apart(when string) error {
	if p.frozen == nil {
		return fmt.Errorf("the client closed its standard output %s", when)
	}
	return fmt.Errorf("the client left virtual time %s: if %s is a script, name the program that it starts; else use --testbed process", when, p.cmd.Path)
}

// leaving is how long a child whose output has ended may take to end, in real time.
const leaving = 2 * time.Second

// left returns a channel, made outside of bubbles, that is closed after leaving.
func (p *process) left() <-chan struct{} {
	var over chan struct{}
	outside(func() {
		over = make(chan struct{})
		time.AfterFunc(leaving, func() { close(over) })
	})
	return over
}

// errNotCarried says that the client does what only real time can carry: that is not the lock's conduct.
var errNotCarried = errors.New("virtual time cannot carry the client")

var errKilled = errors.New("the client was killed")

// kill kills the child and its process group. A child that has ended was not killed.
func (p *process) kill() {
	select {
	case <-p.exited:
		return
	default:
	}
	p.mu.Lock()
	p.killed = p.broken == nil
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
}

// Kill implements locks.Process.
func (p *process) Kill() { p.kill() }

// End implements locks.Process.
func (p *process) End() (stderr string) {
	p.kill()
	<-p.exited
	stderr, _ = p.stderr.Text()
	return stderr
}

// Skew implements locks.Process. In virtual time the driver asks the client for the time; in real time a
// program in another language has the machine's clock.
func (p *process) Skew(offset time.Duration) {
	if p.own != nil {
		p.send(request{ownRequest: ownRequest{Ahead: &offset}})
	}
}

// Freeze implements locks.Process: in real time the operating system stops the process.
func (p *process) Freeze() {
	if p.frozen != nil {
		p.frozen(true)
		return
	}
	if p.own != nil {
		p.own.freeze(true)
	}
	p.signal(syscall.SIGSTOP)
	_ = child.AwaitStopped(p.cmd.Process.Pid) // a child that has ended is as good as stopped
}

// Thaw implements locks.Process.
func (p *process) Thaw() {
	if p.frozen != nil {
		p.frozen(false)
		return
	}
	p.signal(syscall.SIGCONT)
	if p.own != nil {
		p.own.freeze(false)
	}
}

// fail makes err the reason why the child's output ends, and kills the child.
func (p *process) fail(err error) {
	p.mu.Lock()
	if p.broken == nil && !p.killed {
		p.broken = err
	}
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.exited: // the process id may be reused
	default:
		child.Signal(p.cmd, s)
	}
}

// start starts a child for the client, in virtual time if the caller is in a bubble.
func start(c *locks.Client, argv []string) (*process, error) {
	if crash.Bubble() != "" {
		return startVirtual(c, argv)
	}
	return startReal(c, argv)
}
