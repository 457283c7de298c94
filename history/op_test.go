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

func TestEveryValueOfFIsInOneListOfTheTable(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "op.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.Concat(operations, events, breakdowns)
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
