package testbedtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

var clusters = []promise{
	{name: "commands reach the master of their slot", test: clusterRoutes, where: testbed.Cluster},
	{name: "a script with keys in two slots is refused", test: crossSlot, where: testbed.Cluster},
	{name: "a cluster's failover loses an acknowledged write", test: clusterFailover, where: testbed.Cluster},
	{name: "a frozen master is replaced, and steps down", test: frozenMaster, where: testbed.Cluster, own: true},
	{name: "a master that comes back at once keeps its slots", test: restartedMaster, where: testbed.Cluster, own: true},
	{name: "slots move with what is in them", test: migration, where: testbed.Cluster},
	{name: "keys between two masters are found", test: halfway, where: testbed.Cluster},
	{name: "slots whose move fails stay with their keys", test: failedMove, where: testbed.Cluster},
	{name: "slots whose move fails halfway go with their keys", test: halfMove, where: testbed.Cluster},
	{name: "what was not answered is not repeated", test: unrepeated, where: testbed.Cluster},
	{name: "what cannot be done to a cluster is an error", test: wrongClusters, where: testbed.Cluster},
}

var clustered = testbed.Setup{Topology: testbed.Cluster, CommandTimeout: 5 * time.Second}

// Keys in slots of the first and the second master.
const first, second = "lock-0", "lock-1"

// shared returns the go-redis client through which a client process uses the cluster.
func (w *testEnv) shared(client int) *redis.ClusterClient {
	return w.Client(client).Locks().Nodes[0].(*redis.ClusterClient)
}

// gets checks a key's value as a client of a cluster sees it; "" = no key.
func (w *testEnv) gets(client int, key, want string) {
	w.Helper()
	got, err := w.shared(client).Get(w.ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) || got != want {
		w.Errorf("c%d gets %s: got %q, %v, want %q", client, key, got, err, want)
	}
}

// put sets a key of the cluster as the client, with a TTL of an hour.
func (w *testEnv) put(client int, key, value string) {
	w.Helper()
	w.must(w.shared(client).Set(w.ctx, key, value, time.Hour).Err())
}

// masters checks that exactly these nodes are the cluster's masters.
func (w *testEnv) masters(want ...string) {
	w.Helper()
	if got := w.List(); !slices.Equal(got, want) {
		w.Errorf("List: got %v, want %v", got, want)
	}
}

// ran returns the nodes that executed the commands with this name without an error, in the
// order of the commands.
func ran(commands []history.Command, name string) []string {
	var nodes []string
	for _, c := range named(commands, name) {
		if c.Ran() && !c.Failed() {
			nodes = append(nodes, c.Node)
		}
	}
	return nodes
}

func clusterRoutes(s suite) {
	commands := s.calm(clustered, func(w *testEnv, _ *election) {
		w.masters("n0", "n1", "n2")
		w.step(0, "acquire")
		w.put(0, first, "1")
		w.put(0, second, "2")
		w.gets(1, first, "1")
		w.await("n3", first, "1") // replicas have the keys
		w.await("n4", second, "2")
		l := w.Client(0).Locks()
		for _, addr := range l.Addrs {
			c, err := l.Dial(w.ctx, "tcp", addr)
			w.must(err)
			w.must(c.Close())
		}
	})
	if got := ran(commands, "SET"); !slices.Equal(got, []string{"n0", "n1"}) {
		s.Errorf("SETs ran on %v, want n0 and n1", got)
	}
	for _, c := range commands {
		if own := slices.Contains([]string{"SET", "GET"}, resp.Name(c.Args)); own != (c.N > 0) {
			s.Errorf("got %+v, want a number in the step for SET and GET alone", c)
		}
	}
}

func crossSlot(s suite) {
	commands := s.run(clustered, func(w *testEnv) {
		err := redis.NewScript("return 1").Run(w.ctx, w.shared(0), []string{first, second}).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT ") {
			w.Errorf("got %v, want CROSSSLOT", err)
		}
		w.must(redis.NewScript("return 1").Run(w.ctx, w.shared(0), []string{first, "{" + first + "}:channel"}).Err())
	})
	if got := named(commands, "EVALSHA"); len(got) == 0 || !got[0].Failed() {
		s.Errorf("got %+v, want an EVALSHA that failed", got)
	}
}

func clusterFailover(s suite) {
	for name, kill := range map[string]bool{"master killed": true, "master lives on": false} {
		s.Run(name, func(t *testing.T) {
			suite{t, s.open}.run(clustered, func(w *testEnv) {
				w.put(0, first, "early")
				w.await("n3", first, "early")
				stopped := w.stopReplication()
				w.put(0, first, "late")
				time.Sleep(hasty)
				if kill {
					w.must(w.Kill(w.ctx, "n0", nil))
				}
				w.must(w.Promote(w.ctx, "n3"))
				w.masters("n3", "n1", "n2")
				w.gets(0, first, "early")
				w.put(1, first, "after")
				if hits := stopped.lift(); hits < 1 {
					w.Errorf("stopped replication: got %d hits, want the write that was lost", hits)
				}
				if !kill {
					return
				}
				_, err := w.Restart(w.ctx, "n0")
				w.must(err)
				w.await("n0", first, "after") // n0 is a replica now
				w.gets(0, first, "after")
			})
		})
	}
}

func frozenMaster(s suite) {
	s.calm(clustered, func(w *testEnv, events *election) {
		w.put(0, first, "early")
		w.await("n3", first, "early")
		pause := w.pause("n0")
		w.replaced(1)
		if got := events.told(); !slices.Equal(got, []string{"split c1 n3"}) {
			w.Errorf("told: got %v, want the split alone", got)
		}
		pause.lift()
		w.must(w.Client(0).Step(w.ctx, "rest"))
		w.replaced(0)
		w.masters("n3", "n1", "n2")
		if got := events.told(); len(got) == 0 || got[len(got)-1] != "promote n3" {
			w.Errorf("told: got %v, want n3 promoted in the end", got)
		}
	})
}

// replaced waits until a client can set the key lock-0 on n3, the former replica of n0.
func (w *testEnv) replaced(client int) {
	var err error
	for end := w.Now() + waitTimeout; w.Now() < end; time.Sleep(10 * time.Millisecond) {
		if err = w.shared(client).Set(w.ctx, first, "after", 0).Err(); err == nil && w.onNode("n3", first) == "after" {
			return
		}
	}
	w.must(err)
}

func restartedMaster(s suite) {
	s.run(clustered, func(w *testEnv) {
		w.put(0, first, "1")
		w.must(w.Kill(w.ctx, "n0", nil))
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		// On a slow machine, n3 may replace n0, and n3 has a copy of the key.
		got, err := w.shared(0).Get(w.ctx, first).Result()
		replaced := w.List()[0] != "n0"
		for end := w.Now() + waitTimeout; got == "1" && !replaced && w.Now() < end; time.Sleep(10 * time.Millisecond) {
			replaced = w.List()[0] != "n0"
		}
		if replaced {
			return
		}
		if got != "" || !errors.Is(err, redis.Nil) {
			w.Errorf("n0 restarted: got %q, %v, want no %s", got, err, first)
		}
		w.put(1, first, "2")
		w.gets(0, first, "2")
	})
}

// migrate moves the slots of n0's keys to n1. It returns the fault and the keys that Migrate
// reported.
func (w *testEnv) migrate() (f fault, told []history.KeyState) {
	undo, err := w.Env.(testbed.Slots).Migrate(w.ctx, "n0", "n1", func(from, to string, keys []history.KeyState) error {
		if from != "n0" || to != "n1" {
			w.Errorf("told: from %s to %s, want from n0 to n1", from, to)
		}
		told = keys
		return nil
	})
	return fault{w, undo, err}, told
}

func migration(s suite) {
	commands := s.calm(clustered, func(w *testEnv, _ *election) {
		nothing, _ := w.migrate()
		nothing.liftAfter(0)
		script := redis.NewScript("return redis.call('GET', KEYS[1])")
		w.put(0, first, "1")
		w.put(0, second, "2")
		w.must(script.Run(w.ctx, w.shared(0), []string{first}).Err())
		moving, told := w.migrate()
		if len(told) != 1 || told[0].Key != first || told[0].Value != "1" {
			w.Errorf("told: got %+v, want %s with its value", told, first)
		}
		w.gets(0, first, "1") // the client is redirected by ASK
		moving.liftAfter(1)
		w.gets(0, first, "1") // the client is redirected by MOVED, or knows the new master already
		if got, err := script.Run(w.ctx, w.shared(0), []string{first}).Text(); got != "1" || err != nil {
			w.Errorf("script at the new master: got %q, %v, want 1", got, err)
		}
		w.check("n0", first, "")
		w.check("n1", first, "1")
		if ttl, err := w.shared(1).PTTL(w.ctx, first).Result(); err != nil || ttl < 50*time.Minute || ttl > time.Hour {
			w.Errorf("life after the move: got %v, %v, want the rest of an hour", ttl, err)
		}
		w.gets(0, second, "2")
	})
	var replies []string
	for _, c := range named(commands, "GET") {
		kind, _, _ := strings.Cut(string(c.Reply), " ")
		replies = append(replies, c.Node+" "+kind)
	}
	// A client that asks for the slots just after the move gets no MOVED.
	asked := slices.DeleteFunc(slices.Clone(replies), func(r string) bool { return r == "n0 MOVED" })
	want := []string{"n0 ASK", `n1 "1"`, `n1 "1"`}
	if len(asked) < 3 || !slices.Equal(asked[:3], want) {
		s.Errorf("GETs: got %q, want %q first, with n0 MOVED before the last of them or not at all", replies, want)
	}
}

func halfway(s suite) {
	s.calm(clustered, func(w *testEnv, _ *election) {
		w.put(0, first, "1")
		moving, _ := w.migrate()
		w.put(1, first, "2")
		w.must(w.shared(0).Del(w.ctx, first).Err())
		w.put(0, first, "3")
		w.gets(1, first, "3")
		moving.liftAfter(1)
		w.check("n0", first, "")
		w.check("n1", first, "3")
		w.await("n4", first, "3")
	})
}

func unrepeated(s suite) {
	// The timeout is long, since all commands but one, and all requests for the slots, must
	// succeed.
	commands := s.calm(clustered, func(w *testEnv, _ *election) {
		w.put(0, first, "1")
		cut := w.cut(c0n0, testbed.Downstream)
		if err := w.shared(0).Incr(w.ctx, second).Err(); err != nil {
			w.Errorf("another master: %v", err)
		}
		err := w.shared(0).Append(w.ctx, first, "x").Err()
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("without a reply: got %v, want a timeout", err)
		}
		if cut.lift() == 0 { // on a busy machine go-redis asks this node for the slots meanwhile
			w.Errorf("undo: no hits")
		}
	})
	if got := named(commands, "APPEND"); len(got) != 1 {
		s.Errorf("got %d APPENDs, want one", len(got))
	}
}

func wrongClusters(s suite) {
	s.run(clustered, func(w *testEnv) {
		slots := w.Env.(testbed.Slots)
		_, self := slots.Migrate(w.ctx, "n0", "n0", nil)
		_, shard := slots.Migrate(w.ctx, "n0", "n3", nil)
		_, unknown := slots.Migrate(w.ctx, "n0", "n9", nil)
		for name, err := range map[string]error{
			"promotion of a master":     w.Promote(w.ctx, "n0"),
			"slots to their own master": self,
			"slots to their own shard":  shard,
			"slots to an unknown node":  unknown,
		} {
			if err == nil {
				w.Errorf("%s: got no error", name)
			}
		}
		w.put(0, first, "1")
		w.masters("n0", "n1", "n2")
	})
}
