package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// server is one run of a redis-server in its box.
type server struct {
	*box
	log    *redisserver.Log
	exited chan struct{}
	state  error // how the server ended; written before exited is closed
	stop   func() bool
	leave  context.CancelFunc // ends watch's goroutines
	watch  sync.WaitGroup
	// Addresses, set by await: that of the published port, and the container's own.
	addr string
	own  netip.Addr
}

var _ live.Peer = (*server)(nil)

// start starts a server in the previous server's box or, without one, in a new box.
func (s *session) start(ctx context.Context, o live.ServerOptions) (*server, error) {
	if before, ok := o.Before.(*server); ok {
		return before.box.restart(ctx, o)
	}
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := s.newBox(context.WithoutCancel(ctx), o)
		if err != nil {
			return nil, err
		}
		one, err := b.start(ctx, o)
		if err == nil {
			return one, nil
		}
		err = errors.Join(err, b.remove())
		if !portTaken(err) || try == portAttempts {
			return nil, err
		}
	}
}

// portTimeout bounds the wait for the port of a container that has ended.
const portTimeout = 10 * time.Second

// restart starts a server in the box of a server that has ended. The engine's own proxy may listen on the box's port
// for a moment longer than the container lives.
func (b *box) restart(ctx context.Context, o live.ServerOptions) (*server, error) {
	for until := time.Now().Add(portTimeout); ; {
		one, err := b.start(ctx, o)
		if err == nil || !portTaken(err) || time.Now().After(until) {
			return one, err
		}
		if testbed.Sleep(ctx, portTimeout/100) != nil {
			return nil, err
		}
	}
}

// portTaken reports whether a container could not be started because its port is in use.
// Engines have no error code for that.
func portTaken(err error) bool {
	text := err.Error()
	return strings.Contains(text, "port is already allocated") || strings.Contains(text, "address already in use")
}

// start starts a server in the box and returns when the server answers.
func (b *box) start(ctx context.Context, o live.ServerOptions) (*server, error) {
	if err := b.furnish(o); err != nil {
		return nil, err
	}
	log, err := redisserver.OpenLog(o.Log)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	// Do not cancel requests to the engine with ctx: the engine might carry out half of a request.
	// Instead, the end of ctx kills the container.
	watching, leave := context.WithCancel(context.WithoutCancel(ctx))
	s := &server{box: b, log: log, exited: make(chan struct{}), leave: leave}
	if err := s.begin(watching); err != nil {
		log.Close()
		leave()
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { _ = s.sigkill() }) // ignore the error: Kill and Close check whether the server has ended
	if err := s.await(watching); err != nil {
		if kerr := s.Kill(); kerr != nil {
			err = errors.Join(err, kerr)
			leave() // nobody else will call leave
			s.watch.Wait()
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return s, nil
}

// begin starts the container and follows its output until the container ends. It calls leave, which
// cancels ctx, if the engine needs longer than callTimeout to start the container.
func (s *server) begin(ctx context.Context) (err error) {
	// Use a timer, not a deadline of ctx: the goroutines that watch the server go on using ctx.
	timeout := time.AfterFunc(callTimeout, s.leave)
	defer func() {
		if !timeout.Stop() && err != nil {
			err = fmt.Errorf("start the container: the engine has not done it within %v: %w", callTimeout, context.DeadlineExceeded)
		}
	}()
	c := s.session.engine.client
	output, err := s.session.engine.attach(ctx, s.id)
	if err != nil {
		return fmt.Errorf("read the container's output: %w", err)
	}
	end := c.ContainerWait(ctx, s.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := c.ContainerStart(ctx, s.id, client.ContainerStartOptions{}); err != nil {
		output.Close()
		return fmt.Errorf("start the container: %w", err)
	}
	s.watch.Go(func() { s.follow(output, end) })
	return nil
}

// outputTimeout bounds the wait for the last output of a container that has ended.
const outputTimeout = 5 * time.Second

// follow logs the output until the container ends, and notes how the container ended.
func (s *server) follow(output client.HijackedResponse, end client.ContainerWaitResult) {
	var reading sync.WaitGroup
	read := make(chan struct{})
	reading.Go(func() {
		defer close(read)
		_, _ = stdcopy.StdCopy(s.log, s.log, output.Reader) // unreadable output is lost
	})
	how := ""
	select {
	case r := <-end.Result:
		how = fmt.Sprintf("exit status %d", r.StatusCode)
		timeout := time.NewTimer(outputTimeout)
		select {
		case <-read:
		case <-timeout.C:
		}
		timeout.Stop()
	case err := <-end.Error:
		how = "lost sight of its container: " + err.Error()
	}
	output.Close()
	reading.Wait()
	s.log.Close()
	if last := s.log.LastLine(); last != "" {
		how += "; its last log line: " + last
	}
	s.state = errors.New(how)
	close(s.exited)
}

// pollInterval is the time between two PINGs to a new server. pingTimeout is the time limit for
// each answer.
const (
	pollInterval = 5 * time.Millisecond
	pingTimeout  = time.Second
)

// await waits until the server answers at its published port. The port may change with each start.
func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var err error
	if s.addr, s.own, err = s.addresses(ctx); err != nil {
		return s.orEnd(err)
	}
	if err := untilAnswers(ctx, s.addr, s.exited); err != nil {
		return s.orEnd(err)
	}
	return nil
}

// orEnd returns the reason of the server's end if the server has ended, since err is then only a
// consequence. If the server still runs, orEnd returns err.
func (s *server) orEnd(err error) error {
	if end := s.Err(); end != nil {
		return fmt.Errorf("the server did not start: %w", end)
	}
	return err
}

// answers reports whether a server answers PING. The container's port accepts connections
// before the server does.
func answers(addr string) bool {
	c := redis.NewClient(testbed.RedisOptions(addr, pingTimeout))
	defer c.Close()
	return c.Ping(context.Background()).Err() == nil
}

// order sends the engine a request. No caller's context can cancel the request.
func (s *server) order(what string, do func(context.Context, client.APIClient) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := do(ctx, s.session.engine.client); err != nil {
		return fmt.Errorf("%s container of port %d: %w", what, s.port, err)
	}
	return nil
}

func (s *server) sigkill() error {
	return s.order("kill", func(ctx context.Context, c client.APIClient) error {
		_, err := c.ContainerKill(ctx, s.id, client.ContainerKillOptions{Signal: "SIGKILL"})
		return err
	})
}

// Addr implements live.Server.
func (s *server) Addr() string { return s.addr }

// Peer implements live.Peer: the container's address.
func (s *server) Peer() string { return s.own.String() }

// Bus implements live.Peer with the container's own address, since only the port for clients is
// published. Where that address cannot be reached, Elects excludes clusters.
func (s *server) Bus() string {
	return net.JoinHostPort(s.own.String(), strconv.Itoa(s.port+redisserver.BusOffset))
}

// Pause implements live.Server.
func (s *server) Pause() error {
	return s.order("pause", func(ctx context.Context, c client.APIClient) error {
		_, err := c.ContainerPause(ctx, s.id, client.ContainerPauseOptions{})
		return err
	})
}

// Resume implements live.Server.
func (s *server) Resume() error {
	return s.order("resume", func(ctx context.Context, c client.APIClient) error {
		_, err := c.ContainerUnpause(ctx, s.id, client.ContainerUnpauseOptions{})
		return err
	})
}

// Kill implements live.Server.
func (s *server) Kill() error {
	s.stop()
	if err := s.sigkill(); err != nil && !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) { // conflict: the server has ended
		return err
	}
	s.end()
	return nil
}

// endTimeout bounds how long the engine may take to report a killed container's end.
const endTimeout = 30 * time.Second

// end waits for the goroutines that watch the server.
func (s *server) end() {
	timeout := time.AfterFunc(endTimeout, s.leave)
	defer timeout.Stop()
	s.watch.Wait()
	s.leave()
}

// Close implements live.Server.
func (s *server) Close() error {
	s.stop()
	err := s.remove()
	s.end()
	return err
}

// Exited implements live.Server.
func (s *server) Exited() <-chan struct{} { return s.exited }

// Err implements live.Server.
func (s *server) Err() error {
	select {
	case <-s.exited:
		return s.state
	default:
		return nil
	}
}
