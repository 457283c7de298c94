package node

import (
	"testing"
	"time"
)

// Each command gives the key k, at 0 ms, a life of 2 s. Redis keeps a key through the millisecond in
// which it expires.
func TestKeyLivesThroughItsDeadlinesMillisecond(t *testing.T) {
	for _, set := range [][]step{
		{{0, "SET k v PX 2000", "+OK"}},
		{{0, "SET k v EX 2", "+OK"}},
		{{0, "SET k v", "+OK"}, {0, "PEXPIRE k 2000", ":1"}},
		{{0, "SET k v", "+OK"}, {0, "EXPIRE k 2", ":1"}},
		{{0, "SET k v", "+OK"}, {0, "PEXPIREAT k 946684802000", ":1"}},
		{{0, "HSET k f v", ":1"}, {0, "PEXPIRE k 2000", ":1"}},
	} {
		t.Run(set[len(set)-1].command, func(t *testing.T) {
			play(t, newNode(t).Connect(), append(set, step{1999, "PTTL k", ":1"}, step{2000, "EXISTS k", ":1"}, step{2000, "PTTL k", ":0"},
				step{2000.9, "EXISTS k", ":1"}, step{2001, "EXISTS k", ":0"}, step{2001, "PTTL k", ":-2"}))
		})
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
		{-5000, "EXISTS l", ":0"}, // l expired before the clock went back, so the primary has deleted it
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
