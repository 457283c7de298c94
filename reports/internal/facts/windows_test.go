package facts

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// at returns an event of a node; from is the node that it replaces, "" if there is only one primary.
func at(ms int, f, node, from string, client int) history.Op {
	return history.Op{Process: history.Nemesis, Type: history.Info, F: f, Node: node, From: from, Client: client, Time: time.Duration(ms) * time.Millisecond}
}

// The splits of two shards may overlap. Each has its own clients and its own end.
func TestSplitsOfShardsAreApart(t *testing.T) {
	got := Splits([]history.Op{
		at(1, history.FSplit, "n3", "n0", 0), at(2, history.FSplit, "n4", "n1", 0), at(3, history.FSplit, "n3", "n0", 1),
		at(4, history.FPromote, "n3", "n0", history.NoClient), at(5, history.FPromote, "n4", "n1", history.NoClient),
	})
	want := []Split{
		{Node: "n3", Old: "n0", Clients: []string{"c0", "c1"}, From: time.Millisecond, To: 4 * time.Millisecond},
		{Node: "n4", Old: "n1", Clients: []string{"c0"}, From: 2 * time.Millisecond, To: 5 * time.Millisecond},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// With one primary, an event does not name the primary that it replaces: the last that was promoted.
func TestASplitReplacesTheLastPrimary(t *testing.T) {
	got := Splits([]history.Op{
		at(1, history.FSplit, "n1", "", 0), at(2, history.FPromote, "n1", "", history.NoClient), at(3, history.FSplit, "n2", "", 1),
	})
	want := []Split{
		{Node: "n1", Clients: []string{"c0"}, From: time.Millisecond, To: 2 * time.Millisecond},
		{Node: "n2", Old: "n1", Clients: []string{"c1"}, From: 3 * time.Millisecond},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
