package cli

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// command is a command line from a page.
type command struct {
	page string
	args []string // starts with the program's name
}

// commandsOf returns the command lines of a page that begin with a given program, split as a
// POSIX shell splits them. Lines of docs/recipes.md have tests of their own.
func commandsOf(t *testing.T, page string, programs ...string) []command {
	t.Helper()
	text := strings.ReplaceAll(readPage(t, page), "\\\n", " ")
	var script strings.Builder
	for _, p := range programs {
		script.WriteString(p + `() { printf '%s\0' ` + p + ` "$@"; echo; }` + "\n")
	}
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		code, indented := strings.CutPrefix(line, "    ")
		if !fenced && !indented {
			continue
		}
		program, _, _ := strings.Cut(strings.TrimSpace(code), " ")
		if slices.Contains(programs, program) {
			script.WriteString(code + "\n")
		}
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Stdin = strings.NewReader(script.String())
	shell.Env = []string{"PWD=."}
	out, err := shell.Output()
	if err != nil {
		t.Fatalf("%s: sh does not read its commands: %v", page, err)
	}
	var all []command
	for line := range bytes.Lines(out) {
		all = append(all, command{page, strings.Split(strings.TrimSuffix(string(line), "\x00\n"), "\x00")})
	}
	return all
}

// placeholders replaces a page's names for a reader's own trial, campaign or file with the names
// of the files that prepared makes.
var placeholders = strings.NewReplacer(
	"store/latest/trials/LOCK/FAULT/TRIAL", "stored",
	"store/compare/20260301T123000Z", "store/latest",
	"store/release/TIME", "store/latest", "store/real/TIME", "store/latest", "store/sim/TIME", "store/latest",
	"store/sim/2…", "store/latest", "store/real/2…", "store/latest",
)

// prepared makes a directory with the files that the pages' commands read, and changes to it.
func prepared(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"history.edn": `{:process 0 :type :invoke :f :acquire :value nil}
{:process 0 :type :ok :f :acquire :value 1}
{:process 0 :type :invoke :f :release :value nil}
{:process 0 :type :ok :f :release :value nil}
`,
		"holds.csv": "process,lock,from,to\na,l,2026-01-01T00:00:00Z,2026-01-01T00:00:01Z\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	counterexample := filepath.Join(root, "docs/counterexamples/set-nx-ex-delay")
	for name, target := range map[string]string{"docs": filepath.Join(root, "docs"), "stored": counterexample, "history.jsonl": filepath.Join(counterexample, "history.jsonl"), "campaign": filepath.Join(root, "campaign")} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for store, shard := range map[string]string{"store": "1/1", "a": "1/3", "b": "2/3", "c": "3/3"} {
		code, _, stderr := lockstorm(t, "run", "--locks", "set-nx-px", "--faults", "delay", "--workloads", "mutex", "--trials", "1", "--shrink", "0", "--shard", shard, "--store", store)
		if code == campaign.ExitUsage || code == campaign.ExitHarness {
			t.Fatalf("shard %s: exit code %d: %s", shard, code, stderr)
		}
	}
}

// TestCommandsOfPagesAreAccepted runs every command of the pages. Commands that run many trials or
// change a store are interrupted once they have read their flags, and so are all commands on testbed
// process. Everything else runs to its end. Two pages are tested elsewhere: docs/recipes.md by
// TestCommandsOfTheRecipesPageShowTheirFlaws, and docs/libraries.md by scripts/test-examples, because the commands of docs/libraries.md need another program.
func TestCommandsOfPagesAreAccepted(t *testing.T) {
	var all []command
	for _, page := range pages(t) {
		if page != "docs/recipes.md" && page != "docs/libraries.md" {
			all = append(all, commandsOf(t, page, "lockstorm")...)
		}
	}
	if len(all) < 50 {
		t.Fatalf("the pages have %d commands: they are not read", len(all))
	}
	prepared(t)
	if code, stderr := interruptedAtOnce(t, "run", "--locks", "set-nxpx"); code != campaign.ExitUsage {
		t.Fatalf("an unknown lock is not seen by an interrupted run: exit code %d, %s", code, stderr)
	}
	seen := map[string]bool{}
	for _, c := range all {
		line := placeholders.Replace(strings.Join(c.args, " "))
		if seen[line] {
			continue
		}
		seen[line] = true
		t.Run(line, func(t *testing.T) {
			args := strings.Split(placeholders.Replace(strings.Join(c.args[1:], "\x00")), "\x00")
			if name := written.FindString(line); name != "" {
				t.Skip(c.page + " has its reader write " + name)
			}
			var code int
			var stderr string
			if slices.Contains([]string{"run", "bench", "shrink", "clean", "merge", "store", "corpus"}, args[0]) || slices.Contains(args, "process") {
				code, stderr = interruptedAtOnce(t, args...)
			} else {
				code, _, stderr = lockstorm(t, args...)
			}
			if (code == campaign.ExitUsage || code == campaign.ExitHarness) && !lacking.MatchString(stderr) {
				t.Errorf("%s: exit code %d: %s", c.page, code, stderr)
			}
		})
	}
}

// written matches the recipes, the client and the fault that readers of four pages write themselves.
// TestExamplesOfContributingCompile builds the recipe of docs/contributing.md and the fault of
// docs/contributing-a-fault.md. scripts/test-examples runs the recipe of docs/testing-your-lock.md,
// and examples/any-language has the clients of docs/any-language.md.
var written = regexp.MustCompile(`\b(set-nx-px-watch|lost-request|seats|mylock|redlock\.py)\b`)

// lacking matches the error of a command that was parsed but lacks something that a page's reader
// has: a server, the server's certificate, or a campaign on it.
var lacking = regexp.MustCompile(`--testbed external: (\S+: connect: |certificates of authorities: open ca.pem: )|^lockstorm: store/latest: it ran on testbed sim, `)

// interruptedAtOnce runs a command that was interrupted before it began.
func interruptedAtOnce(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interruption{syscall.SIGINT})
	var out, errs bytes.Buffer
	a := app{args: args, testbeds: testbeds, output: output{stdout: &out, stderr: &errs, program: "lockstorm"}}
	return a.run(ctx), errs.String()
}

// TestPagesNameTargetsAndTestsThatExist checks make's targets, and the tests that go test runs.
func TestPagesNameTargetsAndTestsThatExist(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^([a-z-]+):`).FindAllStringSubmatch(readPage(t, "Makefile"), -1)
	isTarget := map[string]bool{}
	for _, target := range targets {
		isTarget[target[1]] = true
	}
	tests, err := exec.CommandContext(t.Context(), "git", "-C", "../../..", "grep", "-ohE", "^func (Test|Fuzz|Benchmark)[A-Za-z0-9]*", "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(strings.ReplaceAll(string(tests), "func ", ""))
	counted := map[string]int{}
	for _, page := range pages(t) {
		for _, c := range commandsOf(t, page, "make", "go") {
			counted[c.args[0]]++
			for i, word := range c.args {
				switch {
				case c.args[0] == "make" && i > 0 && !strings.Contains(word, "=") && !isTarget[word]:
					t.Errorf("%s: make has no target %s", page, word)
				case c.args[0] == "go" && i > 1 && c.args[1] == "test" && c.args[i-1] == "-run":
					pattern := regexp.MustCompile(word)
					if !slices.ContainsFunc(names, pattern.MatchString) && !strings.Contains(readPage(t, page), "func "+word) {
						t.Errorf("%s: no test matches -run %s", page, word)
					}
				}
			}
		}
	}
	if counted["make"] == 0 || counted["go"] == 0 {
		t.Errorf("the pages' commands are not read: %v", slices.Collect(maps.Keys(counted)))
	}
}
