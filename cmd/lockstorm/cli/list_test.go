package cli

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/locks"
)

func TestEachFlawOfARecipeBeginsALine(t *testing.T) {
	declared := locks.Recipe{Flaws: []locks.Flaw{
		{Cause: "foreign-delete", Kind: locks.Bug, Faults: []string{"client-pause"}, Also: []string{"delay"}},
		{Cause: "no-expiry", Kind: locks.Bug, Faults: []string{"client-crash", "lost-reply", "partition", "delay", "reset", "failover"}},
		{Cause: "lease-outlived", Kind: locks.Limit, Also: []string{"delay"}},
	}}
	want := []string{"bug: foreign-delete under client-pause (delay)", "bug: no-expiry under client-crash,", "limit: lease-outlived under (delay)"}
	l := listing{columns: []string{"id", "flaws"}}
	for _, width := range []int{0, 60} {
		printed := l.table([][]string{{"a-lock", flaws(declared)}}, width)
		at := strings.Index(printed, want[0])
		if at < 0 {
			t.Fatalf("width %d: no %q in\n%s", width, want[0], printed)
		}
		column := len([]rune(printed[strings.LastIndex(printed[:at], "\n")+1 : at]))
		for _, begin := range want {
			if !lineHasAt(printed, column, begin) {
				t.Errorf("width %d: no line of the column begins with %q in\n%s", width, begin, printed)
			}
		}
	}
}

// lineHasAt says whether some line has the given text at that column.
func lineHasAt(printed string, column int, begin string) bool {
	for line := range strings.Lines(printed) {
		if r := []rune(line); len(r) > column && strings.HasPrefix(string(r[column:]), begin) {
			return true
		}
	}
	return false
}
