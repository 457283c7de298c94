package sim_test

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

const scriptSet = `return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])`

// loaded loads scriptSet and returns its digest.
func (w *stage) loaded() string {
	sha, err := w.node(0).ScriptLoad(w.ctx, scriptSet).Result()
	w.must(err)
	return sha
}

// knows notes whether the node that clients use has a script in its cache.
func (w *stage) knows(sha string) {
	r := w.reply(w.node(0), "EVALSHA", sha, 1, "by-script", "v", 100000)
	w.note("the loaded script: %s", r)
}

// subscribed subscribes client 1 to the channel c and returns the subscription.
func (w *stage) subscribed() *redis.PubSub {
	p := w.node(1).Subscribe(w.ctx, "c")
	_, err := p.Receive(w.ctx)
	w.must(err)
	return p
}

const noScript = "the loaded script: error NOSCRIPT No matching script. Please use EVAL."

// untilSynced is how long a scenario waits between the writes that a restart must keep and those that
// it must lose. The node syncs at whole seconds since its start. After this wait, the earlier writes are
// on the disk, and the next sync is so far away that the restart comes first.
const untilSynced = 2100 * time.Millisecond

var restarts = []scenario{
	{
		name: "volatile restart forgets all", setup: testbed.Setup{Durability: testbed.Volatile},
		body: func(w *stage) {
			w.do("SET", "k", "v")
			sha := w.loaded()
			defer w.subscribed().Close()
			w.see("PUBLISH", "c", "m")
			w.restart("n0", 0)
			w.see("GET", "k")
			w.see("PUBLISH", "c", "m")
			w.knows(sha)
		},
		want: []string{"PUBLISH c m: 1", "GET k: nil", "PUBLISH c m: 0", noScript},
	},
	{
		name: "durable restart keeps data and deadlines", setup: testbed.Setup{Durability: testbed.Always},
		body: func(w *stage) {
			w.do("SET", "k", "v")
			w.do("SET", "lives", "v", "PX", 60000)
			w.do("SET", "ends", "v", "PX", 200)
			w.do("HSET", "h", "f", "1")
			w.do("SET", "gone", "v")
			w.do("DEL", "gone")
			w.do("SET", "persists", "v", "PX", 100)
			w.do("PERSIST", "persists")
			w.do("EVAL", scriptSet, 1, "by-eval", "v", 60000)
			w.do("INCR", "n")
			w.do("INCR", "n")
			sha := w.loaded()
			w.restart("n0", 300*time.Millisecond)
			w.see("GET", "ends")
			w.keys("n0", "by-eval=v with a life, h=f=1, k=v, lives=v with a life, n=2, persists=v")
			w.life("lives", 60*time.Second-300*time.Millisecond)
			w.knows(sha)
			w.restart("n0", 0) // again, from the data that survived the first restart
			w.see("GET", "k")
		},
		want: []string{
			"GET ends: nil", "n0 holds: by-eval=v with a life, h=f=1, k=v, lives=v with a life, n=2, persists=v",
			"lives lives for 59.7s", noScript, "GET k: v",
		},
	},
	{
		name: "restart loses the last second", setup: testbed.Setup{Durability: testbed.EverySec},
		body: func(w *stage) {
			w.do("SET", "old", "v")
			w.do("SET", "deleted", "v")
			w.do("SET", "lives", "v", "PX", 60000)
			time.Sleep(untilSynced)
			w.do("SET", "new", "v")
			w.do("DEL", "deleted")
			w.do("PERSIST", "lives")
			w.restart("n0", 0)
			w.keys("n0", "deleted=v, lives=v with a life, old=v")
			w.life("lives", 60*time.Second-untilSynced)
		},
		want: []string{"n0 holds: deleted=v, lives=v with a life, old=v", "lives lives for 57.9s"},
	},
	{
		name: "connections that broke while idle are replaced unseen", setup: testbed.Setup{Durability: testbed.Always},
		body: func(w *stage) {
			w.do("SET", "k", "v")
			w.must(w.Kill(w.ctx, "n0", nil))
			_, err := w.Restart(w.ctx, "n0")
			w.must(err)
			time.Sleep(50 * time.Millisecond)
			w.see("GET", "k")
		},
		want: []string{"GET k: v"},
	},
	{
		name: "a killed node answers nobody", setup: testbed.Setup{Durability: testbed.Always},
		body: func(w *stage) {
			w.do("SET", "k", "v")
			w.must(w.Kill(w.ctx, "n0", nil))
			w.see("GET", "k")
			_, err := w.Restart(w.ctx, "n0")
			w.must(err)
			w.settle()
			w.see("GET", "k")
		},
		want: []string{"GET k: no reply", "GET k: v"},
	},
}

var failovers = []scenario{
	{
		name: "promotion loses what was not replicated", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			w.do("SET", "early", "v")
			w.do("SET", "deleted", "v")
			w.inSync()
			defer w.holdReplication()(w.ctx)
			w.see("SET", "late", "v")
			w.see("DEL", "deleted")
			w.promote("n1")
			w.see("GET", "early")
			w.see("GET", "late")
			w.see("GET", "deleted")
			w.see("SET", "after", "v")
			w.note("clients use %v", w.List())
		},
		want: []string{"SET late v: OK", "DEL deleted: 1", "GET early: v", "GET late: nil", "GET deleted: v", "SET after v: OK", "clients use [n1]"},
	},
	{
		name: "promotion keeps what WAIT saw", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			c := w.node(0).Conn()
			w.seeOf(c, "SET", "k", "v")
			w.seeOf(c, "WAIT", 2, 0)
			w.must(c.Close())
			w.must(w.Kill(w.ctx, "n0", nil))
			w.promote("n2")
			w.see("GET", "k")
		},
		want: []string{"SET k v: OK", "WAIT 2 0: 2", "GET k: v"},
	},
	{
		name: "a promoted replica knows no scripts and no listeners, and goes by the deadline", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			sha := w.loaded()
			w.do("EVALSHA", sha, 1, "lives", "v", 60000)
			w.do("SET", "ends", "v", "PX", 300)
			defer w.subscribed().Close()
			w.inSync()
			time.Sleep(500 * time.Millisecond)
			w.must(w.Kill(w.ctx, "n0", nil))
			w.promote("n1")
			w.life("lives", 60*time.Second-500*time.Millisecond)
			w.see("EXISTS", "ends")
			w.knows(sha)
			w.see("PUBLISH", "c", "m")
		},
		want: []string{"lives lives for 59.5s", "EXISTS ends: 0", noScript, "PUBLISH c m: 0"},
	},
	{
		name: "an old primary that comes back discards its data", setup: testbed.Setup{Topology: testbed.Replicated, Durability: testbed.Always},
		body: func(w *stage) {
			w.do("SET", "both", "v")
			w.inSync()
			undo := w.holdReplication()
			w.do("SET", "alone", "v")
			w.must(w.Kill(w.ctx, "n0", nil))
			w.promote("n1")
			_, err := undo(w.ctx)
			w.must(err)
			w.do("SET", "new", "v", "PX", 60000)
			_, err = w.Restart(w.ctx, "n0")
			w.must(err)
			w.keys("n0", "both=v, new=v with a life")
			w.keys("n2", "both=v, new=v with a life")
			w.do("SET", "newer", "v")
			w.keys("n0", "both=v, new=v with a life, newer=v")
		},
		want: []string{
			"n0 holds: both=v, new=v with a life", "n2 holds: both=v, new=v with a life",
			"n0 holds: both=v, new=v with a life, newer=v",
		},
	},
	{
		name: "a primary that restarts empty empties its replicas", setup: testbed.Setup{Topology: testbed.Replicated, Durability: testbed.Volatile},
		body: func(w *stage) {
			w.do("SET", "k", "v")
			w.inSync()
			w.restart("n0", 0)
			w.see("GET", "k")
			w.keys("n1", "")
		},
		want: []string{"GET k: nil", "n1 holds: "},
	},
}

var waits = []scenario{
	{
		name: "WAIT without replicas",
		body: func(w *stage) {
			w.do("SET", "k", "v")
			for _, args := range [][]any{
				{"WAIT", 0, 0}, {"WAIT", 1, 20}, {"WAIT", 0, 20}, {"WAIT"}, {"WAIT", 1}, {"WAIT", "x", 0}, {"WAIT", 1, "x"}, {"WAIT", 1, -1}, {"WAIT", -1, 0}, {"WAIT", 1, 2, 3},
				{"EVAL", `return redis.call("WAIT", 1, 0)`, 0},
			} {
				w.see(args...)
			}
		},
		want: []string{
			"WAIT 0 0: 0", "WAIT 1 20: 0", "WAIT 0 20: 0",
			"WAIT: error ERR wrong number of arguments for 'wait' command", "WAIT 1: error ERR wrong number of arguments for 'wait' command",
			"WAIT x 0: error ERR value is not an integer or out of range", "WAIT 1 x: error ERR timeout is not an integer or out of range",
			"WAIT 1 -1: error ERR timeout is negative", "WAIT -1 0: 0",
			"WAIT 1 2 3: error ERR wrong number of arguments for 'wait' command",
			`EVAL return redis.call("WAIT", 1, 0) 0: error ERR This Redis command is not allowed from script script: bbfed85c70c014fc80d45963d89f56fdca92b4ad, on @user_script:1.`,
		},
	},
	{
		name: "WAIT is about all that was written when the connection last asked", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			writer, other := w.node(0).Conn(), w.node(1).Conn()
			defer writer.Close()
			defer other.Close()
			w.inSync()
			undo := w.holdReplication()
			w.seeOf(writer, "SET", "k", "v")
			w.seeOf(writer, "WAIT", 1, 50)
			w.seeOf(other, "WAIT", 2, 50)
			w.seeOf(other, "GET", "k")
			w.seeOf(other, "WAIT", 2, 50)
			hits, err := undo(w.ctx)
			w.must(err)
			w.note("%d writes were held", hits)
			w.seeOf(writer, "WAIT", 2, 0)
			w.seeOf(other, "WAIT", 2, 0)
		},
		want: []string{
			"SET k v: OK", "WAIT 1 50: 0", "WAIT 2 50: 2", "GET k: v", "WAIT 2 50: 0",
			"1 writes were held", "WAIT 2 0: 2", "WAIT 2 0: 2",
		},
	},
	{
		name: "a WAIT whose time is over while the node is frozen is answered when it goes on", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			c := w.node(0).Conn()
			defer c.Close()
			w.inSync()
			undo := w.holdReplication()
			w.seeOf(c, "SET", "k", "v")
			answered := make(chan string, 1)
			asked := time.Now()
			go func() {
				reply := w.reply(c, "WAIT", 2, 100)
				answered <- fmt.Sprintf("%s, after the pause: %t", reply, time.Since(asked) >= 600*time.Millisecond)
			}()
			time.Sleep(30 * time.Millisecond)
			resume, err := w.Pause(w.ctx, "n0")
			w.must(err)
			time.Sleep(600 * time.Millisecond)
			_, err = resume(w.ctx)
			w.must(err)
			w.note("WAIT: %s", <-answered)
			_, err = undo(w.ctx)
			w.must(err)
		},
		want: []string{"SET k v: OK", "WAIT: 0, after the pause: true"},
	},
	{
		name: "WAIT counts no replica that is down", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			c := w.node(0).Conn()
			defer c.Close()
			w.inSync()
			w.seeOf(c, "SET", "k", "v")
			w.seeOf(c, "WAIT", 2, 0)
			for _, replica := range []string{"n1", "n2"} {
				w.must(w.Kill(w.ctx, replica, nil))
			}
			time.Sleep(300 * time.Millisecond) // until the primary has noticed the kills
			w.seeOf(c, "WAIT", 1, 100)
		},
		want: []string{"SET k v: OK", "WAIT 2 0: 2", "WAIT 1 100: 0"},
	},
	{
		name: "WAIT in a transaction does not wait", setup: testbed.Setup{Topology: testbed.Replicated},
		body: func(w *stage) {
			c := w.node(0).Conn()
			defer c.Close()
			w.inSync()
			undo := w.holdReplication()
			for _, args := range [][]any{{"SET", "k", "v"}, {"MULTI"}, {"SET", "k", "v"}, {"WAIT", 1, 0}, {"EXEC"}} {
				w.seeOf(c, args...)
			}
			_, err := undo(w.ctx)
			w.must(err)
		},
		want: []string{"SET k v: OK", "MULTI: OK", "SET k v: QUEUED", "WAIT 1 0: QUEUED", "EXEC: [OK 0]"},
	},
}

var lookings = []scenario{
	{
		name: "a post-mortem sees keys as they are",
		body: func(w *stage) {
			w.do("SET", "s", "a b")
			w.do("SET", "empty", "")
			w.do("HSET", "h", "write", "2", "read", "1", "", "x")
			w.do("SET", "lives", "v", "PX", 60000)
			w.do("SET", "ends", "v", "PX", 10)
			time.Sleep(20 * time.Millisecond)
			w.keys("n0", "empty=, h==x read=1 write=2, lives=v with a life, s=a b")
		},
		want: []string{"n0 holds: empty=, h==x read=1 write=2, lives=v with a life, s=a b"},
	},
	{
		name: "scripts are flushed and counted",
		body: func(w *stage) {
			sha := w.loaded()
			w.do("EVAL", "return 1", 0)
			for range 2 {
				n, err := w.FlushScripts(w.ctx, "n0")
				w.must(err)
				w.note("%d scripts", n)
			}
			w.knows(sha)
		},
		want: []string{"2 scripts", "0 scripts", noScript},
	},
	{
		name: "a paused node runs what waited, and lives end meanwhile", setup: testbed.Setup{CommandTimeout: 250 * time.Millisecond},
		body: func(w *stage) {
			w.do("SET", "ends", "v", "PX", 400)
			undo, err := w.Pause(w.ctx, "n0")
			w.must(err)
			w.see("SET", "waited", "v", "PX", 60000)
			time.Sleep(300 * time.Millisecond)
			hits, err := undo(w.ctx)
			w.must(err)
			w.note("%d commands waited", hits)
			w.keys("n0", "waited=v with a life")
			w.see("EXISTS", "ends")
			w.life("waited", time.Minute) // the minute began when the command ran
		},
		want: []string{"SET waited v PX 60000: no reply", "1 commands waited", "n0 holds: waited=v with a life", "EXISTS ends: 0", "waited lives for 1m0s"},
	},
}
