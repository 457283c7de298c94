package trial

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	servers "github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/workloads"
)

// The size of a crowd. docs/performance.md has the numbers for a thousand clients and a minute.
var (
	crowdSize  = flag.Int("crowd", 200, "clients of TestACrowdLosesNothing")
	crowdTime  = flag.Duration("crowd-for", 3*time.Second, "how long they go on before each gets in once more")
	crowdLinks = flag.Bool("crowd-share-links", true, "whether they share their links")
)

// counted is a testbed that asks the node at the end how often it ran each command. The evidence
// also has the command that asks.
type counted struct {
	testbed.Testbed
	calls map[string]int // numbers of calls, by the command's name in upper case
}

func (c *counted) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	return c.Testbed.Run(ctx, s, func(ctx context.Context, e testbed.Env) error {
		if err := body(ctx, e); err != nil {
			return err
		}
		node := e.Client(0).Locks().Nodes[0].(*redis.Client).WithTimeout(time.Minute)
		text, err := node.Info(ctx, "commandstats").Result()
		c.calls = map[string]int{}
		for _, m := range regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`).FindAllStringSubmatch(text, -1) {
			c.calls[strings.ToUpper(m[1])], _ = strconv.Atoi(m[2])
		}
		return err
	})
}

func crowdSpec(clients int, d time.Duration) Spec {
	const ttl = 10 * time.Second // long enough for a busy machine
	return Spec{
		Lock: "set-nx-px", Workload: "mutex", Fault: nemesis.Undisturbed().Name, Testbed: "process", Topology: testbed.Single,
		Seed: 1, ShareLinks: *crowdLinks, CommandTimeout: ttl / 2,
		Options: workloads.Options{
			Clients: clients, Keys: 1, TTL: ttl, Hold: 10 * time.Millisecond, Rest: ttl / 20,
			Retry: max(ttl/20, time.Duration(clients)*500*time.Microsecond), Duration: d, Margin: ttl / 2, Seed: 1,
		},
	}
}

// WatchesKeys implements keyWatcher, like the wrapped testbed.
func (c *counted) WatchesKeys() bool { return WatchesKeys(c.Testbed) }

// A crowd loses nothing: the evidence has as many commands as Redis ran, every operation is
// complete, the stored evidence is that of the run, and no oracle is violated.
func TestACrowdLosesNothing(t *testing.T) {
	bed, err := servers.New(servers.Options{Temp: t.TempDir()})
	if err != nil {
		t.Skipf("needs a redis-server: %v", err)
	}
	c := &counted{Testbed: bed}
	dir := t.TempDir()
	started := time.Now()
	spec := crowdSpec(*crowdSize, *crowdTime)
	writer := newTrialWriter(dir, storedSpec{Spec: spec, Watched: true})
	if err := writer.stream(func() {}); err != nil {
		t.Fatal(err)
	}
	rec := history.NewRecorder(writer.writer(), bed.Clock())
	e, _, err := run(t.Context(), c, spec, rec, receivers{writer.command, writer.keyChange, nil, nil})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.close(e); err != nil {
		t.Fatal(err)
	}
	ran := time.Since(started)
	peak := peakMemory(t)
	stored, err := LoadRecord(dir)
	if err != nil || len(stored.Truncated) > 0 || history.Hash(stored.Evidence) != history.Hash(e) {
		t.Errorf("what is stored is not what was seen: %v, %v: %d, %d, %d and %d, %d, %d", err, stored.Truncated,
			len(stored.Evidence.Ops), len(stored.Evidence.Commands), len(stored.Evidence.Keys), len(e.Ops), len(e.Commands), len(e.Keys))
	}
	c.compare(t, e.Commands)
	completed(t, e.Ops)
	began := time.Now()
	verdicts, err := checker.Judge(t.Context(), e)
	longest, spoilt := checker.Stalled(e)
	for _, v := range verdicts {
		switch {
		case v.Result == checker.Unknown && spoilt:
			t.Logf("%s: not judged, as the machine did not run us for %v: %s", v.Oracle, longest, v.Why)
		case v.Result == checker.Violated, v.Result == checker.Unknown:
			t.Errorf("%s: %s: %s %+v", v.Oracle, v.Result, v.Why, v.Findings)
		}
	}
	last := e.Ops[len(e.Ops)-1].Time
	t.Logf("%d clients: %d operations and %d commands in %v, %.0f commands/s; set up, run and torn down in %v; judged in %v; peak memory %d MB before, %d MB after judging; %v",
		*crowdSize, len(e.Ops), len(e.Commands), last, float64(len(e.Commands))/last.Seconds(), ran, time.Since(began), peak>>20, peakMemory(t)>>20, err)
}

// compare checks, for each command that only clients send and no script calls, that the evidence
// has as many as the node counted.
func (c *counted) compare(t *testing.T, commands []history.Command) {
	t.Helper()
	asked := 0
	for _, cmd := range commands {
		if resp.Name(cmd.Args) == "INFO" {
			asked = cmd.Exec
		}
	}
	seen := map[string]int{}
	for _, cmd := range commands {
		if cmd.Exec > 0 && cmd.Exec < asked {
			seen[resp.Name(cmd.Args)]++
		}
	}
	for _, name := range []string{"SET", "EVAL", "EVALSHA", "PING"} {
		if seen[name] != c.calls[name] {
			t.Errorf("%s: %d in the evidence, %d counted by Redis", name, seen[name], c.calls[name])
		}
	}
	if seen["SET"] == 0 {
		t.Errorf("no SET among %v", seen)
	}
}

// completed fails the test for each invocation without a completion.
func completed(t *testing.T, ops []history.Op) {
	t.Helper()
	pairs, err := history.Pairs(ops)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		if p.Complete == nil {
			t.Errorf("%s of client %d at %v never ended", p.Invoke.F, p.Invoke.Client, p.Invoke.Time)
		}
	}
}

// peakMemory returns the maximum memory that this process has used, in bytes; 0 if the system does
// not report it.
func peakMemory(t *testing.T) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kb int64
			fmt.Sscan(rest, &kb)
			return kb << 10
		}
	}
	return 0
}
