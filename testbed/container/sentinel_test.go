package container

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestSentinelsFailOverInContainers(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Sentinel}, func(ctx context.Context, e testbed.Env) error {
		nodes, set := e.(testbed.Nodes), func(value string) error {
			return e.Client(0).Locks().Nodes[0].Set(ctx, "k", value, 0).Err()
		}
		if err := errors.Join(set("before"), nodes.Kill(ctx, "n0")); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := nodes.Promote(ctx, "n1"); err != nil {
			return err
		}
		_, err := nodes.Restart(ctx, "n0")
		return errors.Join(err, set("after"))
	})
	if err != nil {
		t.Error(err)
	}
}
