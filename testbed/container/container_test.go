package container

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// run runs body in an environment of the shared testbed with two clients. It skips the test without
// containers.
func run(t *testing.T, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	t.Helper()
	needEngine(t)
	s.Clients, s.CommandTimeout = 2, time.Minute
	s.Clock, s.Commands = shared.Clock(), func(history.Command) {}
	return shared.Run(t.Context(), s, body)
}

// boxes returns the ids of the containers that the tests' session has now.
func boxes(t *testing.T) []string {
	t.Helper()
	labelled := make(client.Filters).Add("label", labelSession+"="+shared.provider.session.name)
	found, err := shared.provider.engine.client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: labelled})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range found.Items {
		ids = append(ids, c.ID)
	}
	return ids
}

func TestANodeThatDiesUnaskedIsNamed(t *testing.T) {
	err := run(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env) error {
		_, err := shared.provider.engine.client.ContainerKill(ctx, boxes(t)[0], client.ContainerKillOptions{Signal: "SIGKILL"})
		if err != nil {
			return err
		}
		<-ctx.Done()
		return errors.New("what the body made of it")
	})
	if err == nil || !strings.Contains(err.Error(), "node n0 died unexpectedly: exit status 137; its last log line: Ready to accept") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names n0, its end and its last log line", err)
	}
}

func TestAServerThatAnswersNoQuestionIsNotWaitedForForEver(t *testing.T) {
	needEngine(t)
	p := shared.provider
	var err error
	for _, patience := range []time.Duration{5 * time.Second, time.Minute} { // a busy engine may take long to start it
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err = p.engine.output(ctx, p.image, []string{"--port", "6379"}, nil, nil)
		if cancel(); strings.Contains(fmt.Sprint(err), "did not end") {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not end") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says that the server did not end", err)
	}
	asked := make(client.Filters).Add("label", labelSession+"="+question())
	found, err := p.engine.client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: asked})
	if err != nil || len(found.Items) > 0 {
		t.Errorf("got %d containers after the end, %v, want none", len(found.Items), err)
	}
}

func TestEndOfContextEndsTheServers(t *testing.T) {
	needEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	place, err := shared.provider.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, err := place.Start(ctx, live.ServerOptions{Name: "n0", Dir: filepath.Join(t.TempDir(), "n0")})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-s.Exited()
	if err := errors.Join(s.Close(), s.Close(), place.Close()); err != nil {
		t.Error(err)
	}
	if left := boxes(t); len(left) > 0 {
		t.Errorf("got %d containers after the end, want none", len(left))
	}
}

func TestARestartedServerKeepsItsAddress(t *testing.T) {
	needEngine(t)
	place, err := shared.provider.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := live.ServerOptions{Name: "n0", Dir: filepath.Join(t.TempDir(), "n0")}
	first, err := place.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Kill(); err != nil {
		t.Error(err)
	}
	// For a moment somebody else has the port, as the engine's own proxy may.
	for {
		busy, err := net.Listen("tcp", first.Addr())
		if err == nil {
			time.AfterFunc(time.Second, func() { busy.Close() })
			break
		}
		if testbed.Sleep(t.Context(), 10*time.Millisecond) != nil {
			t.Fatal(err)
		}
	}
	o.Before, o.Args = first, []string{"--maxmemory", "5mb"}
	second, err := place.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err, first.Close())
	}
	defer second.Close()
	if got, want := second.Addr(), first.Addr(); got != want {
		t.Errorf("Addr: got %s, want %s as before", got, want)
	}
	if first.Err() == nil || second.Err() != nil {
		t.Errorf("Err: got %v and %v, want only the first ended", first.Err(), second.Err())
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	needEngine(t)
	place, err := shared.provider.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = place.Start(t.Context(), live.ServerOptions{
		Name: "n0", Dir: filepath.Join(t.TempDir(), "n0"), Args: []string{"--appendfsync", "sometimes"},
	})
	if err == nil || !strings.Contains(err.Error(), "did not start: exit status 1; its last log line: ") {
		t.Errorf("got %v, want the server's end", err)
	}
	if left := boxes(t); len(left) > 0 {
		t.Errorf("got %d containers, want none", len(left))
	}
}

func TestLogsAreKeptAndFilesAreOurs(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	setup := testbed.Setup{Topology: testbed.Single, Logs: logs, Durability: testbed.Always}
	if err := run(t, setup, func(context.Context, testbed.Env) error { return nil }); err != nil {
		t.Fatal(err) // run also fails if the node's directory could not be removed
	}
	if text, err := os.ReadFile(filepath.Join(logs, "n0.log")); err != nil || !strings.Contains(string(text), "Ready to accept") {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestWhatIsMissingIsOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		image, host, want string
		prepare           bool
	}{
		"engine":           {localImage, "unix:///nowhere/docker.sock", "no Docker engine answers at $DOCKER_HOST unix:///nowhere/docker.sock", true},
		"image":            {"lockstorm/nothing:local", "", "image lockstorm/nothing:local is not there yet", false},
		"image and source": {"localhost:1/lockstorm/nothing:local", "", "image localhost:1/lockstorm/nothing:local is not there and cannot be pulled", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.host == "" {
				needEngine(t)
			} else {
				t.Setenv("DOCKER_HOST", c.host)
			}
			_, err := New(t.Context(), Options{Image: c.image, Prepare: c.prepare})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestTheVersionIsTheServers(t *testing.T) {
	needEngine(t)
	o := options()
	o.Prepare = true
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(tb.Version(), ".") {
		t.Errorf("got %q, want a version", tb.Version())
	}
	if err := errors.Join(tb.Close(), tb.Close()); err != nil {
		t.Error(err)
	}
}
