package testbedtest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

var nodes = []promise{
	{name: "a paused node runs what waited when it resumes", test: pausedNode, needs: testbed.CanNodes, own: true},
	{name: "a node goes on when its last pause ends", test: pausedTwice, needs: testbed.CanNodes},
	{name: "a node that is killed in a pause does not stay in it", test: killedInPause, needs: testbed.CanNodes, own: true},
	{name: "a restarted node has what its durability keeps", test: restarts, needs: testbed.CanNodes, own: true},
	{name: "connections that broke while idle are replaced unseen", test: idleConnections, needs: testbed.CanNodes},
	{name: "wrong orders to nodes are errors", test: wrongOrders, needs: testbed.CanNodes, own: true},
	{name: "a failover loses an acknowledged write", test: failovers, needs: testbed.CanNodes, own: true},
	{name: "replication that was stopped catches up", test: stoppedReplication, needs: testbed.CanNodes},
	{name: "scripts are flushed and counted", test: scripts, needs: testbed.CanNodes},
	{name: "keys are listed for a post-mortem", test: postMortem},
}

func pausedNode(s suite) {
	var resumed time.Duration
	commands := s.run(testbed.Setup{Topology: testbed.Single, Clients: 3, CommandTimeout: hasty}, func(w *testEnv) {
		pause := w.pause("n0")
		w.mustNotSet(0, "a", "during the pause")
		w.mustNotSet(1, "b", "during the pause")
		resumed = w.Now()
		pause.liftAfter(2)
		w.await("n0", "a", "1")
		w.await("n0", "b", "1")
		w.mustSet(2, "after", "1")
	})
	for _, c := range named(commands, "SET") {
		if !c.Ran() || c.Arrived < resumed {
			s.Errorf("got %+v, want it run after %v", c, resumed)
		}
	}
}

// pausedTwice checks that two pauses of a node may overlap.
func pausedTwice(s suite) {
	s.run(brief, func(w *testEnv) {
		long, short := w.pause("n0"), w.pause("n0")
		short.lift()
		w.mustNotSet(0, "a", "during the longer pause")
		long.lift()
		w.await("n0", "a", "1")
	})
}

// killedInPause checks that a kill ends a pause.
func killedInPause(s suite) {
	s.run(brief, func(w *testEnv) {
		pause := w.pause("n0")
		w.mustNotSet(0, "a", "during the pause")
		w.restart("n0", testbed.Volatile)
		w.mustSet(1, "b", "1")
		pause.lift()
		if got := w.onNode("n0", "a"); got != "" {
			w.Errorf("a: got %q, want nothing: its node was killed before it could run", got)
		}
	})
}

// unsynced is longer than the period whose writes appendfsync everysec may lose, and not close
// to a whole number of seconds.
const unsynced = 2100 * time.Millisecond

func restarts(s suite) {
	for _, c := range []struct {
		durability testbed.Durability
		kept       []string
	}{
		{testbed.Volatile, nil},
		{testbed.EverySec, []string{"old"}},
		{testbed.Always, []string{"old", "new"}},
	} {
		s.Run(string(c.durability), func(t *testing.T) {
			setup := testbed.Setup{Topology: testbed.Single, Durability: c.durability}
			suite{t, s.open}.run(setup, func(w *testEnv) {
				for round := range 2 { // the second restart must find the files, too
					w.mustSet(0, "old", "1")
					if c.durability == testbed.EverySec {
						time.Sleep(unsynced)
					}
					w.mustSet(0, "new", "1")
					w.must(w.redis(0, 0).ScriptLoad(w.ctx, "return 1").Err())
					w.restart("n0", c.durability)
					for _, key := range []string{"old", "new"} {
						if got, want := w.onNode("n0", key) != "", slices.Contains(c.kept, key); got != want {
							w.Errorf("round %d: %s is there: %t, want %t", round, key, got, want)
						}
					}
					if n, err := w.FlushScripts(w.ctx, "n0"); n != 0 || err != nil {
						w.Errorf("scripts after the restart: got %d, %v, want none", n, err)
					}
					w.mustSet(1, "after", "1")
					w.must(w.redis(0, 0).Del(w.ctx, "old", "new").Err())
				}
			})
		})
	}
}

func idleConnections(s suite) {
	s.run(single, func(w *testEnv) {
		w.must(w.Kill(w.ctx, "n0", nil))
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		time.Sleep(hasty)
		w.mustSet(0, "k", "1") // go-redis replaces the connection, as over TCP
	})
}

func wrongOrders(s suite) {
	s.run(single, func(w *testEnv) {
		_, restart := w.Restart(w.ctx, "n0")
		_, keys := w.Keys(w.ctx, "n9")
		_, scripts := w.FlushScripts(w.ctx, "n9")
		for name, err := range map[string]error{
			"restart of a node that runs":    restart,
			"kill of an unknown node":        w.Kill(w.ctx, "n9", nil),
			"pause of an unknown node":       w.pause("n9").err,
			"keys of an unknown node":        keys,
			"scripts of an unknown node":     scripts,
			"promotion without replicas":     w.Promote(w.ctx, "n0"),
			"stop of replication to nowhere": w.stopReplication().err,
		} {
			if err == nil {
				w.Errorf("%s: got no error", name)
			}
		}
		w.must(w.Kill(w.ctx, "n0", nil))
		if w.Kill(w.ctx, "n0", nil) == nil {
			w.Error("second kill: got no error")
		}
		if w.pause("n0").err == nil {
			w.Error("pause of a killed node: got no error")
		}
	})
}

func failovers(s suite) {
	for name, kill := range map[string]bool{"primary killed": true, "primary lives on": false} {
		s.Run(name, func(t *testing.T) {
			commands := suite{t, s.open}.run(replicated, func(w *testEnv) {
				w.mustSet(0, "early", "1")
				w.inSync(2)
				w.promote(kill)
				w.reachPromoted()
				if !kill {
					return
				}
				_, err := w.Restart(w.ctx, "n0")
				w.must(err)
				w.inSync(2)               // n2 and the old primary
				w.check("n0", "late", "") // the old primary's own write is gone
				w.check("n0", "after", "1")
			})
			for _, g := range named(commands, "GET") {
				if g.Node != "n1" || !g.Ran() {
					t.Errorf("got %+v, want it run on n1", g)
				}
			}
		})
	}
}

// promote makes n1 the primary before an acknowledged write has reached n1.
func (w *testEnv) promote(kill bool) {
	stopped := w.stopReplication()
	w.mustSet(0, "late", "1")
	time.Sleep(hasty) // until the write to the replicas is held
	if kill {
		w.must(w.Kill(w.ctx, "n0", nil))
	}
	w.must(w.Promote(w.ctx, "n1"))
	time.Sleep(hasty) // until clients have moved
	stopped.liftAfter(1)
	if got := w.List(); !slices.Equal(got, []string{"n1"}) {
		w.Errorf("List: got %v, want n1", got)
	}
}

// reachPromoted checks that clients reach the new primary n1, and that their links can be
// named by n1 and by n0.
func (w *testEnv) reachPromoted() {
	w.step(1, "acquire")
	if err := w.redis(1, 0).Get(w.ctx, "late").Err(); !errors.Is(err, redis.Nil) {
		w.Errorf("late after the failover: got %v, want %v", err, redis.Nil)
	}
	if got, err := w.redis(1, 0).Get(w.ctx, "early").Result(); got != "1" || err != nil {
		w.Errorf("early after the failover: got %q, %v, want 1", got, err)
	}
	w.mustSet(0, "after", "1")
	hold := w.hold(testbed.Link{From: "c0", To: "n1", Conn: 1}, testbed.Upstream)
	ctx, cancel := context.WithTimeout(w.ctx, hasty)
	defer cancel()
	if err := w.redis(0, 0).Set(ctx, "held", "1", 0).Err(); err == nil {
		w.Error("SET on the new primary's first connection, held: got no error")
	}
	hold.liftAfter(1)
	w.await("n1", "held", "1")
	w.inSync(1)                                 // n2 follows n1
	for _, name := range []string{"n0", "n1"} { // the old name still works
		w.cut(testbed.Link{From: "c0", To: name}, testbed.Both).liftAfter(0)
	}
}

func stoppedReplication(s suite) {
	s.run(replicated, func(w *testEnv) {
		stopped := w.stopReplication()
		w.mustSet(0, "k", "1")
		time.Sleep(hasty)
		w.check("n1", "k", "")
		w.check("n2", "k", "")
		stopped.liftAfter(1)
		w.inSync(2)
		w.check("n1", "k", "1")
	})
}

func scripts(s suite) {
	commands := s.run(single, func(w *testEnv) {
		script := redis.NewScript("return 1")
		run := func() { w.must(script.Run(w.ctx, w.redis(0, 0), nil).Err()) }
		run()
		run()
		for _, want := range []int{1, 0} {
			if got, err := w.FlushScripts(w.ctx, "n0"); got != want || err != nil {
				w.Errorf("flush: got %d scripts, %v, want %d", got, err, want)
			}
		}
		run()
	})
	var got []string
	for _, c := range commands {
		if c.N > 0 {
			got = append(got, resp.Name(c.Args))
		}
	}
	if want := []string{"EVALSHA", "EVAL", "EVALSHA", "EVALSHA", "EVAL"}; !slices.Equal(got, want) {
		s.Errorf("got %v, want %v", got, want)
	}
}

func postMortem(s suite) {
	s.run(single, func(w *testEnv) {
		r := w.redis(0, 0)
		w.must(r.Set(w.ctx, "b", "\xff", 0).Err())
		w.must(r.HSet(w.ctx, "a", "write", "2", "read", "1").Err())
		w.must(r.PExpire(w.ctx, "a", time.Hour).Err())
		w.must(r.RPush(w.ctx, "c", "x").Err())
		w.must(r.HSet(w.ctx, "d", "", "x").Err())
		w.must(r.Set(w.ctx, "ended", "x", 10*time.Millisecond).Err())
		time.Sleep(20 * time.Millisecond)
		got, err := w.Keys(w.ctx, "n0")
		w.must(err)
		for i := range got {
			if got[i].TTL > 0 {
				got[i].TTL = got[i].TTL.Round(time.Minute)
			}
		}
		want := []history.KeyState{
			{Key: "a", Type: "hash", TTL: time.Hour, Value: "read=1 write=2"},
			{Key: "b", Type: "string", TTL: -1, Value: "\xff"},
			{Key: "c", Type: "list", TTL: -1},
			{Key: "d", Type: "hash", TTL: -1, Value: "=x"},
		}
		if !slices.Equal(got, want) {
			w.Errorf("got %+v, want %+v", got, want)
		}
	})
}
