package documents

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
)

// step is one command to a server, and the expected reply as redis-cli prints it, such as "(integer) 1".
type step struct {
	command []any
	want    string
}

func do(want string, command ...any) step { return step{command, want} }

// connect returns a connection to a server that belongs to the test.
func connect(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: redistest.Test(t).Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
	})
	return c
}

// play sends commands in order and compares each reply. The expected reply "TTL n" matches any
// remaining TTL above 0 and at most n.
func play(t *testing.T, c *redis.Client, steps ...step) {
	t.Helper()
	for i, s := range steps {
		got, err := c.Do(t.Context(), s.command...).Result()
		if most, ok := strings.CutPrefix(s.want, "TTL "); ok {
			var limit int64
			if _, err := fmt.Sscan(most, &limit); err != nil {
				t.Fatal(err)
			}
			if n, isNumber := got.(int64); !isNumber || n <= 0 || n > limit {
				t.Errorf("%d: %v: got %v (%v), want 1 to %d", i+1, s.command, got, err, limit)
			}
			continue
		}
		if text := printed(got, err); text != s.want {
			t.Errorf("%d: %v: got %s, want %s", i+1, s.command, text, s.want)
		}
	}
}

// printed returns a reply as redis-cli prints it. Of an error it returns only the kind, such as
// "(error) WRONGTYPE".
func printed(reply any, err error) string {
	switch {
	case errors.Is(err, redis.Nil):
		return "(nil)"
	case err != nil:
		kind, _, _ := strings.Cut(err.Error(), " ")
		return "(error) " + kind
	}
	switch r := reply.(type) {
	case int64:
		return fmt.Sprintf("(integer) %d", r)
	case string:
		if r == "OK" {
			return r
		}
		return fmt.Sprintf("%q", r)
	}
	return fmt.Sprint(reply)
}

// The scripts of D2 (enter, leave, compareAndDelete) and of D1 (setAndExpire), written anew: they send
// the same commands and return the same replies as the documents' scripts.
const (
	enter = `
local free = redis.call("EXISTS", KEYS[1]) == 0
if not free and redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
redis.call("EXPIRE", KEYS[1], ARGV[2])
return 1`
	leave = `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call("HINCRBY", KEYS[1], ARGV[1], -1) ~= 0 then return 0 end
redis.call("DEL", KEYS[1])
return 1`
	compareAndDelete = `
if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call("DEL", KEYS[1])`
	setAndExpire = `
if redis.call("SETNX", KEYS[1], "1") == 0 then return false end
redis.call("EXPIRE", KEYS[1], ARGV[1])
return true`
)

// D2's three transcripts: each command with the answer that the document prints.
func TestD2Transcript(t *testing.T) {
	const lock = "lock-key-1"
	entry := do("(integer) 1", "EVAL", enter, 1, lock, "thread-1", 300)
	exit := func(want, thread string) step { return do(want, "EVAL", leave, 1, lock, thread) }
	release := func(want string) step { return do(want, "EVAL", compareAndDelete, 1, "aa", "11") }
	for name, steps := range map[string][]step{
		"three entries": {
			entry, do("TTL 300", "TTL", lock), entry, do("TTL 300", "TTL", lock), entry, do(`"3"`, "HGET", lock, "thread-1"),
		},
		"compare and delete": {
			do("(nil)", "GET", "aa"), release("(integer) 0"), do("OK", "SET", "aa", "11"), release("(integer) 1"), do("(nil)", "GET", "aa"),
		},
		"releases": {
			exit("(nil)", "thread-1"), entry, exit("(integer) 1", "thread-1"),
			entry, entry, entry, do(`"3"`, "HGET", lock, "thread-1"),
			exit("(nil)", "thread-2"), do(`"3"`, "HGET", lock, "thread-1"),
			exit("(integer) 0", "thread-1"), exit("(integer) 0", "thread-1"), exit("(integer) 1", "thread-1"), do("(integer) 0", "EXISTS", lock),
		},
	} {
		t.Run(name, func(t *testing.T) { play(t, connect(t), steps...) })
	}
}

func TestD2OptionsOfSet(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	play(t, connect(t),
		do("OK", "SET", "a", "1", "EX", 100), do("TTL 100", "TTL", "a"),
		do("OK", "SET", "a", "1", "PX", 50_000), do("TTL 50000", "PTTL", "a"),
		do("OK", "SET", "a", "1", "EXAT", in(time.Minute).Unix()), do("TTL 60", "TTL", "a"),
		do("OK", "SET", "a", "1", "PXAT", in(time.Minute).UnixMilli()), do("TTL 60000", "PTTL", "a"),
		do("(nil)", "SET", "a", "2", "NX"), do(`"1"`, "GET", "a"), do("OK", "SET", "b", "2", "NX"),
		do("(nil)", "SET", "aa", "123", "XX"), do("(nil)", "GET", "aa"), do("OK", "SET", "b", "3", "XX"),
		do("OK", "SET", "a", "4", "KEEPTTL"), do("TTL 60", "TTL", "a"),
		do("OK", "SET", "a", "5"), do("(integer) -1", "TTL", "a"), // without KEEPTTL the TTL is gone
		do(`"5"`, "SET", "a", "6", "GET"), do("(nil)", "SET", "c", "1", "GET"),
		do("(integer) 1", "HSET", "h", "f", "v"), do("(error) WRONGTYPE", "SET", "h", "1", "GET"), do(`"v"`, "HGET", "h", "f"),
	)
}

func TestD1Commands(t *testing.T) {
	play(t, connect(t),
		do("(integer) 1", "SETNX", "k", "1"), do("(integer) 0", "SETNX", "k", "2"), do(`"1"`, "GET", "k"), do("(integer) -1", "TTL", "k"),
		do("(integer) 1", "EXPIRE", "k", 100), do("TTL 100", "TTL", "k"), do("(integer) 0", "EXPIRE", "none", 100),
		do(`"1"`, "GETSET", "k", "2"), do("(integer) -1", "TTL", "k"), // the TTL is gone
		do("(nil)", "GETSET", "none", "1"), do(`"1"`, "GET", "none"),
		do("(integer) 1", "EVAL", setAndExpire, 1, "s", "100"), do("TTL 100", "TTL", "s"), do("(nil)", "EVAL", setAndExpire, 1, "s", "100"),
	)
}

func TestD1ScriptWhoseExpireFails(t *testing.T) {
	for _, life := range []string{"ten", "1.5", "9223372036854775807"} {
		t.Run(life, func(t *testing.T) {
			play(t, connect(t),
				do("(error) ERR", "EVAL", setAndExpire, 1, "k", life),
				do(`"1"`, "GET", "k"), do("(integer) -1", "TTL", "k"), // SETNX took effect
				do("(nil)", "EVAL", setAndExpire, 1, "k", "10"),
			)
		})
	}
}
