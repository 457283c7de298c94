package history

import (
	"testing"
)

func TestAWindowsTargetNamesWhatItStrikes(t *testing.T) {
	for want, w := range map[string]Window{
		"":                  {},
		"c0 c2 n1":          {Clients: []int{0, 2}, Nodes: []string{"n1"}},
		"c0→n0 c0←n1 n1↔n0": {Links: []Link{{From: "c0", To: "n0", Direction: Upstream}, {From: "c0", To: "n1", Direction: Downstream}, {From: "n1", To: "n0"}}},
	} {
		if got := w.Target(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestALinksClientIsItsFirstEnd(t *testing.T) {
	for from, want := range map[string]int{"c0": 0, "c12": 12, "n1": -1, "s0": -1, "c": -1, "": -1} {
		got, ok := Link{From: from, To: "n0"}.Client()
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: got %d, %v, want %d", from, got, ok, want)
		}
	}
}

func TestWhatWasLostIsNamed(t *testing.T) {
	for _, c := range []struct {
		lost *Lost
		want string
		data bool
	}{
		{nil, "", false},
		{&Lost{}, "", false},
		{&Lost{Durability: Always, Scripts: true}, "its script cache", false},
		{&Lost{Durability: EverySec, Scripts: true}, "its script cache", false},
		{&Lost{Keys: true, Scripts: true}, "all keys and its script cache", true},
		{&Lost{Writes: 1}, "1 write of the last second", true},
		{&Lost{Writes: 2, Scripts: true, Commands: []Bytes{"SET a b", "DEL c"}}, "2 writes of the last second and its script cache (SET a b, DEL c)", true},
	} {
		if got := c.lost.String(); got != c.want || c.lost.Data() != c.data {
			t.Errorf("%+v: got %q, %v, want %q, %v", c.lost, got, c.lost.Data(), c.want, c.data)
		}
	}
}
