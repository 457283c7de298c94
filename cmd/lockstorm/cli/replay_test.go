package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

// simulated runs a small campaign with one cell, which is violated. It returns the cell, and the
// folder of the trial that shows the violation, with the logs unpacked.
func simulated(t *testing.T, flags ...string) (dir string, cell campaign.Cell) {
	t.Helper()
	store := t.TempDir()
	args := []string{"run", "--locks", "exists-set", "--faults", "client-pause", "--workloads", "mutex", "--trials", "1", "--store", store}
	m, code, stderr := jsonOf[campaign.Matrix](t, append(args, flags...)...)
	if code != campaign.ExitExpected || len(m.Cells) != 1 {
		t.Fatalf("exit code %d; stderr\n%s", code, stderr)
	}
	cell = m.Cells[0]
	if cell.Verdict != trial.Violated {
		t.Fatalf("exists-set under client-pause: %+v", cell)
	}
	number := flagValue(strings.Fields(cell.Replay), "--schedule")
	if number == "" {
		number = flagValue(strings.Fields(cell.Replay), "--trial")
	}
	dir = filepath.Join(store, campaign.Latest, "trials", "exists-set", "client-pause", "mutex-"+number)
	for _, name := range []string{trial.HistoryFile, trial.CommandsFile, trial.KeysFile, trial.VerdictFile} {
		unpack(t, filepath.Join(dir, name))
	}
	return dir, cell
}

// unpack replaces a compressed file with an uncompressed one.
func unpack(t *testing.T, path string) {
	t.Helper()
	f, err := packed.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err == nil && f.Name != path {
		err = errors.Join(os.WriteFile(path, data, 0o666), os.Remove(f.Name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flagValue returns the argument after a flag on a command line; "" if the flag is missing.
func flagValue(command []string, flag string) string {
	if i := slices.Index(command, flag); i >= 0 && i+1 < len(command) {
		return command[i+1]
	}
	return ""
}

// drawn excludes named schedules, so that all trials are drawn from the seed.
const drawn = "--named=false"

func TestReplayGivesTheStoredHistoryAgain(t *testing.T) {
	dir, cell := simulated(t, drawn)
	command := strings.Fields(strings.ReplaceAll(cell.Replay, "'", ""))[1:]
	// A run prints the trial's command without the hash, which comes from the stored files.
	printed := command[:max(0, slices.Index(command, "--hash"))]
	stored, err := readStored(dir)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.Index(command, "--workload")
	withoutWorkload := slices.Delete(slices.Clone(command), i, i+2)
	tests := []struct {
		name  string
		args  []string
		code  int
		want  string
		wrong string // expected on stderr
	}{
		{"a folder", []string{"replay", dir}, 0, "same history as stored", ""},
		{"the command of the report", command, 0, "same history as expected", ""},
		{"by its hash", append(slices.Clone(printed), "--hash", stored.hash), 0, "same history as expected", ""},
		{"by the first digits", append(slices.Clone(printed), "--hash", strings.ToUpper(stored.hash[:12])), 0, "same history as expected", ""},
		{"without a hash", printed, 0, "no history to compare with", ""},
		{"without a workload", withoutWorkload, 0, "same history as expected", ""},
		{"the seeds of a folder", []string{"replay", dir}, 0, fmt.Sprintf("trial 0, trial seed %d,", stored.spec.Seed), ""},
		{"the seeds of a command", printed, 0, fmt.Sprintf(" (trial seed %d),", stored.spec.Seed), ""},
		{"another seed", append(slices.Clone(printed), "--seed", "77", "--hash", stored.hash), 255, "DIFFERENT history: expected was ", "the history differs: expected hash " + stored.hash},
		{"every command", []string{"replay", dir, "--verbose"}, 0, "c0 → n0  EXISTS", ""},
		{"what the fault did", []string{"replay", dir, "--verbose"}, 0, "nemesis  client-pause c", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := lockstorm(t, test.args...)
			if code != test.code || !strings.Contains(stdout, test.want) || !strings.Contains(stderr, test.wrong) || test.wrong == "" && stderr != "" {
				t.Errorf("%q: exit code %d, want %d and %q; stdout\n%s\nstderr\n%s", test.args, code, test.code, test.want, stdout, stderr)
			}
		})
	}
}

func TestReplayOfANamedScheduleIsTheSameWhateverTheSeed(t *testing.T) {
	dir, cell := simulated(t)
	command := strings.Fields(cell.Replay)[1:]
	schedule := flagValue(command, "--schedule")
	if schedule == "" {
		t.Fatalf("%s: no schedule, although named trials come first", cell.Replay)
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a folder", []string{"replay", dir}, 0, "same history as stored"},
		{"the command of the report", command, 0, "same history as expected"},
		{"another seed", append(slices.Clone(command), "--seed", "77"), 0, "same history as expected"},
		{"its name", []string{"replay", dir}, 0, "schedule " + schedule + ", trial seed "},
		{"a trial beside it", append(slices.Clone(command), "--trial", "0"), campaign.ExitUsage, "--trial 0: --schedule " + schedule},
		{"one that is not there", []string{"replay", "--lock", "exists-set", "--fault", "client-pause", "--schedule", schedule + "x"}, campaign.ExitUsage, "did you mean " + schedule},
		{"of a fault that has none", []string{"replay", "--lock", "exists-set", "--fault", "none", "--schedule", schedule}, campaign.ExitUsage, "has no named schedules"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := lockstorm(t, test.args...)
			if code != test.code || !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("%q: exit code %d, want %d and %q; stdout\n%s\nstderr\n%s", test.args, code, test.code, test.want, stdout, stderr)
			}
		})
	}
}

func TestReplaySaysWhenTheStoredFilesAreNotWhatWasJudged(t *testing.T) {
	dir, _ := simulated(t)
	path := filepath.Join(dir, trial.HistoryFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, text := range map[string]string{
		"whole lines are missing": strings.Join(lines[:20], ""),
		"cut within a line":       string(whole[:len(whole)/2]),
		"empty":                   "",
		"malformed":               "[]\n" + string(whole),
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := lockstorm(t, "replay", dir)
		if code != campaign.ExitUnknown || !strings.Contains(stdout, "same history as the run judged, but the stored files differ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, dir) {
			t.Errorf("%s: exit code %d; stdout\n%s\nstderr\n%s", name, code, stdout, stderr)
		}
	}
	if r, code, _ := jsonOf[replayed](t, "replay", dir); code != campaign.ExitUnknown || !r.Same || r.Differs == "" {
		t.Errorf("exit code %d, got %+v", code, r)
	}
}

func TestReplayTakesAWorkloadThatSuits(t *testing.T) {
	for lock, want := range map[string]string{"rw-hash": "read-write", "set-nx-px": "mutex"} {
		r, code, stderr := jsonOf[replayed](t, "replay", "--lock", lock)
		if code != 0 || r.Spec.Workload != want {
			t.Errorf("%s: exit code %d, workload %q, want %q; stderr %s", lock, code, r.Spec.Workload, want, stderr)
		}
	}
}

func TestReplayTellsAndStoresWhatHappened(t *testing.T) {
	dir, _ := simulated(t, "--thorough")
	out := filepath.Join(t.TempDir(), "again")
	r, code, stderr := jsonOf[replayed](t, "replay", dir, "--out", out)
	if code != 0 || !r.Same || r.Hash != r.Expected || r.Outcome != trial.Violated || len(r.Verdicts) == 0 || r.Spec.Lock != "exists-set" {
		t.Fatalf("exit code %d, got %+v; stderr\n%s", code, r, stderr)
	}
	for _, name := range []string{trial.SpecFile, trial.HistoryFile, trial.CommandsFile, trial.VerdictFile, reports.CounterexampleFile} {
		again, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Error(err)
		}
		first, err := packed.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		if name == trial.SpecFile { // one line, or indented and compressed
			var line bytes.Buffer
			if err := json.Compact(&line, first); err != nil {
				t.Error(err)
			}
			first = append(line.Bytes(), '\n')
		}
		if string(again) != string(first) && name != reports.CounterexampleFile { // the counterexample names its own folder
			t.Errorf("%s differs", name)
		}
	}
	if _, err := os.Stat(filepath.Join(out, reports.TimelineFile)); err != nil { // replay draws it although a campaign draws no timeline of a declared flaw
		t.Error(err)
	}
	code, stdout, stderr := lockstorm(t, "replay", dir)
	for _, part := range []string{"violated: bug (exclusion by race", "both did until", "Which assumption broke:", "What would have prevented it:", "(tried: the violation is gone)"} {
		if code != 0 || !strings.Contains(stdout, part) {
			t.Errorf("exit code %d, stderr %q; %q is missing:\n%s", code, stderr, part, stdout)
		}
	}
}

func TestReplayWithARemedySaysFirstWhetherTheViolationIsGone(t *testing.T) {
	for _, test := range []struct{ remedies, want string }{
		{"atomic-take", "with atomic-take: the violation is gone; it acted "},
		{"fenced-resource", "with fenced-resource: only the violation of resource is gone, that of exclusion and ownership is left; "},
		{"unique-token", "with unique-token: here it had nothing to do; "},
		{"owner-checked-release,unique-token", "with owner-checked-release and unique-token: in vain: the violation of exclusion, ownership and resource is left; "},
	} {
		code, stdout, stderr := lockstorm(t, "replay", "--lock", "exists-set", "--fault", "client-pause", "--remedy", test.remedies)
		if code != 0 || !strings.HasPrefix(stdout, test.want) {
			t.Errorf("%s: exit code %d, stderr %q; got\n%s\nwant it to begin with\n%s", test.remedies, code, stderr, stdout, test.want)
		}
	}
}
