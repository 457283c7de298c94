package reports

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// unseen stands in place of a command if no trial showed the flaw.
const unseen = "not seen in that run"

// The lease and the number of nodes that the page's texts assume.
const (
	pageLease = time.Second
	pageNodes = 5
)

// recipeSteps are the names of the parts of a recipe's summary.
var recipeSteps = []string{"acquire", "release", "renew"}

// Recipes returns docs/recipes.md: every registered recipe that does not use a library, with its
// commands, claims and flaws. shown returns the command that shows a flaw of a lock; "" if none is
// known. The result depends only on shown and the registry.
func Recipes(shown func(lock string, f locks.Flaw) string) []byte {
	var b bytes.Buffer
	b.WriteString(`# The recipes

Every recipe with its algorithm, its claims and its declared flaws. A *bug* breaks
a claim of the document, or a promise that the recipe's own commands could have kept; a
*limit* breaks a promise that no lease on its topology can keep by itself. Each flaw that
the run showed comes with the command that shows it again, in the same way on any machine: a campaign's
seed is 1 unless the command gives one, and a named schedule needs no seed. A flaw that takes
several faults at once is looked for under ` + "`chaos`" + `, where chance combines faults,
so a run may miss it. A flaw that shows only on real Redis, as under
` + "`slot-migration`" + `, has no command.

This page is made by ` + "`make docs`" + ` from the registry of recipes and from a run of
` + "`lockstorm run --expect`" + `; a test runs its commands again and compares the hashes.

`)
	b.WriteString("| recipe | document | on | bugs | limits |\n|---|---|---|---:|---:|\n")
	recipes := slices.DeleteFunc(locks.All(), func(r locks.Recipe) bool { return r.Library != "" })
	for _, r := range recipes {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %d | %d |\n", r.ID, r.ID, r.Document, r.Topology, countFlaws(r, locks.Bug), countFlaws(r, locks.Limit))
	}
	for _, r := range recipes {
		recipeSection(&b, r, shown)
	}
	return b.Bytes()
}

func countFlaws(r locks.Recipe, kind locks.Kind) int {
	return len(slices.DeleteFunc(slices.Clone(r.Flaws), func(f locks.Flaw) bool { return f.Kind != kind }))
}

func recipeSection(b *bytes.Buffer, r locks.Recipe, shown func(string, locks.Flaw) string) {
	fmt.Fprintf(b, "\n## %s\n\nFrom %s.\n\n", r.ID, documentTitles(r))
	for i, step := range strings.Split(r.Summary, " · ") {
		fmt.Fprintf(b, "- **%s**: %s\n", recipeSteps[min(i, len(recipeSteps)-1)], step)
	}
	fmt.Fprintf(b, "- **claims**: %s\n", claimWords(r.Claims(pageLease, pageNodes)))
	if len(r.Flaws) == 0 {
		b.WriteString("\nIt declares no flaw.\n")
		return
	}
	fmt.Fprintf(b, "\n| flaw | kind | why | source | must show under | shown by |\n|---|---|---|---|---|---|\n")
	for _, f := range r.Flaws {
		command := unseen
		if c := shown(r.ID, f); c != "" {
			command = "`" + c + "`"
		}
		fmt.Fprintf(b, "| %s by %s | %s | %s | %s | %s | %s |\n", f.Oracle, f.Cause, f.Kind, wording.Cell(f.Why), wording.Cell(f.Source), Under(f), command)
	}
}

// documentTitles names the sources of a recipe.
func documentTitles(r locks.Recipe) string {
	return strings.Join(texts(r.Documents(), func(id string) string {
		i := slices.IndexFunc(locks.Documents(), func(d locks.Document) bool { return d.ID == id })
		if i < 0 {
			return id
		}
		return fmt.Sprintf("%s (%s)", id, locks.Documents()[i].Title)
	}), ", ")
}

// claimWords lists a recipe's promises in words.
func claimWords(c history.Claims) string {
	words := []string{}
	add := func(holds bool, text string) {
		if holds {
			words = append(words, text)
		}
	}
	kind := "one holder at a time"
	if c.ReadWrite {
		kind = "one writer alone, or readers together"
	}
	words = append(words, kind)
	add(c.Reentrant, "an owner enters again, and leaves as often")
	add(c.Fenced, "every grant has a greater fencing token than those before it")
	add(c.NodeQuorum() > 1, fmt.Sprintf("granted by %d of %d nodes", c.NodeQuorum(), pageNodes))
	add(c.KeyQuorum() > 1, fmt.Sprintf("granted by a majority of its keys, %d", c.KeyQuorum()))
	add(c.Renews, "renewed while it is held")
	add(c.Extends, "its holder can prolong it")
	add(c.ClientClock, "timed by the clients' clocks")
	add(c.Recovery > 0, fmt.Sprintf("at a lease of %v, open again %v after its holder is gone", pageLease, c.Recovery))
	add(c.Recovery == 0, "never open again by itself once its holder is gone")
	add(c.Away > 0, fmt.Sprintf("nodes that restart without their data stay away for %v", c.Away))
	return strings.Join(words, "; ")
}

// Under names the faults that must show the flaw, in the order of Flaw.Faults; "–" if there are
// none.
func Under(f locks.Flaw) string {
	if len(f.Faults) == 0 {
		return "–"
	}
	return strings.Join(f.Faults, ", ")
}
