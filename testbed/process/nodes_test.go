package process

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestAPausedNodeRunsWhatWaitedWhenItResumes(t *testing.T) {
	commands := run(t, testbed.Setup{Topology: testbed.Single, Clients: 3, CommandTimeout: hasty}, func(w *trial) {
		undo := must(w.Pause(w.ctx, "n0"))(w)
		for c, key := range []string{"a", "b"} {
			if err := w.set(c, key, "1"); err == nil {
				t.Errorf("SET %s during the pause: got no error", key)
			}
		}
		w.undo(undo, 2)
		w.awaitExec("SET", 2)
		for _, key := range []string{"a", "b"} {
			if got := w.onNode("n0", key); got != "1" {
				t.Errorf("%s after: got %q, want 1", key, got)
			}
		}
		w.mustSet(2, "after", "1")
	})
	for _, s := range named(commands, "SET") {
		if !s.Ran() {
			t.Errorf("got %+v, want it run", s)
		}
	}
}

func TestARestartedNodeHasWhatItsDurabilityKeeps(t *testing.T) {
	for _, c := range []struct {
		durability testbed.Durability
		kept       []string
		lost       string
	}{
		{testbed.Volatile, nil, "all keys"},
		{testbed.EverySec, []string{"old"}, "the last second: SET new 2"},
		{testbed.Always, []string{"old", "new"}, "no acknowledged write"},
	} {
		t.Run(string(c.durability), func(t *testing.T) {
			defer goleak.VerifyNone(t)
			run(t, testbed.Setup{Topology: testbed.Single, Durability: c.durability}, func(w *trial) {
				for round := range 2 { // a second restart finds its files as well as the first
					w.mustSet(0, "old", "1")
					if c.durability == testbed.EverySec {
						time.Sleep(unsynced + 50*time.Millisecond)
					}
					w.mustSet(0, "new", "2")
					if err := w.redis(0, 0).ScriptLoad(w.ctx, "return 1").Err(); err != nil {
						t.Fatal(err)
					}
					w.restart("n0", c.lost)
					for _, key := range []string{"old", "new"} {
						if got, want := w.onNode("n0", key) != "", strings.Contains(strings.Join(c.kept, " "), key); got != want {
							t.Errorf("round %d: %s is there: %t, want %t", round, key, got, want)
						}
					}
					if n := must(w.FlushScripts(w.ctx, "n0"))(w); n != 0 {
						t.Errorf("scripts after the restart: got %d, want none", n)
					}
					w.mustSet(1, "after", "1")
					if err := w.redis(0, 0).Del(w.ctx, "old", "new").Err(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// restart kills a node, sees that it is down, and brings it back.
func (w *trial) restart(node, lost string) {
	w.Helper()
	if err := w.Kill(w.ctx, node); err != nil {
		w.Fatal(err)
	}
	if err := w.set(0, "down", "1"); err == nil {
		w.Error("SET on a killed node: got no error")
	}
	got, err := w.Restart(w.ctx, node)
	if err != nil {
		w.Fatal(err)
	}
	if !strings.Contains(got, lost) {
		w.Errorf("lost: got %q, want %q", got, lost)
	}
}

func TestConnectionsThatBrokeWhileIdleAreReplacedUnseen(t *testing.T) {
	run(t, single, func(w *trial) {
		if err := w.Kill(w.ctx, "n0"); err != nil {
			t.Fatal(err)
		}
		must(w.Restart(w.ctx, "n0"))(w)
		w.mustSet(0, "k", "1") // as go-redis does over TCP
	})
}

func TestWrongOrdersToNodesAreErrors(t *testing.T) {
	run(t, single, func(w *trial) {
		_, errs := w.Restart(w.ctx, "n0")
		for name, err := range map[string]error{
			"restart of a node that runs": errs,
			"kill of an unknown node":     w.Kill(w.ctx, "n9"),
			"promotion without replicas":  w.Promote(w.ctx, "n0"),
		} {
			if err == nil {
				t.Errorf("%s: got no error", name)
			}
		}
		if err := w.Kill(w.ctx, "n0"); err != nil {
			t.Fatal(err)
		}
		if err := w.Kill(w.ctx, "n0"); err == nil {
			t.Error("second kill: got no error")
		}
		if _, err := w.Pause(w.ctx, "n0"); err == nil {
			t.Error("pause of a killed node: got no error")
		}
	})
}

func TestFailoverLosesAnAcknowledgedWrite(t *testing.T) {
	for name, kill := range map[string]bool{"primary killed": true, "primary lives on": false} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			commands := run(t, testbed.Setup{Topology: testbed.Replicated}, func(w *trial) {
				w.mustSet(0, "early", "1")
				w.inSync(2)
				undo := must(w.StopReplication(w.ctx))(w)
				w.mustSet(0, "late", "1")
				w.awaitHeld(1)
				if kill {
					if err := w.Kill(w.ctx, "n0"); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Promote(w.ctx, "n1"); err != nil {
					t.Fatal(err)
				}
				w.undo(undo, 1)
				if got := w.List(); !reflect.DeepEqual(got, []string{"n1"}) {
					t.Errorf("List: got %v, want n1", got)
				}
				w.step(1, "acquire")
				if got := w.redis(1, 0).Get(w.ctx, "late").Err(); !errors.Is(got, redis.Nil) {
					t.Errorf("late after the failover: got %v, want %v", got, redis.Nil)
				}
				if got := w.redis(1, 0).Get(w.ctx, "early").Val(); got != "1" {
					t.Errorf("early after the failover: got %q, want 1", got)
				}
				w.mustSet(0, "after", "1")
				hold := must(w.Hold(w.ctx, testbed.Link{From: "c0", To: "n1", Conn: 1}, testbed.Upstream))(w)
				ctx, cancel := context.WithTimeout(w.ctx, hasty)
				if err := w.redis(0, 0).Set(ctx, "held", "1", 0).Err(); err == nil {
					t.Error("SET on the new primary's first connection, held: got no error")
				}
				cancel()
				w.undo(hold, 1)
				w.inSync(1) // n2 follows n1
				cut := must(w.Cut(w.ctx, testbed.Link{From: "c0", To: "n1"}, testbed.Both))(w)
				w.undo(cut, 0)
				if !kill {
					return
				}
				must(w.Restart(w.ctx, "n0"))(w)
				w.inSync(2) // the old primary as well
				if got := w.onNode("n0", "after"); got != "1" {
					t.Errorf("after on the old primary: got %q, want 1", got)
				}
			})
			for _, g := range named(commands, "GET") {
				if g.Node != "n1" || !g.Ran() {
					t.Errorf("got %+v, want it run on n1", g)
				}
			}
		})
	}
}

func TestReplicationThatWasStoppedCatchesUp(t *testing.T) {
	run(t, testbed.Setup{Topology: testbed.Replicated}, func(w *trial) {
		undo := must(w.StopReplication(w.ctx))(w)
		w.mustSet(0, "k", "1")
		w.awaitHeld(1)
		if got := w.onNode("n1", "k"); got != "" {
			t.Errorf("k on n1 while stopped: got %q", got)
		}
		w.undo(undo, 1)
		w.inSync(2)
		if got := w.onNode("n1", "k"); got != "1" {
			t.Errorf("k on n1: got %q, want 1", got)
		}
	})
}

func TestAReplicaThatWasCutOffCatchesUp(t *testing.T) {
	run(t, testbed.Setup{Topology: testbed.Replicated}, func(w *trial) {
		undo := must(w.Cut(w.ctx, testbed.Link{From: "n1", To: "n0"}, testbed.Downstream))(w)
		w.mustSet(0, "k", "1")
		w.inSync(1)
		w.awaitCaught("n1", 2)
		w.undo(undo, 2) // the SETs of k and by inSync
		w.inSync(2)
		if got := w.onNode("n1", "k"); got != "1" {
			t.Errorf("k on n1: got %q, want 1", got)
		}
	})
}

// inSync waits until that many replicas have all that the primary executed.
func (w *trial) inSync(replicas int) {
	w.Helper()
	err := w.env.serving()[0].ask(w.ctx, func(c *redis.Client) error {
		conn := c.Conn()
		defer conn.Close()
		if err := conn.Set(w.ctx, "sync", "1", 0).Err(); err != nil {
			return err
		}
		n, err := conn.Wait(w.ctx, replicas, adminTimeout).Result()
		if err == nil && n < int64(replicas) {
			err = errors.New("replicas did not catch up")
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// awaitHeld waits until that many writes are held back from every replica.
func (w *trial) awaitHeld(n int) {
	w.Helper()
	for _, s := range w.streams {
		w.awaitCaught(s.replica.name, n)
	}
}

func (w *trial) awaitCaught(replica string, n int) {
	w.Helper()
	s := w.syncLink(testbed.Link{From: replica, To: "n0"})
	for s.proxy.caught(testbed.Downstream) < n {
		if w.ctx.Err() != nil {
			w.Fatal(w.ctx.Err())
		}
		time.Sleep(time.Millisecond)
	}
}

func TestScriptsAreFlushedAndCounted(t *testing.T) {
	commands := run(t, single, func(w *trial) {
		script := redis.NewScript("return 1")
		for range 2 {
			if err := script.Run(w.ctx, w.redis(0, 0), nil).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if got := must(w.FlushScripts(w.ctx, "n0"))(w); got != 1 {
			t.Errorf("first: got %d scripts, want 1", got)
		}
		if got := must(w.FlushScripts(w.ctx, "n0"))(w); got != 0 {
			t.Errorf("second: got %d scripts, want 0", got)
		}
		if err := script.Run(w.ctx, w.redis(0, 0), nil).Err(); err != nil {
			t.Fatal(err)
		}
	})
	var got []string
	for _, c := range commands {
		if c.N > 0 {
			got = append(got, testbed.CommandName(c.Args))
		}
	}
	want := []string{"EVALSHA", "EVAL", "EVALSHA", "EVALSHA", "EVAL"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestKeysAreListedForAPostMortem(t *testing.T) {
	run(t, single, func(w *trial) {
		r := w.redis(0, 0)
		r.Set(w.ctx, "b", "\xff", 0)
		r.HSet(w.ctx, "a", "write", "2", "read", "1")
		r.PExpire(w.ctx, "a", time.Hour)
		r.RPush(w.ctx, "c", "x")
		got := must(w.Keys(w.ctx, "n0"))(w)
		for i := range got {
			if got[i].TTL > 0 {
				got[i].TTL = got[i].TTL.Round(time.Minute)
			}
		}
		want := []history.KeyState{
			{Key: "a", Type: "hash", TTL: time.Hour, Value: "read=1 write=2"},
			{Key: "b", Type: "string", TTL: -1, Value: "\xff"},
			{Key: "c", Type: "list", TTL: -1},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}
