package clientproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// ErrNoTrial says that no trial started this process.
var ErrNoTrial = errors.New("a client process is started by a trial, not by hand")

// Session connects a client process with its trial. It implements workloads.Env,
// workloads.Recorder and testbed.Client.
type Session struct {
	calls  *rpc.Client
	hello  Hello
	skew   *skew
	locks  *locks.Client
	healed chan struct{}
}

var (
	_ testbed.Client     = (*Session)(nil)
	_ workloads.Env      = (*Session)(nil)
	_ workloads.Recorder = (*Session)(nil)
)

// Join makes this process the client for which a Host started it. The session and the
// background work of its locks last until ctx ends. The error is ErrNoTrial if no Host
// started this process. A process calls Join once, and then Connect.
func Join(ctx context.Context) (*Session, error) {
	for fd, kind := range map[int]uint32{callsFile: syscall.S_IFIFO, answersFile: syscall.S_IFIFO, clockFile: syscall.S_IFREG} {
		var info syscall.Stat_t
		if err := syscall.Fstat(fd, &info); err != nil || uint32(info.Mode)&syscall.S_IFMT != kind {
			return nil, ErrNoTrial
		}
		// Programs that the code under test starts must not inherit the files.
		syscall.CloseOnExec(fd)
	}
	clock := os.NewFile(clockFile, "clock")
	defer clock.Close()
	s := &Session{
		calls:  rpc.NewClient(pipes{os.NewFile(answersFile, "answers"), os.NewFile(callsFile, "calls")}),
		healed: make(chan struct{}),
	}
	var err error
	if s.skew, err = openSkew(clock); err != nil {
		return nil, err
	}
	if err := s.call(ctx, "Hello", None{}, &s.hello); err != nil {
		return nil, err
	}
	s.locks = &locks.Client{
		ID: fmt.Sprintf("c%d", s.hello.ID), Addrs: s.hello.Route.Addrs, Prefix: s.hello.Route.Prefix, Dial: s.dial, Now: s.now, Context: ctx,
		Rand: testbed.NewRandom(s.hello.Seed, s.hello.ID),
	}
	return s, nil
}

// Connect opens the client's connections. It returns when all clients have theirs and the host lets
// them begin (Host.Run).
func (s *Session) Connect(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	go func() {
		if s.call(ctx, "Healed", None{}, nil) == nil {
			close(s.healed)
		}
	}()
	return s.call(ctx, "Ready", None{}, nil)
}

// warmingTimeout limits the opening of connections before the client begins. It is long enough for a
// busy machine.
const warmingTimeout = 30 * time.Second

// connect makes the client's connection pools and opens their connections.
func (s *Session) connect(ctx context.Context) error {
	var pools []*redis.Client
	route := s.hello.Route
	if route.Cluster {
		return s.connectCluster(ctx)
	}
	if len(route.Sentinels) > 0 {
		o := testbed.FailoverOptions(route.Primary, route.Sentinels, s.hello.CommandTimeout)
		o.Dialer = s.dial
		r := redis.NewFailoverClient(o)
		pools, s.locks.Dial = append(pools, r), r.Options().Dialer // the dialer asks the Sentinels
	} else {
		for _, addr := range route.Addrs {
			o := testbed.RedisOptions(addr, s.hello.CommandTimeout)
			o.Dialer = s.dial
			pools = append(pools, redis.NewClient(o))
		}
	}
	var warm errgroup.Group
	for _, r := range pools {
		s.locks.Nodes = append(s.locks.Nodes, r)
		warm.Go(func() error { return warmUp(ctx, r) })
	}
	return warm.Wait()
}

// connectCluster is connect for a client of a Redis Cluster.
func (s *Session) connectCluster(ctx context.Context) error {
	o := testbed.ClusterOptions(s.hello.Route.Addrs, s.hello.CommandTimeout)
	o.Dialer = s.dial
	r := redis.NewClusterClient(o)
	s.locks.Nodes = append(s.locks.Nodes, r)
	ctx, cancel := context.WithTimeout(ctx, warmingTimeout)
	defer cancel()
	var last error
	for { // until the client knows where the slots are
		err := r.ForEachMaster(ctx, warmUp)
		if err == nil {
			break
		}
		if last == nil || ctx.Err() == nil { // keep the last error that is not the context's own
			last = err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("learn the slots: %w, and before: %w", ctx.Err(), last)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return r.ForEachShard(ctx, warmUp)
}

func warmUp(ctx context.Context, r *redis.Client) error {
	return testbed.WarmUp(ctx, r.WithTimeout(warmingTimeout), testbed.WarmConnections) // WithTimeout shares the pool
}

// call calls a method of the trial's service (type trial) and waits for the result, or until ctx
// ends.
func (s *Session) call(ctx context.Context, method string, args, reply any) error {
	if reply == nil {
		reply = new(None)
	}
	c := s.calls.Go(serviceName+"."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-c.Done:
		return recognise(c.Error)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// conn is a connection to a node. Its errors contain no addresses, since they go into
// histories.
type conn struct {
	*net.TCPConn
	session *Session
	number  int             // the connection's number at the relay
	node    testbed.Address // the requested node

	writing sync.Mutex
	written int64
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	return n, testbed.BareError(err)
}

// Write implements net.Conn. It returns when p has passed the gate, however long the
// gate holds p.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.TCPConn.Write(p)
	c.written += int64(n)
	if err == nil {
		err = c.session.call(context.Background(), "Passed", Written{c.number, c.written}, nil)
	}
	return n, testbed.BareError(err)
}

// RemoteAddr implements net.Conn. It is the node's address, not the relay's: a client that
// follows Sentinels closes connections to any address but the primary's.
func (c *conn) RemoteAddr() net.Addr { return c.node }

// dial connects to a node through the trial's relay.
func (s *Session) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	c, number, err := dialRelay(ctx, s.hello.Relay, s.hello.ID, addr)
	if err != nil {
		return nil, err
	}
	return &conn{TCPConn: c, session: s, number: number, node: testbed.Address(addr)}, nil
}

// now returns the client's wall clock. The time has no monotonic reading, so that comparisons use
// the wall clock.
func (s *Session) now() time.Time { return time.Now().Round(0).Add(s.skew.get()) }

// ID returns the client's number in the trial.
func (s *Session) ID() int { return s.hello.ID }

// Job returns the description of the client's task (World.Job).
func (s *Session) Job() []byte { return s.hello.Job }

// Healed returns a channel that is closed when the liveness phase begins.
func (s *Session) Healed() <-chan struct{} { return s.healed }

// Now implements workloads.Env.
func (s *Session) Now() time.Duration {
	now, err := monotonic()
	if err != nil { // not expected: the host read this clock already
		panic(err)
	}
	return now - s.hello.Origin
}

// Client implements workloads.Env. This process has only one client.
func (s *Session) Client(int) testbed.Client { return s }

// Locks implements testbed.Client.
func (s *Session) Locks() *locks.Client { return s.locks }

// Step implements testbed.Client.
func (s *Session) Step(ctx context.Context, name string) error { return s.call(ctx, "Step", name, nil) }

// Work implements testbed.Client.
func (s *Session) Work(ctx context.Context) (prolonged <-chan struct{}, err error) {
	slow := false
	if err := s.call(ctx, "Work", None{}, &slow); err != nil || !slow {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		if s.call(ctx, "Worked", None{}, nil) == nil {
			close(done)
		}
	}()
	return done, nil
}

// Awake implements testbed.Client. It need not wait: a frozen process does not call it.
func (s *Session) Awake(ctx context.Context) error { return ctx.Err() }

// Open implements testbed.Client.
func (s *Session) Open(op int) { _ = s.call(context.Background(), "Open", op, nil) } // the next call reports the error

// Invoke implements workloads.Recorder.
func (s *Session) Invoke(op history.Op) (entry history.Op, err error) {
	err = s.call(context.Background(), "Invoke", op, &entry)
	return entry, err
}

// Complete implements workloads.Recorder.
func (s *Session) Complete(op history.Op) (entry history.Op, err error) {
	err = s.call(context.Background(), "Complete", op, &entry)
	return entry, err
}

// Event implements workloads.Recorder.
func (s *Session) Event(op history.Op) (entry history.Op, err error) {
	err = s.call(context.Background(), "Event", op, &entry)
	return entry, err
}

// End implements workloads.Recorder.
func (s *Session) End(op history.Op, at time.Duration) error {
	return s.call(context.Background(), "End", Last{op, at}, nil)
}

// Late reports a gap in the process's activity, and returns the longest lateness known
// to the trial: shorter ones need no report.
func (s *Session) Late(g Gap) (longest time.Duration, err error) {
	err = s.call(context.Background(), "Late", g, &longest)
	return longest, err
}

// Resource returns the resource that the given lock guards.
func (s *Session) Resource(lock string) workloads.Resource { return resource{s, lock} }

type resource struct {
	session *Session
	lock    string
}

// Read implements workloads.Resource.
func (r resource) Read(fence int64) (workloads.Answer, error) {
	return r.touch(Touch{Lock: r.lock, Fence: fence})
}

// Write implements workloads.Resource.
func (r resource) Write(fence int64, values []int64) (workloads.Answer, error) {
	return r.touch(Touch{Lock: r.lock, Fence: fence, Write: true, Values: values})
}

func (r resource) touch(t Touch) (answer workloads.Answer, err error) {
	err = r.session.call(context.Background(), "Touch", t, &answer)
	return answer, err
}

// Ended reports how the session ended, and returns when all sessions have ended. Goroutines
// that the client left may continue until Stay returns.
func (s *Session) Ended(ctx context.Context, e End) error { return s.call(ctx, "Ended", e, nil) }

// Stay returns when the trial no longer needs the process.
func (s *Session) Stay(ctx context.Context) { _ = s.call(ctx, "Stay", None{}, nil) } // an error means that the trial is gone
