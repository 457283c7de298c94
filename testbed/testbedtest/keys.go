package testbedtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Chain is the key changes that an environment reported. Whatever changed a key, the state before
// each change must be the state after the previous change of the same key on the same node.
type Chain []history.KeyChange

// add implements Setup.Keys.
func (c *Chain) add(k history.KeyChange) { *c = append(*c, k) }

// Check checks that, the indices, that no change is a stranger's, and that each change by a command lies
// between the command's arrival and its reply.
func (c Chain) Check(t testing.TB, commands []history.Command) {
	t.Helper()
	type place struct {
		node string
		key  history.Bytes
	}
	left := map[place]*history.KeyContent{}
	for i, k := range c {
		at := place{k.Node, k.Key}
		switch {
		case k.Index != i:
			t.Errorf("change %d of keys has the index %d", i, k.Index)
		case !left[at].Same(k.Before):
			t.Errorf("change %d, %s: found %+v; left was %+v", i, Line(k), k.Before, left[at])
		case k.Before.Same(k.After):
			t.Errorf("change %d, %s: changed nothing", i, Line(k))
		case k.From > k.To || k.To == 0:
			t.Errorf("change %d, %s: was from %v to %v", i, Line(k), k.From, k.To)
		case k.By == history.ByStranger:
			t.Errorf("change %d, %s: there are no strangers", i, Line(k))
		case k.By == history.ByExpiry && k.To < k.Before.Expires:
			t.Errorf("change %d, %s: was over at %v, but its life ends at %v", i, Line(k), k.To, k.Before.Expires)
		case k.By == history.ByCommand:
			checkBounds(t, k, commands)
		}
		left[at] = k.After
	}
}

// checkBounds checks the time bounds of a change by a command.
func checkBounds(t testing.TB, k history.KeyChange, commands []history.Command) {
	t.Helper()
	i := slices.IndexFunc(commands, func(c history.Command) bool { return c.Node == k.Node && c.Exec == k.Exec })
	if i < 0 {
		t.Errorf("%s: by no command: %d", Line(k), k.Exec)
		return
	}
	if c := commands[i]; c.Served > 0 && k.To > c.Served || k.From > c.Arrived {
		t.Errorf("%s: from %v to %v, by %q from %v to %v", Line(k), k.From, k.To, c.Args, c.Arrived, c.Served)
	}
}

// Lines returns the changes in words, sorted by node; changes of one node keep their order, but changes of
// different nodes have none.
func (c Chain) Lines() (lines []string) {
	for _, k := range c {
		lines = append(lines, Line(k))
	}
	slices.SortStableFunc(lines, func(a, b string) int { return strings.Compare(a[:2], b[:2]) })
	return lines
}

// Line returns a change in words, without times: "n0 k: command: - → string v".
func Line(k history.KeyChange) string {
	return fmt.Sprintf("%s %s: %s: %s → %s", k.Node, k.Key, k.By, content(k.Before), content(k.After))
}

// content describes a content; of the expiry only whether there is one ("mortal").
func content(k *history.KeyContent) string {
	if k == nil {
		return "-"
	}
	text := k.Type + " " + string(k.Value)
	for _, f := range k.Fields {
		text += fmt.Sprintf("%s=%s,", f.Name, f.Value)
	}
	for _, m := range k.Members {
		text += string(m) + ","
	}
	if k.Expires > 0 {
		text += " mortal"
	}
	return text
}

// changing is a promise about changes of keys: what body does must be reported as these changes (Chain.Lines).
type changing struct {
	name  string
	setup testbed.Setup
	needs testbed.Capability
	body  func(*testEnv)
	want  []string
}

// keys are the promises of changes.
var keys = func() (all []promise) {
	for _, c := range changes {
		p := promise{name: "changes of keys: " + c.name, test: c.test, needs: c.needs}
		if c.setup.Topology == testbed.Sentinel || c.setup.Topology == testbed.Cluster {
			p.where = c.setup.Topology
		}
		all = append(all, p)
	}
	return all
}()

func (c changing) test(s suite) {
	try := func(w *testEnv, _ *election) {
		w.told = c.want
		c.body(w)
	}
	if c.setup.Topology == testbed.Sentinel || c.setup.Topology == testbed.Cluster {
		s.calm(c.setup, try)
		return
	}
	s.run(c.setup, func(w *testEnv) { try(w, nil) })
}

// Lives of keys: brevity ends soon, after which outlived has passed.
const brevity, outlived = 300 * time.Millisecond, 600 * time.Millisecond

// do sends commands of client 0, each given as words, to its first node. Redis must not answer with an error. A
// command whose connection a promotion or a restart has broken is sent again.
func (w *testEnv) do(commands ...string) {
	w.Helper()
	for _, c := range commands {
		w.must(w.again(c))
	}
}

func (w *testEnv) again(command string) error {
	var args []any
	for word := range strings.FieldsSeq(command) {
		args = append(args, word)
	}
	for end := w.Now() + waitTimeout; ; time.Sleep(10 * time.Millisecond) {
		err := w.Client(0).Locks().Nodes[0].Do(w.ctx, args...).Err()
		var answered redis.Error
		switch {
		case err == nil, errors.Is(err, redis.Nil):
			return nil
		case errors.As(err, &answered) && !strings.HasPrefix(err.Error(), "READONLY") || w.Now() > end:
			return fmt.Errorf("%s: %w", command, err)
		}
	}
}

// downFor kills a node, and restarts it after that time.
func (w *testEnv) downFor(node string, d time.Duration) {
	w.must(w.Kill(w.ctx, node, nil))
	time.Sleep(d)
	_, err := w.Restart(w.ctx, node)
	w.must(err)
}

// skew makes n0's clock jump, perhaps while n0 is down.
func (w *testEnv) skew(to time.Duration) {
	_, err := w.NodeClocks().SkewNode(w.ctx, "n0", to, nil)
	w.must(err)
}
