package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// lockstorm runs a command line in this process.
func lockstorm(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return lockstormIn(t, nil, args...)
}

// lockstormIn runs a command line in this process, as if called as bin/lockstorm with the
// given environment variables.
func lockstormIn(t *testing.T, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	lookup := func(variable string) (string, bool) {
		value, ok := environment[variable]
		return value, ok
	}
	a := app{args: args, testbeds: append(testbeds, testbedChoice{
		Name: "absent", Doc: "a testbed that this machine lacks",
		New: func(context.Context, testbedFlags) (testbed.Testbed, error) {
			return nil, errors.New("no redis-server on PATH")
		},
	}), output: output{stdout: &out, stderr: &errs, lookup: lookup, program: "bin/lockstorm"}}
	code = a.run(t.Context())
	return code, out.String(), errs.String()
}

// jsonOf runs a command line in this process, with --json, and returns what it printed.
func jsonOf[T any](t *testing.T, args ...string) (printed T, code int, stderr string) {
	t.Helper()
	code, stdout, stderr := lockstorm(t, slices.Concat(args, []string{"--json"})...)
	if err := json.Unmarshal([]byte(stdout), &printed); err != nil {
		t.Fatalf("%q: exit code %d, %v; stderr\n%s", args, code, err, stderr)
	}
	return printed, code, stderr
}

// latest returns the latest campaign of a store.
func latest(t *testing.T, store string) campaign.Stored {
	t.Helper()
	s, err := campaign.Load(filepath.Join(store, campaign.Latest))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// file writes a file into a new directory of the test, and returns the file's path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBadUsageIsOneClearLineAnd254(t *testing.T) {
	dir := t.TempDir()
	broken := file(t, "broken.json", `{"ttl":`)
	unknown := file(t, "unknown.json", `{"lokcs": "all"}`)
	wrong := file(t, "wrong.json", `{"trials": "many"}`)
	history := file(t, "history.jsonl", "")
	yamlUnknown := file(t, "unknown.yaml", "# nightly\nlocks: all\nfalts: [none]\n")
	yamlWrong := file(t, "wrong.yaml", "locks: all\nttl: soon\n")
	yamlTwice := file(t, "twice.yaml", "seed: 1\nseed: 2\n")
	yamlBroken := file(t, "broken.yaml", "locks: all\nfaults: [none\n")
	nested := file(t, "nested.json", `{"locks": {"a": 1}}`)
	stored := func(spec string) string { return filepath.Dir(file(t, trial.SpecFile, spec)) }
	same := stored(`{"lock":"set-nx-px","testbed":"process"}`)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"rnu"}, `unknown command "rnu": did you mean run`},
		{"help of an unknown command", []string{"diff", "--help"}, `unknown command "diff": did you mean `},
		{"help of an unknown command, asked first", []string{"help", "diff"}, `unknown command "diff": did you mean `},
		{"unknown flag", []string{"run", "--lokcs", "x"}, `unknown flag "lokcs": did you mean --locks?`},
		{"malformed value", []string{"run", "--ttl", "soon"}, `--ttl "soon": expected a duration, as 500ms or 2s`},
		{"a seed that is no number", []string{"replay", "--lock", "set-nx-px", "--seed", "abc"}, `--seed "abc": expected a whole number from 0 to 9007199254740991`},
		{"a negative seed", []string{"run", "--seed", "-1"}, `--seed "-1": expected a whole number from 0`},
		{"surplus argument", []string{"run", "x"}, "lockstorm run: expected no arguments, got 1 argument\n"},
		{"unknown lock", []string{"run", "--locks", "set-nxpx"}, `unknown lock "set-nxpx": did you mean set-nx-px`},
		{"unknown fault", []string{"run", "--faults", "client-pose"}, `unknown fault "client-pose": did you mean client-pause`},
		{"unknown workload", []string{"run", "--workloads", "mutexx"}, `unknown workload "mutexx": did you mean mutex`},
		{"unknown testbed", []string{"run", "--testbed", "proces"}, `unknown testbed "proces": did you mean process`},
		{"several testbeds", []string{"run", "--testbed", "all"}, `unknown testbed "all": did you mean`},
		{"several models", []string{"check", history, "--model", "all"}, `--model "all": expected one of mutex`},
		{"quiet and verbose", []string{"run", "--quiet", "--verbose"}, "--quiet: --verbose asks for more; expected one of them"},
		{"testbed that is not there", []string{"run", "--testbed", "absent"}, "--testbed absent: no redis-server on PATH"},
		{"two pages at once", []string{"report", "--recipes", "x.md", "--json"}, "--json: --recipes x.md writes another page"},
		{"monitor of no server", []string{"run", "--monitor"}, "--monitor: testbed "},
		{"impossible number", []string{"run", "--clients", "-1"}, "--clients -1: expected at least 1"},
		{"impossible number of trials", []string{"run", "--trials", "-1"}, "--trials -1: expected at least 1, or 0 for the default"},
		{"no configuration file", []string{"run", "--config", "/nonexistent"}, "--config /nonexistent: no such file"},
		{"broken configuration file", []string{"run", "--config", broken}, broken + ": expected flag names and values, in YAML or JSON"},
		{"unknown name in it", []string{"run", "--config", unknown}, unknown + `:1: unknown name "lokcs": did you mean "locks"?`},
		{"wrong value in it", []string{"run", "--config", wrong}, wrong + `:1: trials: expected a whole number, got "many"`},
		{"nested value in it", []string{"run", "--config", nested}, nested + `:1: locks: expected a string, a number`},
		{"unknown name in YAML", []string{"run", "--config", yamlUnknown}, yamlUnknown + `:3: unknown name "falts": did you mean "faults"?`},
		{"wrong value in YAML", []string{"run", "--config", yamlWrong}, yamlWrong + `:2: ttl: expected a duration, as 500ms or 2s, got "soon"`},
		{"name that comes twice", []string{"run", "--config", yamlTwice}, yamlTwice + `:2: seed is set on line 1 already`},
		{"broken YAML", []string{"run", "--config", yamlBroken}, yamlBroken + `: expected flag names and values, in YAML or JSON, such as "ttl: 2s": line `},
		{"impossible selection", []string{"run", "--locks", "set-nx-px", "--workloads", "read-write", "--expect", "--store", t.TempDir()}, "nothing can be tested: no chosen recipe supports"},
		{"unknown topology", []string{"run", "--topology", "foo"}, `--topology "foo": expected one of single, `},
		{"store below a file", []string{"run", "--store", broken}, "--store " + broken + ": expected a directory that can be written"},
		{"list of nothing", []string{"list"}, "expected one of locks, documents, faults, workloads, oracles, causes, remedies, testbeds, got 0"},
		{"list of the unknown", []string{"list", "lock"}, `lockstorm list "lock": expected one of locks`},
		{"check of nothing", []string{"check"}, "expected one history file or trial folder"},
		{"check of no file", []string{"check", "/nonexistent"}, "/nonexistent: expected a history file"},
		{"replay of nothing", []string{"replay"}, "expected the folder of a stored trial, or --lock and --fault"},
		{"replay of no folder", []string{"replay", "/nonexistent"}, "/nonexistent: expected the folder of a stored trial, with spec.json in it"},
		{"replay of a broken spec", []string{"replay", stored(`{"lock":`)}, "spec.json: expected a whole JSON document: unexpected end of JSON input"},
		{"replay of a lock that is no more", []string{"replay", stored(`{"lock":"set-nxpx","workload":"mutex","testbed":"sim"}`)}, `unknown lock "set-nxpx"`},
		{"replay of a workload that is no more", []string{"replay", stored(`{"lock":"set-nx-px","workload":"mutexx","testbed":"sim"}`)}, `unknown workload "mutexx"`},
		{"replay of a folder and a lock", []string{"replay", t.TempDir(), "--lock", "set-nx-px"}, "--lock: "},
		{"replay of a folder with another lease", []string{"replay", t.TempDir(), "--ttl", "2s"}, "--ttl: "},
		{"replay of trial -1", []string{"replay", "--lock", "set-nx-px", "--trial", "-1"}, "--trial -1: expected at least 0"},
		{"a hash that is none", []string{"replay", "--lock", "set-nx-px", "--hash", "zzzzzzzz"}, `--hash "zzzzzzzz": expected 8 to 64 hexadecimal digits`},
		{"a hash that is too short", []string{"replay", "--lock", "set-nx-px", "--hash", "3f6c"}, `--hash "3f6c": expected 8 to 64 hexadecimal digits`},
		{"an empty hash", []string{"replay", "--lock", "set-nx-px", "--hash", ""}, `--hash "": expected 8 to 64 hexadecimal digits`},
		{"replay under an unknown fault", []string{"replay", "--lock", "set-nx-px", "--fault", "client-pose"}, "client-pose"},
		{"replay with a workload that does not suit", []string{"replay", "--lock", "set-nx-px", "--workload", "read-write"}, "set-nx-px"},
		{"replay with too short a lease", []string{"replay", "--lock", "set-nx-px", "--ttl", "1ms"}, "--ttl 1ms: expected at least 10ms"},
		{"replay on an unknown topology", []string{"replay", "--lock", "set-nx-px", "--topology", "ring"}, `--topology "ring"`},
		{"replay with unknown clients", []string{"replay", "--lock", "set-nx-px", "--clients-as", "threads"}, `--clients-as "threads": expected goroutines or processes`},
		{"replay on the unknown", []string{"replay", stored(`{"lock":"set-nx-px","testbed":"moon"}`)}, `unknown testbed "moon"`},
		{"replay into what is replayed", []string{"replay", same, "--out", same}, "--out " + same + ": that is the trial that is replayed"},
		{"client processes in virtual time", []string{"run", "--clients-as", "processes", "--store", t.TempDir()}, "--clients-as processes: testbed sim has a time of its own"},
		{"a client by hand", []string{"client"}, "a client process is started by a trial, not by hand"},
		{"address of no server", []string{"run", "--addr", "127.0.0.1:1", "--store", t.TempDir()}, "--addr: only --testbed external takes it, not sim"},
		{"user of no server", []string{"run", "--testbed", "process", "--user", "x", "--store", t.TempDir()}, "--user: only --testbed external takes it, not process"},
		{"no address of a server", []string{"run", "--testbed", "external", "--store", t.TempDir()}, "--testbed external: which Redis? expected --addr host:port"},
		{"many trials in the lab", []string{"run", "--testbed", "compose", "--parallel", "3", "--store", t.TempDir()}, "--testbed compose: 3 trials at a time: the lab can run only one"},
		{"impossible number of shrinking trials", []string{"run", "--locks", "set-nx-ex", "--shrink", "-1"}, "--shrink -1: expected"},
		{"removal of no campaign", []string{"store", "rm", dir}, dir + ": expected the directory of a stored campaign"},
		{"keeping none", []string{"store", "gc", "--store", dir}, "--keep 0: expected the number"},
		{"list of no store", []string{"store", "ls", "--store", filepath.Join(dir, "none")}, "expected a directory with campaigns"},
		{"unknown command of the store", []string{"store", "mv"}, "expected one of ls, rm, gc"},
		{"surplus argument of a worker", []string{"worker", "x"}, "lockstorm worker: expected no arguments, got 1"},
		{"answer to the unknown", []string{"answer", "getset-losr"}, `unknown experiment "getset-losr": did you mean getset-loser? (lockstorm answer)`},
		{"answer of the simulation alone", []string{"answer", "renewal", "--testbed", "process"}, "--testbed process: renewal runs in the simulation only; expected sim"},
		{"page of one experiment", []string{"answer", "renewal", "--page", "x.md"}, "--page x.md: the page has all experiments"},
		{"bench of an unknown lock", []string{"bench", "--locks", "set-nxpx"}, `unknown lock "set-nxpx": did you mean set-nx-px`},
		{"bench of no clients", []string{"bench", "--clients", "0"}, "--clients 0: expected at least 2"},
		{"bench of too short a lease", []string{"bench", "--ttl", "5ms"}, "--ttl 5ms: expected at least 100ms"},
		{"bench of too short a time", []string{"bench", "--duration", "10ms"}, "--duration 10ms: expected at least 1s"},
		{"bench of too many nodes", []string{"bench", "--nodes", "17"}, "--nodes 17: expected 1 to 16"},
		{"bench on the unknown", []string{"bench", "--testbed", "proces"}, `unknown testbed "proces": did you mean process`},
		{"bench on a testbed that is not there", []string{"bench", "--testbed", "absent"}, "--testbed absent: no redis-server on PATH"},
		{"bench on no Redis", []string{"bench", "--testbed", "external"}, "--testbed external: which Redis? expected --addr host:port"},
		{"bench with another testbed's flag", []string{"bench", "--addr", "127.0.0.1:1"}, "--addr: only --testbed external takes it, not sim"},
		{"surplus argument of bench", []string{"bench", "x"}, "lockstorm bench: expected no arguments, got 1"},
		{"report of three", []string{"report", "a", "b", "c"}, "expected the directory of a stored campaign, or of two to compare, got 3"},
		{"report of no campaign", []string{"report", t.TempDir()}, "expected the directory of a stored campaign"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := lockstorm(t, test.args...)
			if code != campaign.ExitUsage || stdout != "" {
				t.Errorf("exit code %d, stdout %q; want 254 and nothing", code, stdout)
			}
			if !strings.HasPrefix(stderr, "lockstorm: ") || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr is\n%s\nwant one line with %q", stderr, test.want)
			}
		})
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--version"}, {"version"}, {"run", "--help"}, {"check", "--help"}, {"replay", "--help"}, {"answer", "--help"}, {"bench", "--help"}} {
		code, stdout, stderr := lockstorm(t, args...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "lockstorm") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestListsShowEveryRegistry(t *testing.T) {
	for name, want := range map[string]string{
		"locks": "set-nx-px", "documents": "RedLock", "faults": "client-pause", "workloads": "read-write", "oracles": "exclusion", "causes": "lease-outlived", "testbeds": "process",
	} {
		code, stdout, stderr := lockstorm(t, "list", name)
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("list %s: exit code %d, stderr %q, stdout\n%s", name, code, stderr, stdout)
		}
		if rows, _, _ := jsonOf[[]map[string]string](t, "list", name); len(rows) == 0 {
			t.Errorf("list %s --json: no rows", name)
		}
	}
}

func TestListSaysWhichTestbedIsNotHere(t *testing.T) {
	rows, _, _ := jsonOf[[]map[string]string](t, "list", "testbeds")
	for _, row := range rows {
		absent := row["name"] == "absent"
		if absent != (row["note"] == "no redis-server on PATH") || absent != (row["topologies"] == "") {
			t.Errorf("got %q", row)
		}
	}
	here, absent := []string{"sim", "a simulation", "single", "partition", ""}, []string{"absent", "a testbed", "", "", "no redis-server"}
	for want, rows := range map[bool][][]string{false: {here}, true: {here, absent}} {
		if table := listings[len(listings)-1].table(rows, 80); strings.Contains(table, "note") != want || strings.Contains(table, "no redis-server") != want {
			t.Errorf("the table has a column of errors: %t, want %t:\n%s", !want, want, table)
		}
	}
}

func TestListsAreAsWideAsTheTerminal(t *testing.T) {
	for _, l := range listings {
		rows := l.rows(&app{testbeds: testbeds})
		for _, width := range []int{60, 80, 120} {
			table := l.table(rows, width)
			for _, line := range strings.Split(table, "\n") {
				if n := len([]rune(line)); n > width {
					t.Errorf("list %s on %d columns has a line of %d: %s", l.name, width, n, line)
				}
			}
		}
	}
}

func TestExpectSaysWhenEverythingWasFound(t *testing.T) {
	const line = "as expected: every declared flaw that was looked for was found, and no other"
	cells := []campaign.Cell{{Lock: "a", Fault: "none", Verdict: trial.Holds}}
	differing := []campaign.Discrepancy{{Lock: "a", Fault: "none", Oracle: "exclusion", Cause: "race"}}
	tests := []struct {
		name   string
		expect bool
		matrix campaign.Matrix
		want   bool
	}{
		{"all of it", true, campaign.Matrix{Cells: cells}, true},
		{"nobody asked", false, campaign.Matrix{Cells: cells}, false},
		{"one was missed", true, campaign.Matrix{Cells: cells, Missed: differing}, false},
		{"another was found", true, campaign.Matrix{Cells: cells, Unexpected: differing}, false},
		{"interrupted", true, campaign.Matrix{Cells: cells, Interrupted: true}, false},
		{"undecided", true, campaign.Matrix{Cells: []campaign.Cell{{Verdict: trial.Unknown}}}, false},
		{"in doubt", true, campaign.Matrix{Cells: cells, Doubtful: []campaign.Doubt{{Lock: "a", Fault: "none"}}}, false},
	}
	for _, test := range tests {
		var out bytes.Buffer
		a := app{output: output{stderr: &out}}
		a.asExpected(&out, campaign.Stored{Info: campaign.Info{Config: campaign.Config{Expect: test.expect}}, Matrix: test.matrix})
		if strings.Contains(out.String(), line) != test.want {
			t.Errorf("%s: said %q", test.name, out.String())
		}
	}
}
