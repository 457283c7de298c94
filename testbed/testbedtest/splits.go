package testbedtest

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

var splits = []promise{
	{name: "two primaries serve until the split ends", test: split, needs: testbed.CanSplitBrain, own: true},
	{name: "an old primary that dies in a split comes back as a replica", test: splitAndKilled, needs: testbed.CanSplitBrain, own: true},
	{name: "during a split a client's link goes by any node's name", test: splitLinks, needs: testbed.CanSplitBrain},
	{name: "wrong splits are errors and change nothing", test: wrongSplits, needs: testbed.CanSplitBrain},
}

// split makes the node a second primary for these clients, and waits until they have moved.
func (w *testEnv) split(node string, clients ...int) fault {
	undo, err := w.Env.(testbed.SplitBrain).Split(w.ctx, node, clients)
	time.Sleep(hasty)
	return fault{w, undo, err}
}

// sees checks a key's value as a client sees it; "" = no key.
func (w *testEnv) sees(client int, key, want string) {
	w.Helper()
	got, err := w.redis(client, 0).Get(w.ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) || got != want {
		w.Errorf("c%d sees %s: got %q, %v, want %q", client, key, got, err, want)
	}
}

func split(s suite) {
	commands := s.run(replicated, func(w *testEnv) {
		w.mustSet(0, "early", "1")
		w.inSync(testbed.Replicas)
		split := w.split("n1", 1)
		w.mustSet(0, "old", "1")
		w.mustSet(0, "both", "old")
		w.mustSet(1, "new", "1")
		w.mustSet(1, "both", "new")
		for client, side := range []string{"old", "new"} {
			w.sees(client, "early", "1")
			w.sees(client, "both", side)
		}
		w.sees(0, "new", "")
		w.sees(1, "old", "")
		w.await("n2", "both", "new") // the other replica follows the new primary
		split.liftAfter(2)
		time.Sleep(hasty)
		w.sees(0, "both", "new")
		w.sees(0, "old", "")
		w.mustSet(0, "after", "1")
		w.inSync(testbed.Replicas)
		w.check("n0", "both", "new") // n0 has discarded its own writes
		w.check("n0", "old", "")
		w.check("n0", "after", "1")
	})
	for _, c := range named(commands, "SET") {
		if c.Args[1] == "old" && c.Node != "n0" || c.Args[1] == "new" && c.Node != "n1" || !c.Ran() {
			s.Errorf("got %+v, want it run on its client's side", c)
		}
	}
}

func splitAndKilled(s suite) {
	setup := replicated
	setup.CommandTimeout, setup.Durability = hasty, testbed.Always
	s.run(setup, func(w *testEnv) {
		split := w.split("n2", 1)
		w.mustSet(0, "old", "1")
		w.must(w.Kill(w.ctx, "n0", nil))
		w.mustNotSet(0, "k", "on the killed side")
		w.mustSet(1, "new", "1")
		split.liftAfter(1)
		time.Sleep(hasty)
		w.mustSet(0, "k", "1")
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		w.await("n0", "k", "1")
		w.check("n0", "old", "")
	})
}

// warm gives a client two connections to its primary, so that the next fault hits a command
// and not a dial.
func (w *testEnv) warm(client int) {
	for range 2 {
		c := w.redis(client, 0).Conn()
		defer c.Close()
		w.must(c.Ping(w.ctx).Err())
	}
}

func splitLinks(s suite) {
	setup := replicated
	setup.CommandTimeout = hasty
	for client, side := range []string{"n0", "n1"} {
		for _, name := range []string{"n0", "n1", "n2"} {
			s.Run(side+" by "+name, func(t *testing.T) {
				suite{t, s.open}.run(setup, func(w *testEnv) {
					split := w.split("n1", 1)
					w.warm(client)
					link := testbed.Link{From: w.Client(client).Locks().ID, To: name}
					cut := w.cut(link, testbed.Downstream)
					w.mustNotSet(client, "cut", "during the cut")
					w.mustSet(1-client, "other", "1")
					w.check(side, "cut", "1") // only the reply is lost
					cut.liftAfter(1)
					hold := w.hold(link, testbed.Upstream)
					w.mustNotSet(client, "held", "during the hold")
					w.check(side, "held", "")
					hold.liftAfter(1)
					w.await(side, "held", "1")
					split.lift()
				})
			})
		}
	}
}

func wrongSplits(s suite) {
	s.run(replicated, func(w *testEnv) {
		for name, f := range map[string]fault{
			"an unknown node":   w.split("n9", 1),
			"the primary":       w.split("n0", 1),
			"an unknown client": w.split("n1", 7),
		} {
			if f.err == nil {
				w.Errorf("%s: got no error", name)
			}
		}
		if got := w.List(); len(got) != 1 || got[0] != "n0" {
			w.Errorf("List: got %v, want n0", got)
		}
		w.mustSet(0, "k", "1")
		w.inSync(testbed.Replicas)
	})
	s.run(single, func(w *testEnv) {
		if w.split("n0", 1).err == nil {
			w.Error("without replicas: got no error")
		}
	})
}
