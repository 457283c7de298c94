package node

import (
	"strings"
	"testing"
)

func TestTransactions(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"runs what was queued", []step{
			{0, "MULTI", "+OK"}, {0, "SET k 1", "+QUEUED"}, {0, "INCR k", "+QUEUED"}, {0, "HGET k f", "+QUEUED"},
			{0, "EXEC", "*3 +OK :2 -WRONGTYPE Operation against a key holding the wrong kind of value"},
		}},
		{"is discarded for a command that cannot run", []step{
			{0, "MULTI", "+OK"}, {0, "SET k 1", "+QUEUED"}, {0, "GET", "-ERR wrong number of arguments for 'get' command"},
			{0, "EXEC", "-EXECABORT Transaction discarded because of previous errors."}, {0, "EXISTS k", ":0"},
		}},
		{"fails when a watched key expires", []step{
			{0, "SET k 1 PX 10", "+OK"}, {0, "WATCH k", "+OK"}, {11, "MULTI", "+OK"}, {11, "PING", "+QUEUED"}, {11, "EXEC", "*-1"},
		}},
		{"has only one database", []step{
			{0, "SELECT 0", "+OK"}, {0, "SELECT 1", "-ERR DB index is out of range"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) { play(t, newNode(t).Connect(), test.steps) })
	}
}

func TestWatchSeesChangesOfAnyKindButNoOthers(t *testing.T) {
	for command, fails := range map[string]bool{
		"SET k 2": true, "DEL k": true, "PEXPIRE k 100": true, "PERSIST k": false, "SET k 2 NX": false, "GET k": false, "SET l 2": false,
		"FLUSHALL": true, "EVAL redis.call('SET','k',1) 0": true, "APPEND k x": true, "HSET k f v": false, "RENAME k l": true, "DEL l": false,
	} {
		n := newNode(t)
		s, other := n.Connect(), n.Connect()
		do(s, 0, "SET k 1")
		do(s, 0, "WATCH k")
		do(other, 0, command)
		do(s, 0, "MULTI")
		do(s, 0, "PING")
		if got := do(s, 0, "EXEC"); (got == "*-1") != fails {
			t.Errorf("after %q: EXEC answers %q; want it to fail: %v", command, got, fails)
		}
	}
}

func TestReadOnlyNodeRefusesWrites(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	do(s, 0, "SET k v")
	do(s, 0, "MULTI")
	do(s, 0, "SET k w")
	n.SetReadOnly(true)
	play(t, s, []step{
		{0, "EXEC", "-EXECABORT Transaction discarded because of: READONLY You can't write against a read only replica."},
		{0, "SET k w", "-" + readOnlyError},
		{0, "GETEX k", "-" + readOnlyError},
		{0, "GET k", "$1 v"},
		{0, "PUBLISH c m", ":0"},
		{0, "EVAL return_redis.call('GET','k') 0", "$1 v"},
		{0, "EVAL return_redis.call('DEL','k') 0", "-" + readOnlyError + " script: " + sha1hex("return redis.call('DEL','k')") + ", on @user_script:1."},
		{0, "EVAL return_redis.pcall('DEL','k')['err'] 0", "$53 " + readOnlyError},
		{0, "ROLE", "-ERR the simulated node does not know its primary"},
	})
	if got := do(s, 0, "HELLO"); !strings.HasSuffix(got, "$4 role $7 replica $7 modules *0") {
		t.Errorf("HELLO: got %q", got)
	}
	n.SetReadOnly(false)
	play(t, s, []step{{0, "SET k w", "+OK"}})
}

func TestCommandsThatTheNodeDoesNotHaveSaySo(t *testing.T) {
	play(t, newNode(t).Connect(), []step{
		{0, "BLPOP l 0", "-ERR the simulated node does not support the command 'blpop'"},
		{0, "XADD s * f v", "-ERR the simulated node does not support the command 'xadd'"},
		{0, "HPEXPIRE h 1000 FIELDS 1 f", "-ERR the simulated node does not support the command 'hpexpire'"},
		{0, "DELIFEQ k v", "-ERR the simulated node does not support the command 'delifeq'"},
		{0, "EVAL return_redis.pcall('HPTTL','h','FIELDS','1','f')['err'] 0", "$59 ERR the simulated node does not support the command 'hpttl'"},
		{0, "SET k v IFEQ t PX 1000", "-ERR the simulated node does not support the option 'ifeq' of the command 'set'"},
		{0, "SET k v PX 1000 ifdne d", "-ERR the simulated node does not support the option 'ifdne' of the command 'set'"},
		{0, "EVAL return_redis.pcall('SET','k','v','IFNE','t')['err'] 0", "$78 ERR the simulated node does not support the option 'ifne' of the command 'set'"},
		{0, "SET k v IFEQ", "-ERR syntax error"},
		{0, "SET k IFEQ BAD", "-ERR syntax error"},
		{0, "CLIENT LIST", "-ERR the simulated node does not support the command 'client|list'"},
		{0, "XADD", "-ERR wrong number of arguments for 'xadd' command"},
		{0, "NOSUCH a b", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b'"},
	})
}

func TestUnusualInputIsAnswered(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	for _, args := range [][]string{
		nil, {""}, {"", ""}, {"\r\n"}, {"GET", "\r\n"}, {"no\r\nsuch"}, {"SET", "", ""}, {"KEYS", "[z-a"}, {"SCAN", "0", "MATCH", "[z-a]"},
		{"EVAL", "return {err='a\\r\\nb'}", "0"}, {"EVAL", "return {ok='a\\r\\nb'}", "0"}, {"SETRANGE", "k", "-1", "x"}, {"SETBIT", "k", "99999999999", "1"},
		{"LPUSH", "l", "a"}, {"LPOP", "l", "-1"}, {"GETRANGE", "l", "5", "-9"}, {"ZADD", "z", "NaN", "m"}, {"SRANDMEMBER", "x", "-5"}, {"EVAL", "", "0"},
	} {
		reply, _ := s.Exec(start, args)
		if len(reply) < 3 || !strings.HasSuffix(string(reply), "\r\n") {
			t.Errorf("%q: got %q", args, reply)
		}
		if strings.ContainsAny(string(reply[:1]), "+-") && strings.Count(string(reply), "\n") > 1 {
			t.Errorf("%q: a reply in several lines: %q", args, reply)
		}
	}
}
