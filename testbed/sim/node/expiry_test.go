package node

import (
	"testing"
)

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
