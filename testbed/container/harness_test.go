package container

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// harness runs a trial that never ends, and says the name of its session in the
// middle of it.
func harness() error {
	tb, err := New(context.Background(), options())
	if err != nil {
		return err
	}
	return tb.Run(context.Background(), testbed.Setup{
		Topology: testbed.Independent, Nodes: 3, Clients: 1,
		Clock: func() time.Duration { return 1 }, Commands: func(history.Command) {},
	}, func(ctx context.Context, e testbed.Env) error {
		fmt.Println(tb.provider.session.name)
		select {}
	})
}

func TestNothingSurvivesAKilledHarness(t *testing.T) {
	needEngine(t)
	harness := exec.Command(os.Args[0], playHarness)
	harness.Stderr = os.Stderr
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the harness did not come to its trial")
	}
	session := lines.Text()
	if containers, networks := left(t, session); containers != 3 || networks != 1 {
		t.Errorf("before: got %d containers and %d networks, want 3 and 1", containers, networks)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait()
	for t.Context().Err() == nil {
		if containers, networks := left(t, session); containers+networks == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// left counts what there is of a session.
func left(t *testing.T, session string) (containers, networks int) {
	t.Helper()
	c := shared.provider.engine.client
	labelled := make(client.Filters).Add("label", labelSession+"="+session)
	found, err := c.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: labelled})
	if err != nil {
		t.Fatal(err)
	}
	nets, err := c.NetworkList(t.Context(), client.NetworkListOptions{Filters: labelled})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Items), len(nets.Items)
}
