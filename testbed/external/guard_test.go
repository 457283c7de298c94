package external

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// command splits a text into words; "·" stands for a blank in a word.
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
		"SCAN 0 MATCH a COUNT 9 match *":              "SCAN 0 MATCH p:a COUNT 9 match p:*",
		"PING":                                        "PING",
		"WAIT 1 100":                                  "WAIT 1 100",
		"HELLO 3":                                     "HELLO 3",
		"GET":                                         "GET", // the server answers that arguments are missing
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
		"CLIENT REPLY OFF", "CLIENT LIST", "CLIENT TRACKING ON BCAST", "CLIENT TRACKING ON REDIRECT 7", "client", "REPLICAOF NO ONE", "SLAVEOF h 1", "FAILOVER",
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
		`EVAL server.call("FLUSHALL") 1 k`,
		`EVAL redis.call("DEL",KEYS[1],"others") 1 k`,
		`EVAL redis.call("DEL",KEYS[1],KEYS[2],ARGV[1]) 2 k l others`,
		`EVAL redis.call("RENAME",KEYS[1],"others") 1 k`,
		`EVAL redis.call("MSET",KEYS[1],1,"others",2) 1 k`,
		`EVAL redis.call("MSET",KEYS[1],unpack(ARGV)) 1 k 1 others 2`,
		`EVAL redis.call("DEL",unpack(ARGV)) 1 k others`,
		`EVAL redis.call("DEL",unpack({"others"})) 1 k`,
		`EVAL redis.call("DEL",...) 1 k`,
		`EVAL redis.call("DEL",ARGV[1]) 1 k others`,
		`EVAL redis.call("PUBLISH",ARGV[1],"x") 1 k others`,
		`EVAL redis.call("PUBLISH","others",KEYS[1]) 1 k`,
		`EVAL redis.call("DEL",tostring("others")) 1 k`,
		`EVAL redis.call("DEL",redis.call("GET",KEYS[1])) 1 k`,
		`EVAL redis.call("DEL",KEYS[1]·and·"others") 1 k`,
		`EVAL redis.call("DEL",KEYS[2]·or·"others") 1 k`,
		`EVAL redis.call("DEL",KEYS[1]:gsub(".*","others")) 1 k`,
		`EVAL redis.call("DEL","x"..KEYS[1]) 1 k`,
		`EVAL local·k=ARGV[1];redis.call("DEL",k) 1 k others`,
		`EVAL local·a,k=KEYS[1],"others";redis.call("DEL",k) 1 k`,
		`EVAL local·k=KEYS[1];k="others";redis.call("DEL",k) 1 k`,
		`EVAL for·_,k·in·ipairs(ARGV)·do·redis.call("DEL",k)·end 1 k others`,
		`EVAL for·k=1,9·do·redis.call("DEL",k)·end 1 k`,
		`EVAL local·all=redis.call("SMEMBERS",KEYS[1]);for·_,k·in·ipairs(all)·do·redis.call("DEL",k)·end 1 k`,
		`EVAL KEYS[1]="others";redis.call("DEL",KEYS[1]) 1 k`,
		`EVAL local·KEYS=ARGV;redis.call("DEL",KEYS[1]) 1 k others`,
		`EVAL redis.call("DEL", 1 k`,
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

// TestScriptsOfLocksAreSent uses scripts that use keys and channels as the scripts of well-known
// libraries do.
func TestScriptsOfLocksAreSent(t *testing.T) {
	for name, text := range map[string]string{
		"all keys, in a loop": `
			local function extend(ttl)
				for _, key in ipairs(KEYS) do redis.call("pexpire", key, ttl) end
			end
			local pairs_ = {}
			for _, key in ipairs(KEYS) do
				table.insert(pairs_, key)
				table.insert(pairs_, ARGV[1])
			end
			if redis.call("msetnx", unpack(pairs_)) ~= 1 then return false end
			extend(ARGV[3])
			return redis.status_reply("OK")`,
		"all keys, by number":  `for i = 1, #KEYS do redis.call("SET", KEYS[i], ARGV[1], "PX", ARGV[2]) end`,
		"all keys, at once":    `if redis.call("EXISTS", unpack(KEYS)) > 0 then return 0 end return redis.call("DEL", unpack(KEYS))`,
		"another name for all": `local keys = KEYS return redis.call("DEL", unpack(keys))`,
		"a name for one":       `local key, value = KEYS[1], ARGV[1]; if redis.call('get', key) == value then return redis.call('del', key) end`,
		"one by one":           `redis.call("MSET", KEYS[1], ARGV[1], KEYS[2], tostring(ARGV[2])) redis.call("RENAME", KEYS[1], KEYS[2])`,
		"a channel": `
			local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1)
			if (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]) return 0
			else redis.call('del', KEYS[1], KEYS[3]) redis.call('publish', KEYS[2], ARGV[1]) return 1 end`,
		"names made of keys": `
			local ind = redis.call('hincrby', KEYS[1], ARGV[2], 1)
			local key = KEYS[2] .. ':' .. ind
			redis.call('set', key, 1)
			redis.call('del', (KEYS[3] .. ':' .. (ind + 1)))
			redis.call('publish', KEYS[4] .. ':' .. ARGV[1], 0)`,
		"a function":  `local function drop(key) return redis.call("DEL", key) end return drop(KEYS[1])`,
		"a choice":    `local key if ARGV[1] == "w" then key = KEYS[1] else key = KEYS[2] end return redis.call("DEL", key)`,
		"the library": `-- a lock in redis` + "\n" + `return redis.error_reply("redis: no lock of the server's")`,
		"flags":       "#!lua flags=no-writes\nreturn redis.call('GET', KEYS[1])",
		"Valkey's":    `return server.call("GET", KEYS[1])`,
	} {
		if err := checkScript(text); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// The table of commands is tested against Redis where it stands.
func TestCommandsWithoutKeysHaveNone(t *testing.T) {
	for name := range keyless {
		if c := resp.Lookup(name); c.Name == "" || c.First > 0 || c.NumKeys > 0 {
			t.Errorf("%s: got %+v", name, c)
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
		if got := string(g.strip(resp.Message(reply))); got != want {
			t.Errorf("%q: got %q, want %q", reply, got, want)
		}
	}
}

func TestPrefixesDiffer(t *testing.T) {
	if a, b := newPrefix(), newPrefix(); a == b || !strings.HasPrefix(a, family) || strings.ContainsAny(a, `*?[]\{}`) {
		t.Errorf("got %s and %s, want two that begin with %s and match nothing but themselves", a, b, family)
	}
}
