package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// hopeless is a place that starts no server and fails to close.
type hopeless struct{ start, close error }

func (hopeless) Name() string                                           { return "hopeless" }
func (h hopeless) Open(context.Context) (Place, error)                  { return h, nil }
func (h hopeless) Start(context.Context, ServerOptions) (Server, error) { return nil, h.start }
func (hopeless) Listen() (ip, host string)                              { return loopback, loopback }
func (h hopeless) Close() error                                         { return h.close }

func TestATrialThatFailedTellsThatItsTeardownDidToo(t *testing.T) {
	p := hopeless{errors.New("no servers here"), errors.Join(errors.New("in use"), errors.New("by others"))}
	err := New(p, t.TempDir()).Run(t.Context(), testbed.Setup{
		Topology: testbed.Single, Clients: 1,
		Clock: func() time.Duration { return 0 }, Commands: func(history.Command) {},
	}, func(context.Context, testbed.Env) error { return nil })
	if !errors.Is(err, p.start) || !errors.Is(err, p.close) {
		t.Fatalf("got %v, want both errors", err)
	}
	var left *testbed.TeardownError
	if !errors.As(err, &left) || !errors.Is(left, p.close) {
		t.Errorf("got %v, want to know what may have been left behind", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q, want one line", err)
	}
}
