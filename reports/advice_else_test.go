package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// For every condition, an answer names the picks that fail under fewer of the condition's faults,
// if there are any.
func TestEachConditionNamesWhatToTakeInstead(t *testing.T) {
	shows := func(lock, cause string, faults ...string) (cells []campaign.Cell) {
		for _, fault := range faults {
			cells = append(cells, judged(lock, fault, trial.Flaw{Oracle: "resource", Cause: cause, Kind: locks.Limit}))
		}
		return cells
	}
	losing := []string{"node-restart", "failover", "eviction", "split-brain"}
	for lock, want := range map[string]string{
		"fenced":         "; where (1) is not sure, take `set-nx-px-wait`, if a holder is done before its lease ends; where (2) is not sure, take `redlock-delayed-restart` on independent nodes, with which (2) fails only under eviction; where none of these can be had, no lease will do: the resource itself has to compare and set.",
		"set-nx-px-wait": "; where (1) is not sure, take `redlock-delayed-restart` on independent nodes, with which (1) fails only under eviction; where (2), (3) or (4) is not sure, take `fenced`; where none of these can be had, no lease will do",
	} {
		r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: append(shows(lock, "server-lost-key", losing...), judged(lock, "client-pause"))}}
		a := r.advise(lock, append([]string{"client-pause"}, losing...))
		if text := a.Words(); a.Answer != useOnlyIf || !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %q in it", lock, text, want)
		}
		if rows := r.takenPicks([]adviceRow{{Recipe: lock, Advice: a}}); len(rows) < 2 {
			t.Errorf("%s: the conditions of %v alone are explained", lock, rows)
		}
	}
	r := result{Glossary: registries(), Matrix: campaign.Matrix{Cells: append(shows("set-nx-px", "lease-outlived", "client-pause"), shows("set-nx-px", "server-clock", "node-clock")...)}}
	if text, want := r.advise("set-nx-px", []string{"client-pause", "node-clock"}).Words(), "; where (1) or (2) is not sure, take `fenced`"; !strings.Contains(text, want) {
		t.Errorf("the same picks for two conditions: got %q, want %q in it", text, want)
	}
}
