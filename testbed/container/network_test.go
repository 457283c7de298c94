package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/redis/go-redis/v9"

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

// TestAnUnpluggedNodeReachesNobody also checks that the log of the node's commands continues after
// the node was plugged in.
func TestAnUnpluggedNodeReachesNobody(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "monitor-n0.log")
	err := run(t, testbed.Setup{Topology: testbed.Replicated, Monitor: dir}, func(ctx context.Context, e testbed.Env) error {
		primary := e.Client(0).Locks().Nodes[0]
		if err := primary.Set(ctx, "k", "before", 0).Err(); err != nil {
			return err
		}
		undo, err := e.(testbed.Unplugger).Unplug(ctx, "n0")
		if err != nil {
			return err
		}
		if err := primary.Set(ctx, "k", "meanwhile", 0).Err(); err == nil {
			t.Error("SET on an unplugged node: got no error")
		}
		if _, err := undo(ctx); err != nil {
			return err
		}
		if got, err := primary.Get(ctx, "k").Result(); got != "before" || err != nil {
			t.Errorf("after it was plugged in: got %q, %v, want what it knew before", got, err)
		}
		conn := primary.(*redis.Client).Conn()
		defer conn.Close()
		awaitText(t, log, "the connection is back")
		if err := conn.Set(ctx, "k", "after", 0).Err(); err != nil {
			return err
		}
		if n, err := conn.Wait(ctx, testbed.Replicas, time.Minute).Result(); n != testbed.Replicas || err != nil {
			t.Errorf("WAIT after it was plugged in: got %d replicas, %v, want all of them", n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	text := awaitText(t, log, `"after"`)
	if !regexp.MustCompile(`(?s)"set" "k" "before".*# .* the connection broke.*# .* the connection is back.*"set" "k" "after"`).MatchString(text) {
		t.Errorf("got the log\n%s\nwant both writes, and the gap between them", text)
	}
}

// awaitText returns the file's content once it contains want, or after two minutes.
func awaitText(t *testing.T, path, want string) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), want) || time.Now().After(end) {
			return string(text)
		}
	}
}

func TestSentinelsFailOverInContainers(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Sentinel}, func(ctx context.Context, e testbed.Env) error {
		nodes, set := e.(testbed.Nodes), func(value string) error {
			return e.Client(0).Locks().Nodes[0].Set(ctx, "k", value, 0).Err()
		}
		if err := errors.Join(set("before"), nodes.Kill(ctx, "n0", nil)); err != nil {
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
