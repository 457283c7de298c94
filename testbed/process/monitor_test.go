package process

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// TestMonitorTellsWhatNodesExecute checks that each node's log has the node's commands with their
// clients, the commands that scripts call, and the commands after a restart.
func TestMonitorTellsWhatNodesExecute(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "monitor")
	setup := testbed.Setup{Topology: testbed.Independent, Nodes: 2, Monitor: dir}
	err := run(t, setup, func(ctx context.Context, e testbed.Env) error {
		c0, c1 := e.Client(0).Locks(), e.Client(1).Locks()
		script := redis.NewScript(`return redis.call("set", KEYS[1], "from a script] ")`)
		if err := script.Run(ctx, c0.Nodes[0], []string{"k"}).Err(); err != nil {
			return err
		}
		if err := c1.Nodes[1].Set(ctx, "other", "1", 0).Err(); err != nil {
			return err
		}
		if err := c0.Nodes[0].Ping(ctx).Err(); err != nil { // then n0 has logged all earlier commands
			return err
		}
		nodes := e.(testbed.Nodes)
		if err := nodes.Kill(ctx, "n0", nil); err != nil {
			return err
		}
		if _, err := nodes.Restart(ctx, "n0"); err != nil {
			return err
		}
		if _, err := nodes.Keys(ctx, "n0"); err != nil { // sends commands of the harness itself
			return err
		}
		return c1.Nodes[0].Set(ctx, "after", "1", 0).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string][]string{
		"n0": {`c0] "evalsha" .*`, `c0] "eval" .*`, `lua] "set" "k" "from a script\] "`, `c1] "set" "after" "1"`},
		"n1": {`c1] "set" "other" "1"`},
	} {
		text, err := os.ReadFile(filepath.Join(dir, "monitor-"+node+".log"))
		if err != nil {
			t.Fatal(err)
		}
		pattern := `(?s)`
		for _, line := range want {
			pattern += `\n\d+\.\d{6} \[0 ` + line + `\n.*`
		}
		if !regexp.MustCompile(pattern).MatchString("\n" + strings.ReplaceAll(string(text), "\n", "\n\n")) {
			t.Errorf("%s: got\n%s\nwant %q in this order", node, text, want)
		}
		if strings.Contains(string(text), `c0] "scan"`) || strings.Contains(string(text), `c1] "scan"`) {
			t.Errorf("%s: what the harness asks is put down to a client:\n%s", node, text)
		}
	}
}

func TestALogOfCommandsThatCannotBeWrittenIsTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full, which is what it takes")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "monitor-n0.log")); err != nil {
		t.Fatal(err)
	}
	err := run(t, testbed.Setup{Topology: testbed.Single, Monitor: dir}, func(ctx context.Context, e testbed.Env) error {
		return e.Client(0).Locks().Nodes[0].Set(ctx, "k", "1", 0).Err()
	})
	if err == nil || !strings.Contains(err.Error(), "log of commands: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says so", err)
	}
}
