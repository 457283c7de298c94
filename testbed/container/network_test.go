package container

import (
	"context"
	"testing"

	"github.com/moby/moby/client"

	"github.com/lockstorm/lockstorm/testbed"
)

func TestContainersAreOnOneNetworkOfOurs(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env) error {
		c := shared.provider.engine.client
		box, err := c.ContainerInspect(ctx, boxes(t)[0], client.ContainerInspectOptions{})
		if err != nil {
			return err
		}
		networks := box.Container.NetworkSettings.Networks
		if n := networks[shared.provider.session.networkName()]; len(networks) != 1 || n == nil {
			t.Errorf("got networks %v, want only the session's", networks)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
