package checker

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestEveryCauseHasARow compares the table of causes with the constants in cause.go.
func TestEveryCauseHasARow(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
			constants += len(d.Specs)
		}
		return true
	})
	seen := map[Cause]bool{}
	for _, c := range Causes() {
		if seen[c] {
			t.Errorf("%s has two rows", c)
		}
		seen[c] = true
		if c.Meaning() == "" {
			t.Errorf("%s: its row says nothing", c)
		}
		if c.Assumption() == "" && c != Unclassified {
			t.Errorf("%s: its row names no assumption", c)
		}
	}
	if constants == 0 || len(seen) != constants {
		t.Errorf("%d rows for %d constants", len(seen), constants)
	}
}

// TestOraclesHaveRanksOfTheirOwn checks that the oracles' ranks are distinct and run from 1
// to the number of oracles.
func TestOraclesHaveRanksOfTheirOwn(t *testing.T) {
	all, by := append(Oracles(), OracleNamed(LinearizableName)), map[int]string{}
	for _, o := range all {
		if OracleNamed(o.Name).Rank != o.Rank {
			t.Errorf("%s has rank %d by its name, and %d in the table", o.Name, OracleNamed(o.Name).Rank, o.Rank)
		}
		if other, taken := by[o.Rank]; taken || o.Rank < 1 || o.Rank > len(all) {
			t.Errorf("%s has rank %d of %d, as has %q", o.Name, o.Rank, len(all), other)
		}
		by[o.Rank] = o.Name
	}
	if unknown := OracleNamed("nothing"); unknown.Rank <= len(all) {
		t.Errorf("an unknown oracle has rank %d, want it after all %d", unknown.Rank, len(all))
	}
}
