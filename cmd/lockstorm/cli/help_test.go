package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand returns all visible commands, by path.
func everyCommand(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	a := app{testbeds: testbeds, output: output{stdout: io.Discard, stderr: io.Discard}}
	all := map[string]*cobra.Command{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion" {
				all[c.CommandPath()] = c
				add(c)
			}
		}
	}
	root := a.root()
	all[root.Name()] = root
	add(root)
	return all
}

// narrowest is the width, in columns, of the narrowest terminal that output is laid out for.
const narrowest = 60

// TestEveryCommandHasTwoExamplesThatCanBeCalled: the commands and flags of examples exist, and the
// lines fit.
func TestEveryCommandHasTwoExamplesThatCanBeCalled(t *testing.T) {
	for path, cmd := range everyCommand(t) {
		examples := strings.Split(cmd.Example, "\n")
		if len(examples) < 2 {
			t.Errorf("%s has fewer than two examples:\n%s", path, cmd.Example)
		}
		for _, line := range examples {
			if len(line) > narrowest {
				t.Errorf("%s: %q has more than %d columns", path, line, narrowest)
			}
			a := app{testbeds: testbeds, output: output{stdout: io.Discard, stderr: io.Discard}}
			line, _, _ = strings.Cut(strings.ReplaceAll(line, "'", ""), " | ")
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "lockstorm" {
				t.Errorf("%s: an example is %q", path, line)
				continue
			}
			called, rest, err := a.root().Find(words[1:])
			if err == nil {
				err = called.ParseFlags(rest)
			}
			if err != nil || !strings.HasPrefix(called.CommandPath(), path) {
				t.Errorf("%s: %q calls %s: %v", path, line, called.CommandPath(), err)
			}
		}
	}
}

func TestEveryFlagOfACommandWithGroupsIsInAGroup(t *testing.T) {
	for _, path := range []string{"lockstorm run", "lockstorm replay"} {
		cmd := everyCommand(t)[path]
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if len(f.Annotations[groupAnnotation]) == 0 && f.Name != "help" {
				t.Errorf("%s --%s is in no group", path, f.Name)
			}
		})
	}
}

func TestHelpShowsGroupsAndExitCodes(t *testing.T) {
	_, stdout, _ := lockstorm(t, "run", "--help")
	at := 0
	for _, want := range []string{
		"\nExamples:\n", "\nWhat is compared:\n      --locks ", "\nEach trial:\n", "\nHow many trials:\n", "\nWhat is stored and printed:\n",
		"\nOnly with --testbed external:\n      --addr ", "\nExit codes:\n  0         It ran to its end", "\n  1         With --expect", "\n  130, 143  Interrupted",
	} {
		i := strings.Index(stdout[at:], want)
		if i < 0 {
			t.Fatalf("after %d characters, there is no %q in\n%s", at, want, stdout)
		}
		at += i
	}
	_, topic, _ := lockstorm(t, "help", "exit-codes")
	for _, want := range []string{"lockstorm run:\n  0  ", "lockstorm check:\n  0         Nothing is violated.\n", "Every other command:\n  0         As expected.\n  130, 143  "} {
		if !strings.Contains(topic, want) {
			t.Errorf("lockstorm help exit-codes lacks %q:\n%s", want, topic)
		}
	}
}

func TestHelpFitsTheColumns(t *testing.T) {
	for path := range everyCommand(t) {
		args := append(strings.Fields(path)[1:], "--help")
		_, stdout, _ := lockstormIn(t, map[string]string{"COLUMNS": "60"}, args...)
		_, text, _ := strings.Cut(stdout, "Usage:")
		for line := range strings.Lines(stdout) {
			line = strings.TrimRight(line, "\n")
			example := strings.HasPrefix(strings.TrimSpace(line), "lockstorm ") // examples are for copying: they are not wrapped
			if n := len([]rune(line)); n > 60 && !example && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s: a line has %d columns: %s", path, n, line)
			}
		}
		if !strings.Contains(text, "Flags:") && !strings.Contains(text, "ther flags:") {
			t.Errorf("%s: no flags in\n%s", path, stdout)
		}
	}
}

// TestShellsCompleteTheNamesOfTheRegistries: completion also works for the last element of a list.
func TestShellsCompleteTheNamesOfTheRegistries(t *testing.T) {
	for _, c := range []struct {
		args       []string
		want, none []string
	}{
		{[]string{"run", "--locks", "set-nx-p"}, []string{"set-nx-px", "set-nx-px-watchdog"}, []string{"redlock"}},
		{[]string{"run", "--locks", "setnx,redl"}, []string{"setnx,redlock", "setnx,redlock-naive"}, []string{"redlock"}},
		{[]string{"run", "--locks", "redlock,redl"}, []string{"redlock,redlock-naive"}, []string{"redlock,redlock"}},
		{[]string{"run", "--locks", "lib"}, []string{"libraries"}, nil},
		{[]string{"run", "--faults", "none,client-"}, []string{"none,client-crash", "none,client-pause"}, []string{"client-pause"}},
		{[]string{"run", "--workloads", "s"}, []string{"standard"}, nil},
		{[]string{"run", "--testbed", ""}, []string{"sim", "process", "external"}, nil},
		{[]string{"run", "--topology", "in"}, []string{"independent"}, []string{"single"}},
		{[]string{"replay", "--lock", "redl"}, []string{"redlock"}, nil},
		{[]string{"replay", "--fault", "fail"}, []string{"failover"}, nil},
		{[]string{"bench", "--locks", "set-nx-px,fen"}, []string{"set-nx-px,fenced"}, nil},
		{[]string{"check", "--model", "re"}, []string{"reentrant-mutex", "read-write"}, nil},
		{[]string{"list", ""}, []string{"locks", "oracles", "testbeds"}, nil},
		{[]string{"answer", "getset"}, []string{"getset-loser"}, nil},
	} {
		code, stdout, stderr := lockstorm(t, append([]string{"__complete"}, c.args...)...)
		var got []string
		for line := range strings.Lines(stdout) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, name)
		}
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q: exit code %d, no %s in %q; stderr %s", c.args, code, want, got, stderr)
			}
		}
		for _, none := range c.none {
			if slices.Contains(got, none) {
				t.Errorf("%q: %s is in %q", c.args, none, got)
			}
		}
	}
}
