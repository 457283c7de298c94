package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// node is a Redis node or a Sentinel. Its server may be killed and started again.
type node struct {
	name        string
	place       Place
	dir         string
	log         string
	durability  testbed.Durability
	sentinel    bool // a Sentinel, not a Redis node
	clock       func() time.Duration
	died        func(error)  // called if the server dies unexpectedly or cannot store its data
	peerProxies *peerProxies // the peer proxies through which other servers reach the node; may be nil
	args        []string     // the node's own options, for every start
	keeps       string       // name of a file that wipe keeps; "" = none
	// If admit is not nil, the tap calls it before each client's command is executed.
	admit func(client int, args []history.Bytes)

	// turn is a lock. The one command that the node is executing holds it, so that the order of
	// execution is known. A fault that no command may disturb holds it, too.
	turn     chan struct{}
	executed int        // commands handed to the node; guarded by turn
	named    *namedKeys // nil unless others use the server, too
	aof      aof
	writes   atomic.Pointer[writeCounter] // nil if the node's writes are not counted
	wall     *clockshim.Clock             // nil = the machine's clock
	monitor  *monitor                     // may be nil
	observer *observer                    // may be nil; set before there are clients

	pausing sync.Mutex
	paused  *pause // nil if not paused; guarded by pausing

	life sync.Mutex // held while the server is started or closed

	mu     sync.Mutex // held only briefly, never during a start
	server Server     // nil before the first start
	up     bool       // false before the first start, from a kill to the next start, and after close
	links  []*link    // with watchers: they are told when up changes
	watch  sync.WaitGroup
}

// tell tells the links with watchers that the node went down or came up.
func (n *node) tell() {
	n.mu.Lock()
	links := n.links
	n.mu.Unlock()
	for _, l := range links {
		l.tell()
	}
}

func newNode(name string, place Place, dir, log string, s testbed.Setup, died func(error)) *node {
	return &node{
		name: name, place: place, dir: dir, log: log, durability: s.Durability, clock: s.Clock, died: died,
		turn: make(chan struct{}, 1),
	}
}

// start starts the node's server with the data in its directory. The server is killed when
// ctx ends.
func (n *node) start(ctx context.Context, args ...string) error {
	n.life.Lock()
	defer n.life.Unlock()
	return n.launch(ctx, args...)
}

// launch is start for a caller that already holds n.life.
func (n *node) launch(ctx context.Context, args ...string) error {
	n.observer.restarting()
	s, err := n.place.Start(ctx, ServerOptions{
		Name: n.name, Dir: n.dir, Log: n.log, Before: n.latest(), Sentinel: n.sentinel,
		Args: slices.Concat(n.persistence(), n.args, args), Clock: n.clockFile(),
	})
	if err != nil {
		return err
	}
	if _, shared := s.(Remote); shared {
		n.named = &namedKeys{keys: map[string]bool{}}
	}
	if p, ok := s.(Peer); ok && n.peerProxies != nil {
		n.peerProxies.meet(p.Peer(), n.name)
	}
	var stream *monitorStream
	if n.monitor != nil {
		if stream, err = n.monitor.follow(ctx, s); err != nil {
			return fmt.Errorf("node %s: %w", n.name, errors.Join(err, s.Close()))
		}
	}
	n.aof.begin(n.dir, n.clock())
	n.mu.Lock()
	n.server, n.up = s, true
	n.mu.Unlock()
	n.tell()
	if stream != nil {
		n.watch.Go(func() { stream.write(func() bool { return n.runs(s) }) })
	}
	n.watch.Go(func() {
		<-s.Exited()
		if n.runs(s) && ctx.Err() == nil {
			n.died(fmt.Errorf("node %s %s: %w", n.name, ended(s), s.Err()))
		}
	})
	return n.observer.now(ctx, "")
}

// latest returns the running server, or the last server if none runs; nil before the first start.
func (n *node) latest() Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// runs reports whether s is the node's present server and has not been killed.
func (n *node) runs(s Server) bool {
	now, err := n.running()
	return err == nil && now == s
}

// persistence returns the server's options for the node's durability. Under EverySec, Redis never
// syncs the file; instead, aof cuts the file at a restart. The option appendfsync everysec is
// unsuitable: while a sync is under way, Redis answers before it writes (flushAppendOnlyFile), so
// the file's size does not tell which answered commands the file holds.
func (n *node) persistence() []string {
	if n.sentinel || n.durability == testbed.Volatile {
		return nil
	}
	fsync := string(n.durability)
	if n.durability == testbed.EverySec {
		fsync = "no"
	}
	return []string{"--appendonly", "yes", "--appendfsync", fsync, "--auto-aof-rewrite-percentage", "0"}
}

// running returns the node's server, or an error if the node is down.
func (n *node) running() (Server, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return nil, fmt.Errorf("node %s is down", n.name)
	}
	return n.server, nil
}

func (n *node) addr() string { return n.latest().Addr() }

// ended returns the words for a server's unexpected end.
func ended(s Server) string {
	if _, ok := s.(Remote); ok {
		return "cannot be used any more"
	}
	return "died unexpectedly"
}

func (n *node) dial(ctx context.Context) (net.Conn, error) {
	s := n.latest()
	if r, ok := s.(Remote); ok {
		ctx, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		return r.Dial(ctx)
	}
	return new(net.Dialer).DialContext(ctx, "tcp4", s.Addr())
}

// killTimeout is how long a kill, or an observer's last look, waits for the command that the node is
// executing.
const killTimeout = 100 * time.Millisecond

// kill calls down and then kills the node's server. kill holds the node's turn meanwhile, if the turn
// becomes free within killTimeout. kill fails if the node is down already. If ctx ends before down is
// called, the node lives on. If ctx ends later, kill does not wait for the server's end.
func (n *node) kill(ctx context.Context, down func() error) error {
	if n.quiet(ctx) {
		defer n.release()
	}
	if _, err := n.running(); err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kill node %s: %w", n.name, err)
	}
	if err := testbed.CallIfAny(down); err != nil {
		return err
	}
	n.mu.Lock()
	if !n.up {
		n.mu.Unlock()
		return fmt.Errorf("kill: node %s is down", n.name)
	}
	n.up = false
	s := n.server
	n.mu.Unlock()
	n.tell()
	n.aof.end(n.clock())
	n.stopCounting()
	n.peerProxies.forget(n.name)
	if err := n.end(ctx, s); err != nil {
		return fmt.Errorf("kill node %s: %w", n.name, err)
	}
	return nil
}

// end kills the server and waits for its end. If ctx ends first, end returns, and the node's close
// waits instead.
func (n *node) end(ctx context.Context, s Server) error {
	killed := make(chan error, 1)
	n.watch.Go(func() { killed <- s.Kill() })
	select {
	case err := <-killed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restart starts a killed node again with the data that its durability keeps, and returns
// the data that was lost.
func (n *node) restart(ctx context.Context, args ...string) (lost history.Lost, err error) {
	n.life.Lock()
	defer n.life.Unlock()
	if s := n.latest(); s == nil || n.runs(s) {
		return lost, fmt.Errorf("restart: node %s is not down", n.name)
	}
	lost, err = n.lose()
	if err != nil {
		return lost, fmt.Errorf("restart node %s: %w", n.name, err)
	}
	return lost, n.launch(ctx, args...)
}

// lose removes from the node's directory the data that a power loss would have removed.
func (n *node) lose() (lost history.Lost, err error) {
	lost = history.Lost{Durability: n.durability, Scripts: true}
	switch n.durability {
	case testbed.Always:
	case testbed.EverySec:
		lost.Commands, err = n.aof.cut(n.dir)
		lost.Writes = len(lost.Commands)
	default:
		lost.Keys, err = true, n.wipe()
	}
	return lost, err
}

// wipe removes all files in the node's directory except n.keeps.
func (n *node) wipe() error {
	files, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name() != n.keeps {
			err = errors.Join(err, os.RemoveAll(filepath.Join(n.dir, f.Name())))
		}
	}
	return err
}

// close kills the server, waits for its end and frees the node's resources. The node must
// not be started again.
func (n *node) close() error {
	n.life.Lock()
	defer n.life.Unlock()
	n.mu.Lock()
	n.up = false
	s := n.server
	n.mu.Unlock()
	var err error
	if r, ok := s.(Remote); ok {
		err = r.Clean(n.named.all())
	}
	if s != nil {
		err = errors.Join(err, s.Close())
		n.monitor.stop()
		n.watch.Wait()
	}
	err = errors.Join(err, n.monitor.close())
	if n.wall != nil {
		err = errors.Join(err, n.wall.Close())
	}
	return err
}

// admin returns a client that bypasses links and gate.
func (n *node) admin() (*redis.Client, error) {
	s, err := n.running()
	if err != nil {
		return nil, err
	}
	o := testbed.RedisOptions(s.Addr(), adminTimeout)
	o.PoolSize = 1
	if r, ok := s.(Remote); ok {
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return r.Dial(ctx) }
	}
	return redis.NewClient(o), nil
}

// adminTimeout bounds how long a node may take to answer the harness's own commands, and to do what
// they ask for.
const adminTimeout = 10 * time.Second

// ask calls exchange with a client that bypasses links and gate.
func (n *node) ask(ctx context.Context, exchange func(*redis.Client) error) error {
	c, err := n.admin()
	if err != nil {
		return err
	}
	err = exchange(c)
	if cerr := c.Close(); err == nil && cerr != nil && !errors.Is(cerr, net.ErrClosed) {
		err = cerr
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// take waits for the node's turn; it returns false if giveUp is closed first.
func (n *node) take(giveUp <-chan struct{}) bool {
	select {
	case n.turn <- struct{}{}:
		return true
	case <-giveUp:
		return false
	}
}

func (n *node) release() { <-n.turn }

// quiet takes the node's turn for a kill. It returns false if the node is paused or if the
// turn is not free within killTimeout.
func (n *node) quiet(ctx context.Context) bool {
	timeout := killTimeout
	if n.pausing.TryLock() {
		if s, err := n.running(); err == nil && n.paused != nil && n.paused.server == s {
			timeout = 0
		}
		n.pausing.Unlock()
	}
	ctx, cancel := context.WithTimeout(ctx, max(timeout, time.Millisecond)) // at least 1 ms, to take a turn that is free
	defer cancel()
	return n.take(ctx.Done())
}

// logFile returns the path of a node's log, "" if logs are not kept.
func logFile(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name+".log")
}
