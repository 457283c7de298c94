package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// declared identifies a flaw in docs/recipes.md. under is part of the identity, because a flaw may
// come about differently under other faults.
type declared struct{ lock, oracle, cause, under string }

func declaredBy(lock string, f locks.Flaw) declared {
	return declared{lock, f.Oracle, f.Cause, reports.Under(f)}
}

// recipeCommands reads the commands of a recipes page, by the flaw that each shows.
func recipeCommands(page string) map[declared]string {
	commands := map[declared]string{}
	lock := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			lock = name
			continue
		}
		columns := strings.Split(strings.Trim(line, "|"), " | ")
		oracle, cause, isFlaw := strings.Cut(strings.TrimSpace(columns[0]), " by ")
		command := strings.Trim(columns[len(columns)-1], "` ")
		if lock != "" && isFlaw && strings.HasPrefix(command, "lockstorm ") {
			commands[declared{lock, oracle, cause, columns[len(columns)-2]}] = command
		}
	}
	return commands
}

// docs/recipes.md agrees with the registry. `make docs` rewrites the page.
func TestRecipesPageIsCurrent(t *testing.T) {
	page := readPage(t, "docs/recipes.md")
	commands := recipeCommands(page)
	want := reports.Recipes(func(lock string, f locks.Flaw) string { return commands[declaredBy(lock, f)] })
	got, expected := strings.Split(page, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(expected)) {
		if got[i] != expected[i] {
			t.Fatalf("docs/recipes.md:%d is not what the registry says (make docs)\ngot  %s\nwant %s", i+1, got[i], expected[i])
		}
	}
	if len(got) != len(expected) {
		t.Errorf("docs/recipes.md has %d lines, expected %d (make docs)", len(got), len(expected))
	}
	for _, r := range locks.All() {
		for _, f := range r.Flaws {
			if r.Library == "" && slices.ContainsFunc(f.Faults, inSimulation) && commands[declaredBy(r.ID, f)] == "" {
				t.Errorf("docs/recipes.md has no command that shows %s by %s in %s", f.Oracle, f.Cause, r.ID)
			}
		}
	}
}

// inSimulation reports whether the page must have a command for the fault. It need not have one if the
// simulation, which runs the page's commands, does not support the fault, or if the fault is a mix: a
// mix may miss the flaw.
func inSimulation(fault string) bool {
	f, ok := nemesis.ByName(fault)
	lacks := func(need testbed.Capability) bool { return !slices.Contains(sim.New().Capabilities(), need) }
	return ok && !f.Mix && !slices.ContainsFunc(f.Needs, lacks)
}

// Each command of docs/recipes.md shows the flaw of its row, and its trial has the hash that the
// command gives (--hash). -short runs an eighth of the commands.
func TestCommandsOfTheRecipesPageShowTheirFlaws(t *testing.T) {
	commands := recipeCommands(readPage(t, "docs/recipes.md"))
	if len(commands) == 0 {
		t.Fatal("docs/recipes.md has no commands")
	}
	keys := slices.SortedFunc(func(yield func(declared) bool) {
		for k := range commands {
			if !yield(k) {
				return
			}
		}
	}, func(a, b declared) int {
		return strings.Compare(commands[a]+a.oracle+a.cause+a.under, commands[b]+b.oracle+b.cause+b.under)
	})
	for i, k := range keys {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(k.lock+" "+k.oracle+" "+k.cause+" "+k.under, func(t *testing.T) {
			t.Parallel()
			r := replayedBy(t, commands[k])
			if !slices.ContainsFunc(r.Flaws, func(f trial.Flaw) bool { return f.Oracle == k.oracle && f.Cause == k.cause && f.Kind != "" }) {
				t.Errorf("%s: shows %+v, expected %s by %s", commands[k], r.Flaws, k.oracle, k.cause)
			}
		})
	}
}
