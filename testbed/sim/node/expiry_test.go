package node

import (
	"testing"
	"time"
)

func TestKeyLivesThroughItsDeadlinesMillisecond(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"PX", []step{
			{0.9, "SET k v PX 100", "+OK"},
			{99.999, "PTTL k", ":1"},
			{100, "PTTL k", ":0"},
			{100.999, "GET k", "$1 v"},
			{101, "GET k", "$-1"},
			{101, "PTTL k", ":-2"},
		}},
		{"TTL rounds to the nearest second", []step{
			{0, "SET k v PX 1500", "+OK"},
			{0, "TTL k", ":2"},
			{1, "TTL k", ":1"},
			{1500, "TTL k", ":0"},
		}},
		{"in a script", []step{
			{0, "EVAL redis.call('SET',KEYS[1],'v','PX',10)_return_redis.call('PTTL',KEYS[1]) 1 k", ":10"},
			{10, "EVAL return_redis.call('GET',KEYS[1]) 1 k", "$1 v"},
			{11, "EVAL return_redis.call('GET',KEYS[1]) 1 k", "$-1"},
		}},
		{"what changes a value keeps its life", []step{
			{0, "SET k 1 PX 10", "+OK"},
			{1, "INCR k", ":2"},
			{2, "APPEND k 0", ":2"},
			{3, "SET k 5 KEEPTTL", "+OK"},
			{4, "RENAME k l", "+OK"},
			{5, "COPY l m", ":1"},
			{10, "MGET k l m", "*3 $-1 $1 5 $1 5"},
			{11, "EXISTS k l m", ":0"},
		}},
		{"what replaces it ends its life", []step{
			{0, "SET a 1 PX 10", "+OK"},
			{0, "SET b 1 PX 10", "+OK"},
			{0, "SET c 1 PX 10", "+OK"},
			{0, "SET d 1 PX 10", "+OK"},
			{0, "SADD s x", ":1"},
			{1, "SET a 2", "+OK"},
			{1, "GETSET b 2", "$1 1"},
			{1, "SUNIONSTORE c s", ":1"},
			{1, "PERSIST d", ":1"},
			{20, "EXISTS a b c d", ":4"},
		}},
		{"a new key of the old name has no life", []step{
			{0, "HSET h f v", ":1"},
			{0, "PEXPIRE h 10", ":1"},
			{1, "HDEL h f", ":1"},
			{2, "HSET h f v", ":1"},
			{3, "PTTL h", ":-1"},
			{20, "EXISTS h", ":1"},
		}},
		{"a life that is over ends at once", []step{
			{0, "SET k v", "+OK"},
			{0, "PEXPIRE k 0", ":1"},
			{0, "EXISTS k", ":0"},
			{0, "SET k v PXAT 1", "+OK"},
			{0, "EXISTS k", ":0"},
			{0, "SET k v", "+OK"},
			{0, "EXPIREAT k 946684800", ":1"},
			{0, "EXISTS k", ":0"},
			{0, "SET k v PX 0", "-ERR invalid expire time in 'set' command"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) { play(t, newNode(t).Connect(), test.steps) })
	}
}

func TestClockJumpsMoveWhatIsLeftOfLivesNotTheirEnds(t *testing.T) {
	play(t, newNode(t).Connect(), []step{
		{1000, "SET k v PX 100", "+OK"},
		{500, "PTTL k", ":600"},
		{500, "PEXPIRETIME k", ":946684801100"},
		{-5000, "PTTL k", ":6100"},
		{-5000, "SET l v PX 10", "+OK"},
		{1100, "EXISTS k l", ":1"},
		{-5000, "EXISTS l", ":0"}, // a primary deletes what it has seen expire
		{1101, "EXISTS k", ":0"},
	})
}

func TestReplicaReadsExpiredKeysAsGoneButKeepsThem(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	play(t, s, []step{{0, "SET k v PX 100", "+OK"}, {0, "HSET h f v", ":1"}})
	n.SetReadOnly(true)
	writes := n.Writes()
	play(t, s, []step{{200, "GET k", "$-1"}, {200, "DBSIZE", ":1"}})
	if got := names(n.Keys(at(200))); got != "h" {
		t.Errorf("keys in sight: got %q, want h", got)
	}
	if n.Writes() != writes {
		t.Error("the replica counted a write")
	}
	if got := names(n.Snapshot(at(200)).Keys(at(50))); got != "h k" {
		t.Errorf("keys in its snapshot: got %q, want h and k", got)
	}
	play(t, s, []step{{50, "GET k", "$1 v"}, {50, "PTTL k", ":50"}, {200, "GET k", "$-1"}})
	n.SetReadOnly(false)
	play(t, s, []step{{200, "GET k", "$-1"}, {50, "GET k", "$-1"}})
	if n.Writes() == writes {
		t.Error("the promoted replica deleted the key without counting a write")
	}
}

func TestTimeIsTheNodesToTheMicrosecond(t *testing.T) {
	s := newNode(t).Connect()
	reply, _ := s.Exec(time.Unix(5, 1999), []string{"TIME"})
	if got := line(reply); got != "*2 $1 5 $1 1" {
		t.Errorf("got %q", got)
	}
}
