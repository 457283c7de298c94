package testbedtest

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

var durable = testbed.Setup{Topology: testbed.Single, Durability: testbed.Always}

var changes = []changing{
	{name: "commands, scripts and transactions", setup: single, needs: testbed.CanNodes, body: commandChanges, want: []string{
		"n0 set: command: - → set a,b,", "n0 tx: command: - → string 2",
		"n0 k: command: - → string v",
		"n0 k: command: string v → string v mortal",
		"n0 k: command: string v mortal → string vw mortal",
		"n0 h: command: - → hash a=2,b=1,",
		"n0 h: command: hash a=2,b=1, → hash a=2,",
		"n0 h: command: hash a=2, → -",
		"n0 k: command: string vw mortal → hash a=2,",
		"n0 of-its-own: command: - → hash f=1,",
		"n0 s: command: - → string x",
		"n0 z: command: - → zset m=1.5,",
		"n0 l: command: - → list y,x,",
		"n0 l: command: list y,x, → -",
		"n0 k: command: hash a=2, → -", "n0 of-its-own: command: hash f=1, → -", "n0 s: command: string x → -",
		"n0 set: command: set a,b, → -", "n0 tx: command: string 2 → -", "n0 z: command: zset m=1.5, → -",
	}},
	{name: "lives that end", setup: single, body: func(w *testEnv) {
		w.do("SET k v PX 300 NX", "SET k w NX", "SET later v PX 350")
		time.Sleep(outlived)
		w.do("SET k w PX 3600000 NX", "DEL k")
	}, want: []string{
		"n0 k: command: - → string v mortal", "n0 later: command: - → string v mortal",
		"n0 k: expiry: string v mortal → -", "n0 later: expiry: string v mortal → -",
		"n0 k: command: - → string w mortal", "n0 k: command: string w mortal → -",
	}},
	{name: "a pause", setup: single, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET k v PX 300")
		pause := w.pause("n0")
		waits := make(chan error, 1)
		go func() { waits <- w.again("SET k w NX") }()
		time.Sleep(outlived)
		pause.lift()
		w.must(<-waits)
	}, want: []string{"n0 k: command: - → string v mortal", "n0 k: expiry: string v mortal → -", "n0 k: command: - → string w"}},
	{name: "a volatile restart", setup: single, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET k v EX 3600", "SADD s b a", "SET soon v PX 300")
		w.downFor("n0", outlived)
		w.do("SET k w")
	}, want: []string{
		"n0 k: command: - → string v mortal", "n0 s: command: - → set a,b,", "n0 soon: command: - → string v mortal",
		"n0 k: restart: string v mortal → -", "n0 s: restart: set a,b, → -", "n0 soon: restart: string v mortal → -",
		"n0 k: command: - → string w",
	}},
	{name: "a restart that loses the last second", setup: testbed.Setup{Topology: testbed.Single, Durability: testbed.EverySec}, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET a 1", "SET c 1 EX 60", "SET d 1")
		time.Sleep(unsynced)
		w.do("SET b 1", "SET a 2", "PERSIST c", "DEL d")
		w.downFor("n0", 0)
	}, want: []string{
		"n0 a: command: - → string 1", "n0 c: command: - → string 1 mortal", "n0 d: command: - → string 1",
		"n0 b: command: - → string 1", "n0 a: command: string 1 → string 2",
		"n0 c: command: string 1 mortal → string 1", "n0 d: command: string 1 → -",
		"n0 a: restart: string 2 → string 1", "n0 b: restart: string 1 → -",
		"n0 c: restart: string 1 → string 1 mortal", "n0 d: restart: - → string 1",
	}},
	{name: "a restart that loses nothing", setup: durable, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET k v EX 3600", "SET soon v PX 300")
		w.downFor("n0", outlived)
		w.do("DEL k")
	}, want: []string{
		"n0 k: command: - → string v mortal", "n0 soon: command: - → string v mortal", "n0 soon: expiry: string v mortal → -",
		"n0 k: command: string v mortal → -",
	}},
	{name: "replicas", setup: replicated, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.inSync(testbed.Replicas)
		w.downFor("n1", 0)
		w.inSync(testbed.Replicas)
		w.downFor("n0", 0)
		w.await("n1", "sync", "") // a primary that restarts empty empties its replicas
		w.do("SET sync 2")
	}, want: []string{"n0 sync: command: - → string 1", "n0 sync: restart: string 1 → -", "n0 sync: command: - → string 2"}},
	{name: "promotions", setup: replicated, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET k 1 EX 3600", "SET soon 1 PX 2000")
		w.inSync(testbed.Replicas)
		stopped := w.stopReplication()
		w.do("SET k 2", "SET lost 1")
		w.must(w.Promote(w.ctx, "n1"))
		stopped.lift()
		w.do("SET k 3")
		time.Sleep(3 * time.Second)
		w.inSync(1)
		w.must(w.Promote(w.ctx, "n2"))
		w.do("SET l 1")
	}, want: []string{
		"n0 k: command: - → string 1 mortal", "n0 soon: command: - → string 1 mortal", "n0 sync: command: - → string 1",
		"n0 k: command: string 1 mortal → string 2", "n0 lost: command: - → string 1", "n0 soon: expiry: string 1 mortal → -",
		"n1 k: promotion: - → string 1 mortal", "n1 soon: promotion: - → string 1 mortal", "n1 sync: promotion: - → string 1",
		"n1 k: command: string 1 mortal → string 3", "n1 soon: expiry: string 1 mortal → -",
		"n2 k: promotion: - → string 3", "n2 sync: promotion: - → string 1", "n2 l: command: - → string 1",
	}},
	{name: "an old primary that is promoted again", setup: replicated, needs: testbed.CanNodes, body: func(w *testEnv) {
		w.do("SET a 1")
		w.inSync(testbed.Replicas)
		w.must(w.Kill(w.ctx, "n0", nil))
		w.must(w.Promote(w.ctx, "n1"))
		w.do("SET a 2")
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		w.await("n0", "a", "2")
		w.must(w.Promote(w.ctx, "n0"))
	}, want: []string{
		"n0 a: command: - → string 1", "n0 sync: command: - → string 1", "n0 a: promotion: string 1 → string 2",
		"n1 a: promotion: - → string 1", "n1 sync: promotion: - → string 1", "n1 a: command: string 1 → string 2",
	}},
	{name: "two primaries", setup: replicated, needs: testbed.CanSplitBrain, body: func(w *testEnv) {
		w.inSync(testbed.Replicas)
		split := w.split("n1", 1)
		w.do("SET a 2")
		w.mustSet(1, "a", "3")
		split.lift()
		w.do("SET a 4")
	}, want: []string{
		"n0 sync: command: - → string 1", "n0 a: command: - → string 2",
		"n1 sync: promotion: - → string 1", "n1 a: command: - → string 3", "n1 a: command: string 3 → string 4",
	}},
	{name: "an eviction", setup: single, needs: testbed.CanMemory, body: func(w *testEnv) {
		w.do("SET k 1 EX 3600", "HSET h f 1")
		_, err := w.evict("n0")
		w.must(err)
		w.do("SET k 2")
	}, want: []string{
		"n0 k: command: - → string 1 mortal", "n0 h: command: - → hash f=1,",
		"n0 h: eviction: hash f=1, → -", "n0 k: eviction: string 1 mortal → -", "n0 k: command: - → string 2",
	}},
	{name: "a clock that jumps", setup: single, needs: testbed.CanNodeClocks, body: func(w *testEnv) {
		w.do("SET k v EX 3600", "SET for-ever v")
		w.skew(-time.Minute)
		w.skew(2 * time.Hour)
		w.check("n0", "k", "")
		w.also = jumped
	}, want: []string{
		"n0 k: command: - → string v mortal", "n0 for-ever: command: - → string v",
		"n0 k: clock: string v mortal → string v mortal", "n0 k: clock: string v mortal → string v mortal",
		"n0 k: expiry: string v mortal → -",
	}},
	{name: "a clock that is set while its node is down", setup: durable, needs: testbed.CanNodeClocks, body: func(w *testEnv) {
		w.do("SET a 1 EX 60")
		w.must(w.Kill(w.ctx, "n0", nil))
		w.skew(-time.Hour)
		_, err := w.Restart(w.ctx, "n0")
		w.must(err)
		w.do("PING")
		w.jump(-time.Hour, 0) // it has that clock already
	}, want: []string{"n0 a: command: - → string 1 mortal", "n0 a: restart: string 1 mortal → string 1 mortal"}},
	{name: "an election", setup: watched, body: func(w *testEnv) {
		w.inSync(testbed.Replicas)
		w.must(w.Kill(w.ctx, "n0", nil))
		w.must(w.Promote(w.ctx, "n1"))
		w.do("SET sync 2")
	}, want: []string{"n0 sync: command: - → string 1", "n1 sync: promotion: - → string 1", "n1 sync: command: string 1 → string 2"}},
	{name: "slots that move", setup: clustered, body: func(w *testEnv) {
		w.do("SET lock-0 v EX 3600", "SET {lock-0}:other v")
		moving, _ := w.migrate()
		w.do("SET lock-0 w KEEPTTL") // the client is redirected to n1
		moving.lift()
		w.do("DEL lock-0")
	}, want: []string{
		"n0 lock-0: command: - → string v mortal", "n0 {lock-0}:other: command: - → string v",
		"n0 lock-0: migration: string v mortal → -", "n0 {lock-0}:other: migration: string v → -",
		"n1 lock-0: migration: - → string v mortal", "n1 {lock-0}:other: migration: - → string v",
		"n1 lock-0: command: string v mortal → string w mortal", "n1 lock-0: command: string w mortal → -",
	}},
}

func commandChanges(w *testEnv) {
	_, err := w.redis(0, 0).TxPipelined(w.ctx, func(p redis.Pipeliner) error {
		p.Set(w.ctx, "tx", "1", 0)
		p.Del(w.ctx, "tx")
		p.Set(w.ctx, "tx", "2", 0)
		p.SAdd(w.ctx, "set", "b", "a")
		return nil
	})
	w.must(err)
	w.do("SET k v", "SET k v", "PEXPIRE k 3600000", "APPEND k w", "HSET h b 1 a 2", "HDEL h b", "RENAME h k")
	script := redis.NewScript(`redis.call("set", KEYS[1], ARGV[1]); redis.call("hset", "of-its-own", "f", 1); return 1`)
	w.must(script.Run(w.ctx, w.redis(0, 0), []string{"s"}, "x").Err())
	w.do("ZADD z 1.5 m", "RPUSH l y x", "TTL k", "PEXPIRE l -1", "FLUSHALL")
}

// jumped checks when lives end by a clock that was set back by a minute, and then two hours forward.
func jumped(w *testEnv, changes Chain) {
	// Both ends are read on the node's clock, which is known more coarsely on a busy machine: a second tells a minute
	// from none.
	life, later := changes[0].After.Expires, changes[2].After.Expires
	if moved := later - life - time.Minute; moved.Abs() > time.Second {
		w.Errorf("a clock set back by a minute moved the end from %v to %v", life, later)
	}
	if past := changes[3].After.Expires; past != 1 {
		w.Errorf("a life that was over before the trial's beginning ends at %v, want the least", past)
	}
}
