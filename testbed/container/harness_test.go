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

// harness runs a trial that never ends. During the trial, it prints the name of its session.
func harness(temp string) error {
	o := options()
	o.Temp = temp
	tb, err := New(context.Background(), o)
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

// killHarness kills a harness in the middle of a trial, and returns its session.
func killHarness(t *testing.T) (session string) {
	t.Helper()
	temp, err := os.MkdirTemp(memory(), "lockstorm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	harness := exec.Command(os.Args[0], playHarness, temp)
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
	session = lines.Text()
	if containers, networks := left(t, session); containers != 3 || networks != 1 {
		t.Errorf("before: got %d containers and %d networks, want 3 and 1", containers, networks)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = harness.Wait()
	return session
}

func TestNothingSurvivesAKilledHarness(t *testing.T) {
	needEngine(t)
	session := killHarness(t)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		containers, networks := left(t, session)
		if containers+networks == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d containers and %d networks long after the kill, want none", containers, networks)
		}
	}
}

func TestCloseRemovesTheSession(t *testing.T) {
	needEngine(t)
	tb, err := New(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tb.provider.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if containers, networks := left(t, tb.provider.session.name); containers != 0 || networks != 1 {
		t.Errorf("of the new session: got %d containers and %d networks, want 0 and 1", containers, networks)
	}
	name := tb.provider.session.name
	if err := tb.Close(); err != nil {
		t.Error(err)
	}
	if containers, networks := left(t, name); containers+networks != 0 {
		t.Errorf("after Close: got %d containers and %d networks, want none", containers, networks)
	}
}

// left returns how many containers and networks a session has.
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
