package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
)

// refuses is a client in Python, of a lock on independent nodes that nobody gets.
const refuses = `import json, os, sys
print(os.environ["LOCKSTORM_CLIENT"], "has", len(os.environ["LOCKSTORM_ADDRS"].split(",")), "nodes", file=sys.stderr)
print(json.dumps({"ready": True, "independent": True}), flush=True)
for q in map(json.loads, sys.stdin):
    print(json.dumps({"id": q["id"], "error": "busy"}), flush=True)
`

// asLockstorm runs the command line in a process of its own, whose workers learn of --client as users' do.
func asLockstorm(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, _ := cmd.CombinedOutput() // the exit code tells
	return string(out), cmd.ProcessState.ExitCode()
}

// A client's name is that of its file, unless a recipe has that name: redlock is one.
func TestTheStandardErrorOfAClientIsBesideItsHistory(t *testing.T) {
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Fatalf("NOT TESTED: the client of this test is in Python (make setup installs it): %v", err)
	}
	command := python + " " + file(t, "redlock.py", refuses)
	for _, testbed := range []string{"sim", "process"} {
		t.Run(testbed, func(t *testing.T) {
			t.Parallel()
			store := t.TempDir()
			out, code := asLockstorm(t, "run", "--client", command, "--testbed", testbed, "--nodes", "3", "--faults", "none", "--workloads", "mutex",
				"--trials", "1", "--named=false", "--duration", "1s", "--shrink", "0", "--keep", "--store", store)
			if code != campaign.ExitExpected && code != campaign.ExitUnknown {
				t.Fatalf("run: exit code %d\n%s", code, out)
			}
			folder := filepath.Join(store, campaign.Latest, "trials", "redlock.py", "none", "mutex-0")
			again := t.TempDir()
			if out, code := asLockstorm(t, "replay", folder); code != campaign.ExitUsage || !strings.Contains(out, "add --client '"+command+"'") {
				t.Errorf("replay without --client: exit code %d\n%s", code, out)
			}
			if out, code := asLockstorm(t, "replay", folder, "--client", command, "--out", again); code != campaign.ExitExpected {
				t.Errorf("replay: exit code %d\n%s", code, out)
			}
			for _, dir := range []string{folder, again} {
				text, err := os.ReadFile(filepath.Join(dir, "c1.stderr.txt"))
				if err != nil || string(text) != "c1 has 3 nodes\n" {
					t.Errorf("c1.stderr.txt has %q, %v", text, err)
				}
			}
		})
	}
}

// refusing is a client in Go, which virtual time cannot carry, of a lock that is always busy.
const refusing = `package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	fmt.Println("{\"ready\":true}")
	for in := json.NewDecoder(os.Stdin); ; {
		var q struct{ ID int }
		if in.Decode(&q) != nil {
			return
		}
		fmt.Printf("{\"id\":%d,\"error\":\"busy\"}\n", q.ID)
	}
}
`

func TestAStaticClientRunsInRealTimeAlone(t *testing.T) {
	source := file(t, "static.go", refusing)
	program := strings.TrimSuffix(source, ".go")
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	run := []string{"run", "--client", program, "--faults", "none", "--workloads", "mutex", "--trials", "1", "--duration", "1s", "--shrink", "0"}
	if out, code := asLockstorm(t, append(run, "--store", t.TempDir())...); code != campaign.ExitUsage || !strings.Contains(out, "use --testbed process") {
		t.Errorf("in virtual time: exit code %d\n%s", code, out)
	}
	if out, code := asLockstorm(t, append(run, "--testbed", "process", "--locks", "set-nx-px")...); code != campaign.ExitUsage || !strings.Contains(out, "expected static too") {
		t.Errorf("with --locks that leave it out: exit code %d\n%s", code, out)
	}
	if out, code := asLockstorm(t, append(run, "--store", t.TempDir(), "--testbed", "process")...); code != campaign.ExitUnknown || !strings.Contains(out, "1 trial in ") {
		t.Errorf("on a redis-server: exit code %d\n%s", code, out)
	}
}
