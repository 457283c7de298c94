package external

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// command splits words; "·" stands for a blank in a word.
func command(text string) []history.Bytes {
	var args []history.Bytes
	for word := range strings.FieldsSeq(text) {
		args = append(args, history.Bytes(strings.ReplaceAll(word, "·", " ")))
	}
	return args
}

func TestEveryKeyAndChannelGetsThePrefix(t *testing.T) {
	for sent, want := range map[string]string{
		"set k v NX PX 10":      "set p:k v NX PX 10",
		"DEL a b":               "DEL p:a p:b",
		"MSET a 1 b 2":          "MSET p:a 1 p:b 2",
		"BLPOP a b 0":           "BLPOP p:a p:b 0",
		"RENAME a b":            "RENAME p:a p:b",
		"HSET k f v":            "HSET p:k f v",
		"PUBLISH news x":        "PUBLISH p:news x",
		"SUBSCRIBE a b":         "SUBSCRIBE p:a p:b",
		"PSUBSCRIBE *":          "PSUBSCRIBE p:*",
		"UNSUBSCRIBE":           "UNSUBSCRIBE",
		"EVALSHA abc 2 a b v w": "EVALSHA abc 2 p:a p:b v w",
		`EVAL return·redis.call("GET",KEYS[1]) 1 a v`: `EVAL return·redis.call("GET",KEYS[1]) 1 p:a v`,
		"SCRIPT LOAD return·1":                        "SCRIPT LOAD return·1",
		"SCAN 0":                                      "SCAN 0 MATCH p:*",
		"SCAN 0 COUNT 9 match a*":                     "SCAN 0 COUNT 9 match p:a*",
		"PING":                                        "PING",
		"WAIT 1 100":                                  "WAIT 1 100",
		"HELLO 3":                                     "HELLO 3",
		"GET":                                         "GET", // the server says what is missing
		"EVAL x":                                      "EVAL x",
		"EVAL x many":                                 "EVAL",
	} {
		got, err := newGuard("p:").confine(command(sent))
		if text := strings.ReplaceAll(strings.Join(got, " "), "return ", "return·"); text != want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", sent, text, err, want)
		}
	}
}

func TestWhatMayTouchOthersIsNotSent(t *testing.T) {
	for _, sent := range []string{
		"FLUSHALL", "flushdb", "SHUTDOWN NOSAVE", "DEBUG SLEEP 1", "CONFIG SET maxmemory 1", "CONFIG GET *", "KEYS *", "RANDOMKEY",
		"SCRIPT FLUSH", "SCRIPT KILL", "script", "FUNCTION FLUSH", "FCALL f 1 k", "SWAPDB 0 1", "SELECT 1", "MOVE k 1",
		"COPY a b DB 1", "MIGRATE h 1 k 0 1", "RESTORE k 0 x", "SORT k BY *", "CLIENT KILL TYPE normal", "CLIENT PAUSE 100",
		"CLIENT REPLY OFF", "CLIENT LIST", "CLIENT TRACKING ON BCAST", "client", "REPLICAOF NO ONE", "SLAVEOF h 1", "FAILOVER",
		"ACL SETUSER x on", "MONITOR", "SAVE", "BGSAVE", "BGREWRITEAOF", "MODULE LOAD x", "CLUSTER RESET", "LATENCY RESET",
		"AUTH hunter2", "HELLO 3 AUTH u hunter2", "RESET", "SYNC", "PSYNC ? -1", "READONLY", "NOSUCHCOMMAND k",
		"EVAL return·1 0",
		`EVAL redis.call("FLUSHALL") 1 k`,
		`EVAL redis.call('SET','k',1) 1 k`,
		`EVAL redis.pcall("KEYS","*") 1 k`,
		`EVAL redis.call("SCAN",0) 1 k`,
		`EVAL redis·.·call·(·"config",·"SET") 1 k`,
		`EVAL redis.call(ARGV[1]) 1 k x`,
		`EVAL local·c=redis.call;c("FLUSHALL") 1 k`,
		`EVAL redis["call"]("FLUSHALL") 1 k`,
		`EVAL local·r=redis·r.call("FLUSHALL") 1 k`,
		`EVAL loadstring(ARGV[1])() 1 k x`,
		`EVAL redis.call("SET",·"a".."b",·1) 1 k`,
		`SCRIPT LOAD redis.call("FLUSHALL")`,
	} {
		got, err := newGuard("p:").confine(command(sent))
		if !errors.Is(err, errRefused) || got != nil {
			t.Errorf("%s: got %q, %v, want it refused", sent, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells the password: %v", sent, err)
		}
	}
}

func TestRulesAgreeWithRedis(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: startRedis(t).Addr()})
	defer c.Close()
	all, err := c.Command(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rules {
		i, known := all[strings.ToLower(name)]
		switch {
		case !known:
			t.Logf("this Redis has no %s", name)
		case r.channels || r.confine != nil:
			if i.FirstKeyPos > 1 && name != "SPUBLISH" {
				t.Errorf("%s: Redis has keys from %d", name, i.FirstKeyPos)
			}
		case int(i.FirstKeyPos) != r.first || int(i.LastKeyPos) != r.last || int(i.StepCount) != r.step:
			t.Errorf("%s: got keys at %d %d %d, Redis has %d %d %d", name, r.first, r.last, r.step, i.FirstKeyPos, i.LastKeyPos, i.StepCount)
		case slices.Contains(i.Flags, "movablekeys"):
			t.Errorf("%s: Redis has keys elsewhere, too", name)
		case slices.Contains(i.Flags, "admin"):
			t.Errorf("%s: Redis takes it for an administrator's", name)
		}
	}
}

func TestRepliesLoseThePrefix(t *testing.T) {
	g := newGuard("p:")
	for reply, want := range map[string]string{
		"+OK\r\n":           "+OK\r\n",
		"$5\r\nvalue\r\n":   "$5\r\nvalue\r\n",
		"$3\r\np:k\r\n":     "$1\r\nk\r\n",
		"-ERR no p:k\r\n":   "-ERR no k\r\n",
		"$-1\r\n":           "$-1\r\n",
		"=7\r\ntxt:p:k\r\n": "=5\r\ntxt:k\r\n",
		"*2\r\n$1\r\n0\r\n*2\r\n$4\r\np:aa\r\n$3\r\np:b\r\n":                   "*2\r\n$1\r\n0\r\n*2\r\n$2\r\naa\r\n$1\r\nb\r\n",
		">3\r\n$7\r\nmessage\r\n$6\r\np:news\r\n$4\r\n\r\np:\r\n":              ">3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\n\r\n\r\n",
		"%1\r\n$1\r\na\r\n*-1\r\n":                                             "%1\r\n$1\r\na\r\n*-1\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$26\r\np:redisson_lock__channel:x\r\n:1\r\n": "*3\r\n$9\r\nsubscribe\r\n$24\r\nredisson_lock__channel:x\r\n:1\r\n",
	} {
		if got := string(g.strip(testbed.Message(reply))); got != want {
			t.Errorf("%q: got %q, want %q", reply, got, want)
		}
	}
}

func TestPrefixesDiffer(t *testing.T) {
	if a, b := newPrefix(), newPrefix(); a == b || !strings.HasPrefix(a, family) || strings.ContainsAny(a, `*?[]\{}`) {
		t.Errorf("got %s and %s, want two that begin with %s and match nothing but themselves", a, b, family)
	}
}
