package node

import (
	"slices"
	"testing"
)

func TestTracking(t *testing.T) {
	const told = "1: >2 $10 invalidate *1 $1 k"
	for _, test := range []struct {
		name   string
		before []string // commands of the tracking session, after HELLO 3
		write  string   // a command of the other session or, if own is set, of the tracking session
		own    bool
		want   []string
	}{
		{name: "a key that was read", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "SET k v", want: []string{told}},
		{name: "a key read by a script", before: []string{"CLIENT TRACKING ON", "EVAL return_redis.call('GET','k') 0"}, write: "SET k v", want: []string{told}},
		{name: "not another key", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "SET l v"},
		{name: "not a key that did not change", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "DEL k"},
		{name: "not before it was read", before: []string{"CLIENT TRACKING ON"}, write: "SET k v"},
		{name: "not without tracking", before: []string{"GET k"}, write: "SET k v"},
		{name: "only once", before: []string{"CLIENT TRACKING ON", "GET k", "SET k v"}, write: "SET k w"},
		{name: "its own change", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "SET k v", own: true, want: []string{told}},
		{name: "not its own change with NOLOOP", before: []string{"CLIENT TRACKING ON NOLOOP", "GET k"}, write: "SET k v", own: true},
		{name: "OPTIN without opting in", before: []string{"CLIENT TRACKING ON OPTIN", "GET k"}, write: "SET k v"},
		{name: "OPTIN", before: []string{"CLIENT TRACKING ON OPTIN", "CLIENT CACHING YES", "GET k"}, write: "SET k v", want: []string{told}},
		{name: "OPTIN holds for one command", before: []string{"CLIENT TRACKING ON OPTIN", "CLIENT CACHING YES", "GET l", "GET k"}, write: "SET k v"},
		{name: "OPTIN holds for a transaction", before: []string{"CLIENT TRACKING ON OPTIN", "CLIENT CACHING YES", "MULTI", "PTTL k", "GET k", "EXEC"}, write: "SET k v", want: []string{told}},
		{name: "OPTOUT", before: []string{"CLIENT TRACKING ON OPTOUT", "CLIENT CACHING NO", "GET k"}, write: "SET k v"},
		{name: "BCAST", before: []string{"CLIENT TRACKING ON BCAST PREFIX k"}, write: "MSET k 1 kk 2 l 3", want: []string{"1: >2 $10 invalidate *2 $1 k $2 kk"}},
		{name: "BCAST of everything", before: []string{"CLIENT TRACKING ON BCAST"}, write: "SET k v", want: []string{told}},
		{name: "BCAST of other prefixes", before: []string{"CLIENT TRACKING ON BCAST PREFIX x"}, write: "SET k v"},
		{name: "BCAST with NOLOOP", before: []string{"CLIENT TRACKING ON BCAST NOLOOP"}, write: "SET k v", own: true},
		{name: "everything gone", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "FLUSHALL", want: []string{"1: >2 $10 invalidate _"}},
		{name: "a script's change", before: []string{"CLIENT TRACKING ON", "GET k"}, write: "EVAL redis.call('SET','k',1) 0", want: []string{told}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t)
			s, other := n.Connect(), n.Connect()
			do(s, 0, "HELLO 3")
			for _, command := range test.before {
				if got := do(s, 0, command); got[0] == '-' {
					t.Fatalf("%s: %s", command, got)
				}
			}
			writer := other
			if test.own {
				writer = s
			}
			_, pushes := pushed(writer, 0, test.write)
			if got := heard(pushes); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTrackingTellsOfExpiryAndOfWhatIsDoneToTheNode(t *testing.T) {
	for name, end := range map[string]func(n *Node, ms float64){
		"expiry":   func(*Node, float64) {},
		"eviction": func(n *Node, _ float64) { n.Evict(at(5)) },
		"load":     func(n *Node, _ float64) { n.Load(at(5), Snapshot{}) },
	} {
		n := newNode(t)
		s, other := n.Connect(), n.Connect()
		do(s, 0, "HELLO 3")
		do(s, 0, "CLIENT TRACKING ON NOLOOP")
		do(other, 0, "SET k v PX 10")
		do(s, 0, "GET k")
		end(n, 5)
		_, pushes := pushed(s, 11, "PING")
		if got := heard(pushes); !slices.Equal(got, []string{"1: >2 $10 invalidate *1 $1 k"}) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
