// Package redisserver runs redis-server processes that, on Linux, never outlive the program that
// started them.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/internal/child"
)

// errPortTaken is the error of a server whose port another program has.
var errPortTaken = errors.New("port is taken")

// Options are the options of a server. The zero value is a volatile server on a free port in a
// directory of its own.
type Options struct {
	// Dir is the working directory. It is created if missing, and Close keeps it. "" = a
	// new temporary directory, which Close removes.
	Dir string
	// Log is a file to which the server's log is appended; "" = not kept.
	Log string
	// Args follow the arguments that Start gives, and so override them.
	Args []string
	// Env are additional environment variables of the server, as "name=value".
	Env []string
	// Source is the IPv4 address from which the server connects to other servers; "" = the
	// system's choice.
	Source string
	// Sentinel starts a Sentinel instead of a server. It reads and rewrites sentinel.conf in Dir.
	Sentinel bool
}

// Server is one redis-server process. Its methods may be called concurrently.
type Server struct {
	port    int
	source  string
	dir     string
	ownsDir bool
	process *os.Process
	log     *Log
	exited  chan struct{}
	state   error // how the process ended; written before exited is closed
	stop    func() bool
}

// attempts is the maximum number of ports that Start tries: another program may take a free port
// before the server listens on it.
const attempts = 20

// Start starts a redis-server and returns when it accepts connections. The server is killed
// when ctx ends, when Close or Kill is called, and on Linux also when this program ends in
// any way.
func Start(ctx context.Context, o Options) (*Server, error) {
	path, _, err := Find()
	if err != nil {
		return nil, err
	}
	dir, owns := o.Dir, o.Dir == ""
	if owns {
		if dir, err = os.MkdirTemp("", "lockstorm-redis-"); err != nil {
			return nil, fmt.Errorf("redis-server: %w", err)
		}
	} else if err = os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	s, err := startOnPort(ctx, path, dir, o)
	if err != nil {
		if owns {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	s.ownsDir = owns
	return s, nil
}

func startOnPort(ctx context.Context, path, dir string, o Options) (*Server, error) {
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return nil, fmt.Errorf("redis-server: %w", err)
		}
		s, err := start(ctx, path, dir, port, o)
		if err == nil || !errors.Is(err, errPortTaken) || try == attempts {
			return s, err
		}
	}
}

// firstPort and ports are the start and the size of the range from which FreePort takes ports in
// turn. The range is below the one that systems use for outgoing connections and for listeners
// without a chosen port, so that other programs hardly ever take a port before its server has it, or while a killed
// container keeps it. So is the range of the cluster buses.
const firstPort, ports = 10_000, 10_000

// BusOffset is the difference between the port of a server's cluster bus and its port for clients.
const BusOffset = 10_000

var nextPort atomic.Int64

// FreePort returns a port of the loopback interface that was free a moment ago.
func FreePort() (int, error) {
	var last error
	for range ports {
		// Programs that run at the same time start at different places.
		port := firstPort + int(nextPort.Add(1)+int64(os.Getpid())*1009)%ports
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		last = err
	}
	return 0, fmt.Errorf("no free port: %w", last)
}

// start makes one attempt on one port.
func start(ctx context.Context, path, dir string, port int, o Options) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	log, err := OpenLog(o.Log)
	if err != nil {
		return nil, fmt.Errorf("redis-server log: %w", err)
	}
	args, err := arguments(dir, port, o)
	if err != nil {
		log.Close()
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	if len(o.Env) > 0 {
		cmd.Env = append(cmd.Environ(), o.Env...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = time.Second // a forked child of Redis may keep the pipe open
	if err := child.Start(cmd); err != nil {
		log.Close()
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	s := &Server{port: port, source: o.Source, dir: dir, process: cmd.Process, log: log, exited: make(chan struct{})}
	go s.wait(cmd)
	s.stop = context.AfterFunc(ctx, func() { s.signal(syscall.SIGKILL) })
	select {
	case <-log.Ready():
		return s, nil
	case <-s.exited:
		s.stop()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if log.saw("Address already in use") {
			return nil, fmt.Errorf("redis-server on port %d: %w", port, errPortTaken)
		}
		return nil, fmt.Errorf("redis-server did not start: %w", s.Err())
	}
}

func (s *Server) wait(cmd *exec.Cmd) {
	err := cmd.Wait()
	child.Ended()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	how := "exit status 0"
	if err != nil {
		how = err.Error()
	}
	s.log.Close()
	if last := s.log.LastLine(); last != "" {
		how += "; its last log line: " + last
	}
	s.state = errors.New(how)
	close(s.exited)
}

// signal sends sig to the server, and SIGKILL also to its forked children. An error means that the
// server has ended.
func (s *Server) signal(sig syscall.Signal) error {
	select {
	case <-s.exited:
		return fmt.Errorf("redis-server on port %d has ended: %w", s.port, s.state)
	default:
	}
	if err := s.process.Signal(sig); err != nil {
		return fmt.Errorf("signal redis-server on port %d: %w", s.port, err)
	}
	if sig == syscall.SIGKILL { // also to the children that Redis forks to copy its data
		_ = syscall.Kill(-s.process.Pid, sig)
	}
	return nil
}

// Addr returns the server's address, "127.0.0.1:port".
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port returns the server's port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Peer returns the address from which the server connects to other servers (Options.Source).
func (s *Server) Peer() string { return s.source }

// Bus returns the address of the server's cluster bus.
func (s *Server) Bus() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port+BusOffset))
}

// PID returns the server's process id.
func (s *Server) PID() int { return s.process.Pid }

// Exited returns a channel that is closed when the process has ended in any way.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Err returns how the process ended, with the last line of its log; nil while it runs.
func (s *Server) Err() error {
	select {
	case <-s.exited:
		return s.state
	default:
		return nil
	}
}

// Pause freezes the process. On Linux it returns after the process is frozen, elsewhere after the
// signal is sent.
func (s *Server) Pause() error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return child.AwaitStopped(s.process.Pid)
}

// Resume lets a paused process go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

// Kill ends the process with SIGKILL and waits for its end. It keeps the directory. Killing an
// ended server does nothing.
func (s *Server) Kill() error {
	s.stop()
	err := s.signal(syscall.SIGKILL)
	select {
	case <-s.exited:
		return nil
	default:
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-s.exited
	return nil
}

// Close kills the process, waits for its end, and removes the directory if Start made it. Close
// may be called twice.
func (s *Server) Close() error {
	err := s.Kill()
	if s.ownsDir {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
