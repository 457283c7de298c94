package nemesis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// on returns a command of a probe trial, with number n among those that the client sends to n0 in
// this phase.
func on(client int, phase string, n int, reply history.Bytes) history.Command {
	return history.Command{Client: client, Node: "n0", Phase: phase, N: n, Reply: reply, Sent: 1, Replied: 2}
}

func TestPointsAreWhatAProbePassed(t *testing.T) {
	lost := on(0, "acquire", 1, "")
	lost.Replied = 0
	tests := []struct {
		name string
		cmds []history.Command
		want []string
	}{
		{"nothing", nil, nil},
		{"handshakes and commands outside steps do not count",
			[]history.Command{on(0, "acquire", 0, "OK"), on(0, "", 1, "OK")}, nil},
		{"each command of a step, once for all clients and times",
			[]history.Command{on(0, "acquire", 1, "1"), on(1, "acquire", 1, "0"), on(0, "acquire", 2, "1"), on(0, "release", 1, "1"), on(1, "acquire", 1, "1")},
			[]string{"acquire 1 before", "acquire 1 sent", "acquire 1 replied", "acquire 2 before", "acquire 2 sent", "acquire 2 replied", "release 1 before", "release 1 sent", "release 1 replied"}},
		{"a reply that never came is no point", []history.Command{lost}, []string{"acquire 1 before", "acquire 1 sent"}},
		{"a script that the node had to learn counts once",
			[]history.Command{on(0, "acquire", 1, "ERR NOSCRIPT No matching script"), on(0, "acquire", 2, "1"), on(0, "acquire", 1, "1")},
			[]string{"acquire 1 before", "acquire 1 sent", "acquire 1 replied"}},
		{"what follows such a script moves up",
			[]history.Command{on(0, "acquire", 1, "OK"), on(0, "acquire", 2, "NOSCRIPT No matching script"), on(0, "acquire", 3, "1")},
			[]string{"acquire 1 before", "acquire 1 sent", "acquire 1 replied", "acquire 2 before", "acquire 2 sent", "acquire 2 replied"}},
	}
	for _, test := range tests {
		var got []string
		for _, p := range Points(test.cmds) {
			got = append(got, fmt.Sprintf("%s %d %s", p.Step, p.N, p.When))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: points %q, want %q", test.name, got, test.want)
		}
	}
}

func TestPointsOfNodesAreInTheirOrder(t *testing.T) {
	var cmds []history.Command
	for _, node := range []string{"n10", "n2", "n0"} {
		c := on(0, "acquire", 1, "OK")
		c.Node = node
		cmds = append(cmds, c)
	}
	var got []string
	for _, p := range Points(cmds) {
		if !slices.Contains(got, p.Node) {
			got = append(got, p.Node)
		}
	}
	if want := []string{"n0", "n2", "n10"}; !slices.Equal(got, want) {
		t.Errorf("nodes are in the order %v, want %v", got, want)
	}
}

func TestTheKeysLifeIsThatOfTheProbe(t *testing.T) {
	claims := history.Claims{Quorum: 1, TTL: testTTL, Recovery: 2 * testTTL}
	set := history.Command{Node: "n0", Op: 0, Exec: 1, Sent: 1, Served: 2, Replied: 3, Args: []history.Bytes{"SET", "lock", "a"}, Reply: "OK"}
	ops := []history.Op{
		{Type: history.Invoke, F: history.FAcquire, Lock: "lock"},
		{Index: 1, Time: 3, Type: history.OK, F: history.FAcquire, Lock: "lock"},
	}
	change := func(expires time.Duration) history.KeyChange {
		return history.KeyChange{Node: "n0", Key: "lock", By: history.ByCommand, Exec: 1, From: 2, To: 2, After: &history.KeyContent{Type: "string", Value: "a", Expires: expires}}
	}
	for name, c := range map[string]struct {
		e    history.Evidence
		want time.Duration
	}{
		"a life":      {history.Evidence{Watched: true, Keys: []history.KeyChange{change(5 * time.Second)}}, 5 * time.Second},
		"none":        {history.Evidence{Watched: true, Keys: []history.KeyChange{change(0)}}, 0},
		"keys unseen": {history.Evidence{}, claims.Recovery},
	} {
		c.e.Ops, c.e.Commands, c.e.Claims = ops, []history.Command{set}, claims
		if got := SightOf(c.e).KeyLife; got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
