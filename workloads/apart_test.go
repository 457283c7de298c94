package workloads

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// apart does what Body does, but runs each client on its own, as if in a process of its own.
func (w Workload) apart(ctx context.Context, world World) error {
	world.Resources = w.Resources(world.Opts, world.Claims)
	errs, leaves := make([]error, world.Opts.Clients), make([]func(), world.Opts.Clients)
	var clients sync.WaitGroup
	for id := range world.Opts.Clients {
		clients.Go(func() { leaves[id], errs[id] = w.Client(ctx, world, id) })
	}
	clients.Wait()
	for _, leave := range leaves {
		leave()
	}
	return errors.Join(errs...)
}

func TestClientsApartShareWhatLocksGuard(t *testing.T) {
	ops, err := play(t, "mutex", &fakeEnv{apart: true}, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last int64
	healed, in := false, map[int]bool{}
	for _, op := range ops {
		switch {
		case op.F == history.FHealed:
			healed = true
		case op.F == history.FAcquire && op.Type == history.OK && healed:
			in[op.Client] = true
		case op.F == history.FWrite && op.Type == history.OK:
			if last++; op.Value[0] != last {
				t.Fatalf("entry %d writes %d, want %d", op.Index, op.Value[0], last)
			}
		}
	}
	if last < 10 || len(in) != options.Clients {
		t.Errorf("%d writes, then %d clients got in", last, len(in))
	}
}

// unreachable is a resource in a process that has ended.
type unreachable struct{}

var errGone = errors.New("gone")

func (unreachable) Read(int64) (Answer, error)           { return Answer{}, errGone }
func (unreachable) Write(int64, []int64) (Answer, error) { return Answer{}, errGone }

func TestAClientThatCannotReachTheResourceEndsWithItsError(t *testing.T) {
	_, err := play(t, "mutex", &fakeEnv{resource: unreachable{}}, options, nil)
	if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "client ") {
		t.Errorf("got %v, want %v of a client", err, errGone)
	}
}
