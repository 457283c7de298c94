package history

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestEveryValueOfFHasItsRow(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "op.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.Clone(operations)
	for _, k := range eventKinds {
		listed = append(listed, k.F)
	}
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if name := spec.Names[0].Name; !ok || literal.Kind != token.STRING || !strings.HasPrefix(name, "F") || name == "Fail" {
			return true
		}
		f, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, f)
		return true
	})
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared are %q, the lists have %q", declared, listed)
	}
}

func TestEvent(t *testing.T) {
	tests := map[string]struct {
		op   Op
		want bool
	}{
		"the event":             {Op{Process: Nemesis, Type: Info, F: FCrash}, true},
		"another event":         {Op{Process: Nemesis, Type: Info, F: FHung}, false},
		"a window of that name": {Op{Process: Nemesis, Type: Info, F: FCrash, Window: &Window{}}, false},
		"a client's entry":      {Op{Process: 3, Type: Info, F: FCrash}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.op.Event(FCrash); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	at := func(f string, client int, node string) Op {
		return Op{Process: Nemesis, Client: client, Type: Info, F: f, Node: node}
	}
	replacing := func(from string) Op {
		op := at(FPromote, NoClient, "n3")
		op.From = from
		return op
	}
	tests := map[string]struct {
		earlier, later Op
		want           bool
	}{
		"its replica replaces it":          {at(FNodeDown, NoClient, "n0"), replacing("n0"), true},
		"a replica replaces another":       {at(FNodeDown, NoClient, "n0"), replacing("n1"), false},
		"the client's clock is set again":  {at(FClock, 1, ""), at(FClock, 1, ""), true},
		"another client's clock is set":    {at(FClock, 1, ""), at(FClock, 2, ""), false},
		"the node's clock is set again":    {at(FNodeClock, NoClient, "n0"), at(FNodeClock, NoClient, "n0"), true},
		"a client's clock is no node's":    {at(FClock, NoClient, "n0"), at(FNodeClock, NoClient, "n0"), false},
		"the node is back":                 {at(FNodeDown, NoClient, "n0"), at(FNodeUp, NoClient, "n0"), true},
		"another node is back":             {at(FNodeDown, NoClient, "n0"), at(FNodeUp, NoClient, "n1"), false},
		"another node replaces it":         {at(FNodeDown, NoClient, "n0"), at(FPromote, NoClient, "n1"), true},
		"nothing revives a client":         {at(FCrash, 1, ""), at(FCrash, 1, ""), false},
		"an operation ends nothing":        {at(FClock, 1, ""), Op{Client: 1, Type: Info, F: FClock}, false},
		"a window is not an event":         {at(FNodeClock, NoClient, ""), Op{Process: Nemesis, Client: NoClient, F: FNodeClock, Window: &Window{}}, false},
		"an entry of a client has no kind": {Op{Client: 1, F: FClock}, at(FClock, 1, ""), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.later.Ends(tt.earlier); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// The rows of eventKinds refer only to events that exist, and only to fields that their events
// have.
func TestRowsOfEventsAreSound(t *testing.T) {
	for _, k := range eventKinds {
		for _, by := range k.EndedBy {
			if _, ok := EventOf(by); !ok {
				t.Errorf("%s is ended by %q, which is no event", k.F, by)
			}
		}
		switch {
		case k.Keys != KeysKept && k.Of != OfNode, len(k.Changes) > 0 && k.Of != OfNode:
			t.Errorf("%s changes keys of no node", k.F)
		case k.Leaves && k.Of != OfClient:
			t.Errorf("%s takes no client away", k.F)
		case k.Breakdown && (k.Injected || k.Of != OfTrial):
			t.Errorf("%s is both a fault's event and a breakdown", k.F)
		}
	}
}
