package locks

import (
	"slices"
	"testing"
)

func TestEveryRecipeComesFromAKnownDocument(t *testing.T) {
	cited := map[string]bool{}
	for _, r := range All() {
		for _, id := range r.Documents() {
			cited[id] = true
			if !slices.ContainsFunc(documents, func(d Document) bool { return d.ID == id }) {
				t.Errorf("%s cites %q, which is no document", r.ID, id)
			}
		}
	}
	for _, d := range Documents() {
		if !cited[d.ID] {
			t.Errorf("no recipe comes from %s", d.ID)
		}
	}
}
