//go:build linux

package foreign

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// Kinds of the library's requests. Each begins with a head of four int64: kind, descriptor, argument and
// number of bytes that follow.
const (
	toConnect = 'C' // argument: the node's number; toWait waits for the result
	toFetch   = 'F' // the result of toConnect: the answer brings a socket
	toSend    = 'S'
	toWrite   = 'O' // bytes for standard output
	toClose   = 'X'
	toStart   = 'H' // the library is there
	toWait    = 'W' // bytes: descriptors; argument: nanoseconds, < 0 = without limit
)

// requestLimit is the maximum number of bytes of a request.
const requestLimit = 64 << 20

// The library's source: clocks and requests, then threads, then sockets.
var (
	//go:embed shim/virtualtime.c
	clocksSource []byte
	//go:embed shim/threads.c
	threadsSource []byte
	//go:embed shim/sockets.c
	socketsSource []byte
)

// library returns the path of the preloaded library.
var library = sync.OnceValues(func() (string, error) {
	return clockshim.Build("virtualtime", slices.Concat(clocksSource, threadsSource, clockshim.Calls, socketsSource), "-ldl")
})

// driver serves the requests of one child in virtual time.
type driver struct {
	c     *locks.Client
	p     *process
	ctl   *net.UnixConn
	clock *clockPage
	stdin *os.File
	epoch time.Time
	apart time.Duration // the child's place within a microsecond, odd: no two children go on at one instant
	out   bytes.Buffer  // standard output that has no end of line yet

	mu    sync.Mutex
	lines bytes.Buffer // for stdin
	conns map[int64]*wire
	wake  chan struct{}
	// thaw is closed when the child is thawed; nil = it is not frozen.
	thaw chan struct{}
}

// clockPage is the memory that the driver shares with the child: its monotonic clock and its wall clock, in
// nanoseconds, and whether a process that the child started waits or connects, which the library uses.
type clockPage struct{ monotonic, wall, _ int64 }

// wire is a connection of the child to a node. The driver's mu guards it.
type wire struct {
	stop    context.CancelFunc // ends the dial
	dialled bool               // the dial has ended
	failed  syscall.Errno      // why it failed
	near    *os.File           // the other end is the child's descriptor; nil until the child fetches it
	far     net.Conn
	data    []byte // has come from the node, not delivered yet
	ended   bool   // no more data will come
	told    bool   // the end was delivered
	dropped bool   // the child has closed it
}

// startVirtual starts a child in virtual time. It ends with the client's context.
func startVirtual(c *locks.Client, argv []string) (*process, error) {
	shim, err := library()
	if err != nil {
		return nil, fmt.Errorf("virtual time for programs in other languages: %w; real time works: use --testbed process", err)
	}
	p := newProcess(argv)
	d := &driver{c: c, p: p, conns: map[int64]*wire{}, wake: make(chan struct{}, 1), epoch: time.Now()}
	p.in, p.frozen = d, d.freeze
	if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "c")); err == nil {
		d.apart = time.Duration(n*10 + 7)
	}
	theirs, err := d.open()
	if err != nil {
		return nil, fmt.Errorf("virtual time: %w", err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.ExtraFiles = theirs[0], bypass{p}, theirs[1:]
	var addrs []string
	for i := range c.Addrs {
		addrs = append(addrs, fmt.Sprintf("10.0.0.%d:6379", i+1)) // the library knows these
	}
	d.tick()
	err = p.launch(c, addrs, "LD_PRELOAD="+shim, "LOCKSTORM_VIRTUAL_TIME=3", "PYTHONHASHSEED=0")
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		d.close()
		return nil, err
	}
	stop := p.limit()
	defer stop()
	context.AfterFunc(c.Context, p.kill)
	go d.serve()
	if _, err := p.await(); err != nil {
		return nil, err
	}
	return p, nil
}

// open opens what driver and child share, and returns the child's standard input, control socket and
// clock.
func (d *driver) open() (theirs []*os.File, err error) {
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	d.stdin = stdin
	mine, other, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, err
	}
	d.ctl = conn.(*net.UnixConn)
	fd, err := unix.MemfdCreate("clock", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	const size = int(unsafe.Sizeof(clockPage{}))
	page := os.NewFile(uintptr(fd), "clock")
	if err := page.Truncate(int64(size)); err != nil {
		return nil, err
	}
	shared, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	d.clock = (*clockPage)(unsafe.Pointer(unsafe.SliceData(shared)))
	return []*os.File{in, other, page}, nil
}

func socketpair() (mine, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far"), nil
}

// tick sets the child's clocks. An hour is added, since programs take a clock of zero for none.
func (d *driver) tick() {
	atomic.StoreInt64(&d.clock.monotonic, int64(time.Since(d.epoch)+time.Hour))
	atomic.StoreInt64(&d.clock.wall, d.c.Now().UnixNano())
}

// Write queues a line for the child's standard input.
func (d *driver) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.signal()
	return d.lines.Write(line)
}

func (d *driver) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// serve answers the child's requests until it ends.
func (d *driver) serve() {
	defer close(d.p.ended)
	defer d.close()
	for {
		var head [4]int64
		if err := binary.Read(d.ctl, binary.LittleEndian, &head); err != nil {
			return
		}
		if head[3] < 0 || head[3] > requestLimit {
			return
		}
		body := make([]byte, head[3])
		if _, err := io.ReadFull(d.ctl, body); err != nil {
			return
		}
		answer, socket, ok := d.do(byte(head[0]), head[1], head[2], body)
		if !ok {
			return
		}
		d.awake()
		d.tick()
		if err := d.answer(answer, socket); err != nil {
			return
		}
	}
}

// freeze makes the driver withhold its answers, or give them again.
func (d *driver) freeze(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case on && d.thaw == nil:
		d.thaw = make(chan struct{})
	case !on && d.thaw != nil:
		close(d.thaw)
		d.thaw = nil
	}
}

// settling is how long after a freeze the gate has handed over what came meanwhile, in virtual time.
const settling = time.Millisecond

// after returns how long to wait for at least wait, so that the end is at the child's own place within a
// microsecond.
func (d *driver) after(wait time.Duration) time.Duration {
	end := time.Now().Add(wait)
	return wait + time.Microsecond - time.Duration(end.Nanosecond())%time.Microsecond + d.apart
}

// awake returns when the child is not frozen.
func (d *driver) awake() {
	for {
		d.mu.Lock()
		thaw := d.thaw
		d.mu.Unlock()
		if thaw == nil {
			return
		}
		select {
		case <-thaw:
			time.Sleep(d.after(settling)) // what came meanwhile is handed over first, as by a kernel
		case <-d.c.Context.Done():
			return
		}
	}
}

// answer sends an answer, with a descriptor for the child if socket is not nil.
func (d *driver) answer(n int64, socket *os.File) error {
	text := binary.LittleEndian.AppendUint64(nil, uint64(n))
	if socket == nil {
		_, err := d.ctl.Write(text)
		return err
	}
	defer socket.Close()
	_, _, err := d.ctl.WriteMsgUnix(text, unix.UnixRights(int(socket.Fd())), nil)
	return err
}

// do does what the child asks for. It returns !ok if the child is to end.
func (d *driver) do(kind byte, fd, arg int64, body []byte) (answer int64, socket *os.File, ok bool) {
	switch kind {
	case toConnect:
		answer = d.connect(fd, arg)
	case toFetch:
		answer, socket = d.fetch(fd)
	case toSend:
		answer = d.send(fd, body)
	case toWrite:
		answer = int64(len(body))
		if !d.output(body) {
			return 0, nil, false
		}
	case toClose:
		d.drop(fd)
	case toStart:
	case toWait:
		answer = d.wait(arg, body)
	default:
		return 0, nil, false
	}
	return answer, socket, d.c.Context.Err() == nil
}

// output takes the child's lines. It reports false if the child breaks the protocol.
func (d *driver) output(text []byte) bool {
	d.out.Write(text)
	for {
		line, err := d.out.ReadBytes('\n')
		if err != nil {
			d.out.Write(line)
			if len(line) > lineLimit {
				d.p.mu.Lock()
				d.p.broken = fmt.Errorf("the client wrote a line of more than %d bytes", lineLimit)
				d.p.mu.Unlock()
				return false
			}
			return true
		}
		if d.p.take(line) != nil {
			return false
		}
	}
}

// wait waits until one of the descriptors can be read, and returns it; -1 = the time is over.
func (d *driver) wait(ns int64, body []byte) int64 {
	fds := make([]int32, len(body)/4)
	if _, err := binary.Decode(body, binary.LittleEndian, fds); err != nil {
		return -1
	}
	var over <-chan time.Time
	if ns > 0 {
		t := time.NewTimer(d.after(time.Duration(ns)))
		defer t.Stop()
		over = t.C
	}
	for passed := ns == 0; ; {
		if fd := d.deliver(fds); fd >= 0 || passed {
			return fd
		}
		select {
		case <-d.wake:
		case <-over:
			d.awake()
			passed = true
		case <-d.c.Context.Done():
			return -1
		}
	}
}

// close ends the child's connections.
func (d *driver) close() {
	d.ctl.Close()
	d.stdin.Close()
	d.mu.Lock()
	var all []int64
	for fd := range d.conns {
		all = append(all, fd)
	}
	d.mu.Unlock()
	for _, fd := range all {
		d.drop(fd)
	}
}

// bypass takes what the child writes past the library. It is called outside of bubbles.
type bypass struct{ p *process }

// Write implements io.Writer.
func (b bypass) Write(text []byte) (int, error) {
	b.p.mu.Lock()
	if errors.Is(b.p.broken, errNotReady) {
		b.p.broken = nil
	}
	b.p.mu.Unlock()
	b.p.fail(fmt.Errorf("%s wrote %s past the library that gives it virtual time: name the program itself instead of a script that starts it; for a static program, a JVM or .NET use --testbed process", b.p.cmd.Path, excerpt(text)))
	return len(text), nil
}

// limit makes the child fail if it is not ready after readyWithin of real time. stop ends the watch.
func (p *process) limit() (stop func()) {
	var t *time.Timer
	outside(func() {
		t = time.AfterFunc(readyWithin, func() {
			p.fail(fmt.Errorf("%w; if its program cannot run in virtual time, use --testbed process", p.late()))
		})
	})
	return func() { outside(func() { t.Stop() }) }
}
