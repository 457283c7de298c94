package live_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/testbed"
)

// script is a sequence of commands, drawn at random.
type script [][]string

const (
	pause = "-- pause"
	brief = "40" // a TTL in milliseconds; the script waits for the expiry
	// long is a TTL in milliseconds that does not expire during the trial.
	long = "3600000"
)

// absoluteEnd stands for an absolute expiry about two hours from now, in milliseconds.
const absoluteEnd = "-- in two hours"

var (
	names  = rapid.SampledFrom([]string{"a", "b", "c"})
	texts  = rapid.SampledFrom([]string{"1", "2", "x", "", "\xff\x00"})
	fields = rapid.SampledFrom([]string{"f", "g", "h"})
)

// forms are command templates: K is a key, V a value, F a field.
var forms = []string{
	"SET K V", "SET K V NX", "SET K V XX", "SET K V PX " + long, "SET K V NX EX 3600", "SET K V KEEPTTL", "SET K V GET",
	"SETNX K V", "GETSET K V", "GETDEL K", "GETEX K PERSIST", "APPEND K V", "INCR K", "DECRBY K 3", "SETRANGE K 2 x",
	"DEL K", "DEL K K", "UNLINK K", "RENAME K K", "COPY K K REPLACE", "PERSIST K",
	"PEXPIRE K " + long, "EXPIRE K 3600 NX", "EXPIRE K 7200 XX", "EXPIRE K 7200 GT", "EXPIRE K 60 LT", "PEXPIRE K 0", "PEXPIREAT K 1",
	"HSET K F V", "HSET K F V F V", "HDEL K F", "HINCRBY K F 2", "HSETNX K F V",
	"SADD K V F", "SREM K V", "ZADD K 1 F 2.5 V", "ZADD K NX 7 F", "ZREM K F", "ZINCRBY K 0.1 F", "ZREMRANGEBYRANK K 0 0",
	"RPUSH K V V", "LPUSH K F", "LPOP K", "LREM K 1 V", "LTRIM K 0 0", "GET K", "HGETALL K", "TTL K", "MSET K V K V", "FLUSHALL",
}

// luas are Lua scripts, each with one key and one argument.
var luas = []string{
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
	`redis.call("set", "made", ARGV[1]); redis.call("incr", "count"); return redis.call("pexpire", "made", 3600000)`,
	`redis.call("set", KEYS[1], "first"); redis.call("set", KEYS[1], ARGV[1]); return {1, 2}`,
	`redis.call("set", KEYS[1], ARGV[1]); return redis.call("no such command")`,
	`redis.call("hincrby", "hash", ARGV[1], 1); if redis.call("hlen", "hash") > 2 then redis.call("del", "hash") end`,
}

func drawCommand(t *rapid.T) []string {
	if rapid.IntRange(0, 5).Draw(t, "lua") == 0 {
		return []string{"EVAL", rapid.SampledFrom(luas).Draw(t, "script"), "1", names.Draw(t, "key"), texts.Draw(t, "arg")}
	}
	words := strings.Fields(rapid.SampledFrom(forms).Draw(t, "form"))
	for i, w := range words {
		switch w {
		case "K":
			words[i] = names.Draw(t, "key")
		case "V":
			words[i] = texts.Draw(t, "value")
		case "F":
			words[i] = fields.Draw(t, "field")
		}
	}
	return words
}

var drawScript = rapid.Custom(func(t *rapid.T) script {
	var s script
	for range rapid.IntRange(3, 12).Draw(t, "length") {
		switch rapid.IntRange(0, 11).Draw(t, "what") {
		case 0:
			s = append(s, []string{"MULTI"})
			for range rapid.IntRange(0, 4).Draw(t, "queued") {
				s = append(s, drawCommand(t))
			}
			s = append(s, []string{rapid.SampledFrom([]string{"EXEC", "EXEC", "DISCARD"}).Draw(t, "end")})
		case 1:
			s = append(s, []string{"SET", names.Draw(t, "key"), texts.Draw(t, "value"), "PX", brief}, []string{pause})
		case 2:
			s = append(s, []string{"PEXPIREAT", names.Draw(t, "key"), absoluteEnd})
		case 3:
			s = append(s, []string{"SET", names.Draw(t, "key"), "v", "PXAT", absoluteEnd})
		default:
			s = append(s, drawCommand(t))
		}
	}
	return append(s, []string{"FLUSHALL"})
})

func (s script) run(ctx context.Context, c *redis.Conn) error {
	for n, words := range s {
		if words[0] == pause {
			time.Sleep(80 * time.Millisecond)
			continue
		}
		args := make([]any, len(words))
		for i, w := range words {
			if w == absoluteEnd {
				w = strconv.FormatInt(time.Now().Add(2*time.Hour+time.Duration(n)*time.Minute).UnixMilli(), 10)
			}
			args[i] = w
		}
		var refused redis.Error
		if err := c.Do(ctx, args...).Err(); err != nil && !errors.Is(err, redis.Nil) && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// TestTheTapSeesWhatTheSimulationTells compares the key changes of random commands. Without
// redis-server it fails, because it would compare nothing.
func TestTheTapSeesWhatTheSimulationTells(t *testing.T) {
	for i := range 60 {
		s := drawScript.Example(i)
		ok := t.Run(strconv.Itoa(i), func(t *testing.T) {
			compare(t, trial{setup: testbed.Setup{Topology: testbed.Single}, body: func(ctx context.Context, e testbed.Env) error {
				c := e.Client(0).Locks().Nodes[0].(*redis.Client).Conn()
				defer c.Close()
				return s.run(ctx, c)
			}})
		})
		if !ok {
			t.Logf("script %d:", i)
			for _, words := range s {
				t.Logf("%q", words)
			}
		}
	}
	t.Logf("differences that are none: %v", differences)
}
