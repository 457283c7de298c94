package external

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// server is a Redis that may be somebody else's, for one trial. It implements live.Remote.
type server struct {
	target
	prefix string         // begins the names of the trial's locks
	conns  sync.WaitGroup // connections that are not closed at both ends yet

	losing sync.Once
	cause  error
	exited chan struct{}
}

var _ live.Remote = (*server)(nil)

func newServer(t target, prefix string) *server {
	return &server{target: t, prefix: prefix, exited: make(chan struct{})}
}

// replyTimeout bounds a dial with its login, and an exchange of the testbed's own commands (ask).
const replyTimeout = 10 * time.Second

// Dial implements live.Remote. It connects and logs in.
func (s *server) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", testbed.BareError(err))
	}
	if s.tls != nil {
		secure := tls.Client(raw, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, fmt.Errorf("%w with %s: %w", errHandshake, s.addr, testbed.BareError(err))
		}
		raw = secure
	}
	c := &conn{Conn: raw, server: s, in: resp.NewReader(raw)}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(0, 1)) })
	err = s.logIn(raw, c.in)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	s.conns.Add(1)
	return c, nil
}

// logIn sends AUTH and SELECT, if needed.
func (s *server) logIn(raw net.Conn, in *bufio.Reader) error {
	if s.user != "" || s.password != "" {
		args := []string{"AUTH", string(s.password)}
		if s.user != "" {
			args = []string{"AUTH", s.user, string(s.password)}
		}
		if err := s.say(raw, in, args...); err != nil {
			return fmt.Errorf("log in to %s: %w", s.addr, err)
		}
	}
	if s.db != 0 {
		if err := s.say(raw, in, "SELECT", strconv.Itoa(s.db)); err != nil {
			return fmt.Errorf("database %d of %s: %w", s.db, s.addr, err)
		}
	}
	return nil
}

// say sends a command, and returns an error unless the reply is OK.
func (s *server) say(raw net.Conn, in *bufio.Reader, args ...string) error {
	if _, err := raw.Write(resp.AppendCommand(nil, args...)); err != nil {
		return testbed.BareError(err)
	}
	m, err := resp.Read(in)
	if err != nil {
		return testbed.BareError(err)
	}
	if reply := string(m.Compact()); reply != "OK" {
		return errors.New(s.password.hide(reply))
	}
	return nil
}

// ask is talk with the time limit replyTimeout.
func (s *server) ask(ctx context.Context, exchange func(context.Context, *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return s.talk(ctx, exchange)
}

// talk calls exchange with a client for the testbed's own commands.
func (s *server) talk(ctx context.Context, exchange func(context.Context, *redis.Client) error) error {
	// Dial before go-redis does, because go-redis's errors tell less.
	first, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	o := testbed.RedisOptions(s.addr, replyTimeout)
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if c := first; c != nil {
			first = nil
			return c, nil
		}
		return s.Dial(ctx)
	}
	c := redis.NewClient(o)
	err = exchange(ctx, c)
	if first != nil {
		first.Close()
	}
	return errors.Join(err, c.Close())
}

// Addr implements live.Server.
func (s *server) Addr() string { return s.addr }

// lose ends the trial, because the server's behaviour is unknown from now on, or because
// a command was not sent.
func (s *server) lose(why error) {
	s.losing.Do(func() {
		s.cause = why
		close(s.exited)
	})
}

// Exited implements live.Server.
func (s *server) Exited() <-chan struct{} { return s.exited }

// Err implements live.Server.
func (s *server) Err() error {
	select {
	case <-s.exited:
		return s.cause
	default:
		return nil
	}
}

var errNotOurs = errors.New("the server is not ours to disturb")

// Pause implements live.Server.
func (*server) Pause() error { return errNotOurs }

// Resume implements live.Server.
func (*server) Resume() error { return errNotOurs }

// Kill implements live.Server.
func (*server) Kill() error { return errNotOurs }

// Close implements live.Server.
func (s *server) Close() error {
	s.conns.Wait()
	s.lose(nil)
	return nil
}
