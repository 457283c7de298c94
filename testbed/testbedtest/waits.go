package testbedtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

var waits = []promise{
	{name: "WAIT without replicas", test: waitAlone},
	{name: "WAIT is about all that was written when the connection last asked", test: waitForWrites, needs: testbed.CanNodes},
	{name: "a WAIT that ends while the node is frozen is answered when it goes on", test: waitFrozen, needs: testbed.CanNodes},
	{name: "WAIT counts no replica that is down", test: waitForTheDead, needs: testbed.CanNodes},
	{name: "WAIT in a transaction does not wait", test: waitInTransaction, needs: testbed.CanNodes},
	{name: "a promotion keeps what WAIT saw, but no scripts and no listeners", test: promotedReplica, needs: testbed.CanNodes},
	{name: "a durable restart keeps data and deadlines, but no scripts and no listeners", test: keptData, needs: testbed.CanNodes},
}

// doer is a connection or a pool of connections.
type doer interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}

// reply sends a command and returns the reply as text. A network error ends the body.
func (w *testEnv) reply(c doer, args ...any) string {
	v, err := c.Do(w.ctx, args...).Result()
	var answered redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return "nil"
	case errors.As(err, &answered):
		return answered.Error()
	}
	w.must(err)
	return fmt.Sprint(v)
}

// answers checks the reply to a command.
func (w *testEnv) answers(c doer, want string, args ...any) {
	w.Helper()
	if got := w.reply(c, args...); got != want {
		w.Errorf("%v: got %s, want %s", args, got, want)
	}
}

// conn returns a connection of its own of a client. It is closed when the environment ends.
func (w *testEnv) conn(client int) *redis.Conn {
	c := w.redis(client, 0).Conn()
	context.AfterFunc(w.ctx, func() { _ = c.Close() })
	return c
}

func waitAlone(s suite) {
	s.run(single, func(w *testEnv) {
		c := w.redis(0, 0)
		w.mustSet(0, "k", "v")
		for _, row := range []struct {
			want string
			args []any
		}{
			{"0", []any{"WAIT", 0, 0}},
			{"0", []any{"WAIT", 1, 20}},
			{"0", []any{"WAIT", 0, 20}},
			{"0", []any{"WAIT", -1, 0}},
			{"ERR wrong number of arguments for 'wait' command", []any{"WAIT"}},
			{"ERR wrong number of arguments for 'wait' command", []any{"WAIT", 1}},
			{"ERR wrong number of arguments for 'wait' command", []any{"WAIT", 1, 2, 3}},
			{"ERR value is not an integer or out of range", []any{"WAIT", "x", 0}},
			{"ERR timeout is not an integer or out of range", []any{"WAIT", 1, "x"}},
			{"ERR timeout is negative", []any{"WAIT", 1, -1}},
			{
				"ERR This Redis command is not allowed from script script: bbfed85c70c014fc80d45963d89f56fdca92b4ad, on @user_script:1.",
				[]any{"EVAL", `return redis.call("WAIT", 1, 0)`, 0},
			},
		} {
			w.answers(c, row.want, row.args...)
		}
	})
}

func waitForWrites(s suite) {
	s.run(replicated, func(w *testEnv) {
		writer, other := w.conn(0), w.conn(1)
		w.inSync(testbed.Replicas)
		stopped := w.stopReplication()
		w.answers(writer, "OK", "SET", "k", "v")
		w.answers(writer, "0", "WAIT", 1, 50)
		w.answers(other, "2", "WAIT", 2, 50)
		w.answers(other, "v", "GET", "k")
		w.answers(other, "0", "WAIT", 2, 50)
		stopped.liftAfter(1)
		w.answers(writer, "2", "WAIT", 2, 0)
		w.answers(other, "2", "WAIT", 2, 0)
	})
}

func waitFrozen(s suite) {
	const frozen = 600 * time.Millisecond
	s.run(replicated, func(w *testEnv) {
		c := w.conn(0)
		w.inSync(testbed.Replicas)
		stopped := w.stopReplication()
		w.answers(c, "OK", "SET", "k", "v")
		asked, answered := w.Now(), make(chan error, 1)
		var replicas int64
		go func() {
			n, err := c.Do(w.ctx, "WAIT", 2, 100).Int64()
			replicas = n
			answered <- err
		}()
		time.Sleep(30 * time.Millisecond)
		pause := w.pause("n0")
		time.Sleep(frozen)
		pause.lift()
		w.must(<-answered)
		if took := w.Now() - asked; replicas != 0 || took < frozen {
			w.Errorf("got %d replicas after %v, want none after the pause", replicas, took)
		}
		stopped.lift()
	})
}

func waitForTheDead(s suite) {
	s.run(replicated, func(w *testEnv) {
		c := w.conn(0)
		w.inSync(testbed.Replicas)
		w.answers(c, "OK", "SET", "k", "v")
		w.answers(c, "2", "WAIT", 2, 0)
		for _, replica := range []string{"n1", "n2"} {
			w.must(w.Kill(w.ctx, replica, nil))
		}
		time.Sleep(hasty) // until the primary has noticed the kills
		w.answers(c, "0", "WAIT", 1, 100)
	})
}

func waitInTransaction(s suite) {
	s.run(replicated, func(w *testEnv) {
		c := w.conn(0)
		w.inSync(testbed.Replicas)
		stopped := w.stopReplication()
		w.answers(c, "OK", "MULTI")
		w.answers(c, "QUEUED", "SET", "k", "v")
		w.answers(c, "QUEUED", "WAIT", 1, 0)
		w.answers(c, "[OK 0]", "EXEC")
		stopped.lift()
	})
}

// listener subscribes client 1 to the channel c.
func (w *testEnv) listener() {
	sub := w.redis(1, 0).Subscribe(w.ctx, "c")
	context.AfterFunc(w.ctx, func() { _ = sub.Close() })
	_, err := sub.Receive(w.ctx)
	w.must(err)
	w.answers(w.redis(0, 0), "1", "PUBLISH", "c", "m")
}

// forgot checks that the node knows neither the script nor the listener of before.
func (w *testEnv) forgot(sha string) {
	w.Helper()
	w.answers(w.redis(0, 0), "NOSCRIPT No matching script. Please use EVAL.", "EVALSHA", sha, 0)
	w.answers(w.redis(0, 0), "0", "PUBLISH", "c", "m")
}

// lasts checks a key's remaining life, which a busy machine may read late.
func (w *testEnv) lasts(key string, want time.Duration) {
	w.Helper()
	got, err := w.redis(0, 0).PTTL(w.ctx, key).Result()
	w.must(err)
	if got > want || got < want-waitTimeout {
		w.Errorf("%s lives for %v, want %v", key, got, want)
	}
}

func promotedReplica(s suite) {
	s.run(replicated, func(w *testEnv) {
		sha := w.reply(w.redis(0, 0), "SCRIPT", "LOAD", "return redis.call('SET', 'lives', 'v', 'PX', 60000)")
		w.do("EVALSHA "+sha+" 0", "SET ends v PX 300")
		w.listener()
		w.inSync(testbed.Replicas)
		time.Sleep(hasty)
		w.must(w.Kill(w.ctx, "n0", nil))
		w.must(w.Promote(w.ctx, "n2"))
		w.do("PING")
		w.lasts("lives", time.Minute-hasty)
		w.answers(w.redis(0, 0), "0", "EXISTS", "ends")
		w.forgot(sha)
	})
}

func keptData(s suite) {
	s.run(durable, func(w *testEnv) {
		w.do("SET k v", "SET lives v PX 60000", "SET ends v PX 200", "HSET h f 1", "SET gone v", "DEL gone",
			"SET persists v PX 100", "PERSIST persists", "INCR n", "INCR n")
		sha := w.reply(w.redis(0, 0), "SCRIPT", "LOAD", "return redis.call('SET', 'scripted', 'v', 'PX', 60000)")
		w.do("EVALSHA " + sha + " 0")
		w.listener()
		for range 2 { // the second time from the data that survived the first restart
			w.downFor("n0", outlived/2)
			w.do("PING")
			for key, want := range map[string]string{
				"k": "v", "lives": "v", "ends": "", "h": "f=1", "gone": "", "persists": "v", "n": "2", "scripted": "v",
			} {
				w.check("n0", key, want)
			}
			w.forgot(sha)
		}
		w.lasts("lives", time.Minute-outlived)
		w.lasts("scripted", time.Minute-outlived)
	})
}
