package node

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

var everyType = []step{
	{0, "SET string v PX 100", "+OK"},
	{0, "HSET hash b 2 a 1", ":2"},
	{0, "RPUSH list x y", ":2"},
	{0, "SADD set m n", ":2"},
	{0, "ZADD zset 1.5 p", ":1"},
	{0, "PEXPIRE zset 5000", ":1"},
}

var everyState = []history.KeyState{
	{Key: "hash", Type: "hash", TTL: -1, Value: "a=1 b=2"},
	{Key: "list", Type: "list", TTL: -1},
	{Key: "set", Type: "set", TTL: -1},
	{Key: "string", Type: "string", TTL: 90 * time.Millisecond, Value: "v"},
	{Key: "zset", Type: "zset", TTL: 4990 * time.Millisecond},
}

func TestSnapshotHoldsWhatTheNodeHeld(t *testing.T) {
	n, other := newNode(t), newNode(t)
	s := n.Connect()
	play(t, s, everyType)
	taken := n.Snapshot(at(10))
	do(s, 10, "FLUSHALL")
	do(s, 10, "SET string other")
	play(t, other.Connect(), []step{{0, "SET string other", "+OK"}, {0, "SET gone v", "+OK"}})
	for _, into := range []*Node{n, other} {
		writes := into.Writes()
		into.Load(at(10), taken)
		if into.Writes() == writes {
			t.Error("Load is no write")
		}
		if got := into.Keys(at(10)); !reflect.DeepEqual(got, everyState) {
			t.Errorf("got  %v\nwant %v", got, everyState)
		}
		play(t, into.Connect(), []step{
			{10, "HGETALL hash", "*4 $1 a $1 1 $1 b $1 2"},
			{10, "LRANGE list 0 -1", "*2 $1 x $1 y"},
			{10, "SMEMBERS set", "*2 $1 m $1 n"},
			{10, "ZSCORE zset p", "$3 1.5"},
			{10, "RPUSH list z", ":3"},
			{10, "HSET hash a 9", ":0"},
			{101, "EXISTS string", ":0"},
		})
	}
	if got := taken.Keys(at(10)); !reflect.DeepEqual(got, everyState) {
		t.Errorf("the snapshot changed: %v", got)
	}
	if got := names(taken.Keys(at(101))); got != "hash list set zset" {
		t.Errorf("keys that outlive 101 ms: %q", got)
	}
}

func TestLoadKeepsSessionsAndScripts(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	do(s, 0, "EVAL return_1 0")
	do(s, 0, "SUBSCRIBE c")
	n.Load(at(0), Snapshot{})
	play(t, n.Connect(), []step{{0, "EVALSHA " + sha1hex("return 1") + " 0", ":1"}, {0, "PUBLISH c m", ":1"}})
}

func TestLoadOfTheSameDataIsNoWrite(t *testing.T) {
	n := newNode(t)
	play(t, n.Connect(), everyType)
	taken := n.Snapshot(at(0))
	writes := n.Writes()
	n.Load(at(0), taken)
	if n.Writes() != writes {
		t.Error("counted a write")
	}
}

func TestWritesGrowsWithDataOnly(t *testing.T) {
	n := newNode(t)
	s := n.Connect()
	for _, test := range []struct {
		command string
		grows   bool
	}{
		{"SET k v", true}, {"SET k w NX", false}, {"GET k", false}, {"DEL nope", false}, {"EXPIRE nope 1", false}, {"EXPIRE k 1", true}, {"PTTL k", false},
		{"HGET k f", false}, {"HSET k f v", false}, {"HSET h f v", true}, {"HDEL h nope", false}, {"PUBLISH c m", false}, {"EVAL return_1 0", false},
		{"EVAL return_redis.call('SET','k','v','NX') 0", false}, {"EVAL return_redis.call('DEL','k') 0", true}, {"PERSIST h", false}, {"FLUSHALL", true},
	} {
		before := n.Writes()
		do(s, 0, test.command)
		if grew := n.Writes() > before; grew != test.grows {
			t.Errorf("%q: grew %v, want %v", test.command, grew, test.grows)
		}
	}
	do(s, 0, "SET k v PX 10")
	before := n.Writes()
	do(s, 11, "PING")
	if n.Writes() == before {
		t.Error("expiry is no write")
	}
}

func TestEvictTakesAllKeysAndTellsThem(t *testing.T) {
	n := newNode(t)
	play(t, n.Connect(), everyType)
	if got := n.Evict(at(10)); !reflect.DeepEqual(got, everyState) {
		t.Errorf("got  %v\nwant %v", got, everyState)
	}
	if got := n.Keys(at(10)); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// Later trials reuse a node. After Reset, its replies must not depend on earlier commands.
func TestResetNodeIsAsNew(t *testing.T) {
	trial := []string{
		"HELLO 3", "CLIENT ID", "SET k v PX 50", "SADD s a b c d e", "SPOP s", "SRANDMEMBER s", "RANDOMKEY", "SUBSCRIBE c", "PUBLISH c m",
		"CLIENT TRACKING ON", "GET k", "SET k w", "EVAL return_{math.random(100),tostring({})} 0", "EVALSHA " + sha1hex("return 1") + " 0",
		"SCRIPT EXISTS " + sha1hex("return 1"), "EVAL local_t={}_for_k_in_pairs(_G)_do_t[#t+1]=k_end_return_t 0", "KEYS *", "TIME", "PTTL k", "CLIENT GETNAME",
		"WATCH k", "MULTI", "INCR n", "EXEC", "INFO", "PUBSUB CHANNELS", "SCAN 0", "SUNION s s", "EVAL string.upper=nil 0", "EVAL table.insert(string,1) 0",
		"EVAL return_string.upper('a') 0", "NOSUCH",
	}
	run := func(n *Node) (all []string) {
		s, other := n.Connect(), n.Connect()
		for i, command := range trial {
			reply, pushes := pushed(s, float64(i), command)
			all = append(append(all, command, reply), heard(pushes)...)
			all = append(all, do(other, float64(i), "CLIENT ID"))
		}
		return append(all, names(n.Keys(at(1000))))
	}
	want := run(newNode(t))
	used := newNode(t)
	for _, litter := range []string{
		"SET k v", "HSET other f v", "EVAL return_1 0", "CLIENT SETNAME x", "SPOP nope", "SADD s 1 2 3", "SPOP s", "EVAL math.random()_redis.setresp(3) 0",
		"EVAL table.insert(string,1) 0", "EVAL while_true_do_end 0", "CLIENT TRACKING ON BCAST", "WATCH k", "MULTI", "SET k 5", "SUBSCRIBE c", "HELLO 3",
	} {
		do(used.Connect(), 1e6, litter)
	}
	used.SetReadOnly(true)
	for round := range 3 {
		used.Reset()
		if got := run(used); !slices.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("round %d: got  %q\nwant %q", round, got[i], want[i])
				}
			}
		}
	}
	if used.Writes() != func() uint64 { n := newNode(t); run(n); return n.Writes() }() {
		t.Error("Writes depends on what was before the reset")
	}
}
