package container

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockstorm/lockstorm/testbed/live"
)

// frozen is an engine that accepts requests and does not answer them.
type frozen struct {
	client.APIClient
	thaw   chan struct{}
	output net.Conn // the container's output, which ContainerAttach returns after thaw
}

func (f frozen) ContainerCreate(ctx context.Context, _ client.ContainerCreateOptions) (client.ContainerCreateResult, error) {
	<-ctx.Done()
	return client.ContainerCreateResult{}, ctx.Err()
}

// ContainerAttach ignores ctx, as the real client's does.
func (f frozen) ContainerAttach(context.Context, string, client.ContainerAttachOptions) (client.ContainerAttachResult, error) {
	<-f.thaw
	return client.ContainerAttachResult{HijackedResponse: client.NewHijackedResponse(f.output, "")}, nil
}

// unruly is an engine that starts containers and fails every request about them afterwards.
type unruly struct {
	client.APIClient
	output net.Conn
}

var errInspect, errKill = errors.New("cannot inspect"), errors.New("cannot kill")

func (u unruly) ContainerAttach(context.Context, string, client.ContainerAttachOptions) (client.ContainerAttachResult, error) {
	return client.ContainerAttachResult{HijackedResponse: client.NewHijackedResponse(u.output, "")}, nil
}

func (unruly) ContainerWait(ctx context.Context, _ string, _ client.ContainerWaitOptions) client.ContainerWaitResult {
	lost := make(chan error, 1)
	context.AfterFunc(ctx, func() { lost <- ctx.Err() })
	return client.ContainerWaitResult{Error: lost}
}

func (unruly) ContainerStart(context.Context, string, client.ContainerStartOptions) (client.ContainerStartResult, error) {
	return client.ContainerStartResult{}, nil
}

func (unruly) ContainerInspect(context.Context, string, client.ContainerInspectOptions) (client.ContainerInspectResult, error) {
	return client.ContainerInspectResult{}, errInspect
}

func (unruly) ContainerKill(context.Context, string, client.ContainerKillOptions) (client.ContainerKillResult, error) {
	return client.ContainerKillResult{}, errKill
}

// sessionOf returns a session that uses the engine c.
func sessionOf(c client.APIClient) *session { return &session{engine: &engine{client: c}} }

func TestAnEngineThatDoesNotAnswerIsGivenUp(t *testing.T) {
	o := live.ServerOptions{Name: "n0", Dir: t.TempDir()}
	for name, order := range map[string]func(context.Context, *session) error{
		"create": func(ctx context.Context, s *session) error { _, err := s.newBox(ctx, o); return err },
		"start": func(ctx context.Context, s *session) error {
			_, err := (&box{session: s, id: "x"}).start(ctx, o)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, its := net.Pipe()
				f := frozen{thaw: make(chan struct{}), output: ours}
				began := time.Now()
				err := order(context.WithoutCancel(t.Context()), sessionOf(f))
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != callTimeout {
					t.Errorf("after %v: got %v, want it given up after %v", took, err, callTimeout)
				}
				close(f.thaw)
				if name == "start" {
					if _, err := its.Read(make([]byte, 1)); err != io.EOF {
						t.Errorf("what was attached too late: got %v, want it closed", err)
					}
				}
			})
		})
	}
}

func TestNothingWatchesAServerThatDidNotStartAndCannotBeKilled(t *testing.T) {
	o := live.ServerOptions{Name: "n0", Dir: t.TempDir()}
	synctest.Test(t, func(t *testing.T) { // fails if any goroutine goes on
		ours, its := net.Pipe()
		_, err := (&box{session: sessionOf(unruly{output: ours}), id: "x"}).start(t.Context(), o)
		if !errors.Is(err, errInspect) || !errors.Is(err, errKill) {
			t.Errorf("got %v, want both errors", err)
		}
		if _, err := its.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the container's output: got %v, want it closed", err)
		}
	})
}
