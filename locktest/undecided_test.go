package locktest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A trial whose fault hits nothing decides nothing. If it is a saved trial, the output names it and
// the test goes on. If -lockstorm.replay names it, the test fails.
func TestASavedTrialThatDecidesNothing(t *testing.T) {
	dir := t.TempDir()
	play(t, "bareDelete", dir)
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockstorm", "TestScene", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved are %v, %v", files, err)
	}
	strikeNowhere(t, files[0])
	saved, err := filepath.Rel(dir, files[0])
	if err != nil {
		t.Fatal(err)
	}
	p := play(t, "fenced", dir)
	if !p.passed {
		t.Errorf("the lock without the mistake fails:\n%s", p.out)
	}
	p.says(t, "the saved trial "+saved+" shows nothing any more (not-exercised)", "limits of any lease", "!the other trials under client-pause were not run")
	if p = play(t, "bareDelete", dir, "-lockstorm.replay="+saved); p.passed {
		t.Errorf("the replayed trial passes:\n%s", p.out)
	}
	p.says(t, "the trial "+saved+" shows nothing: its outcome is not-exercised", "!exclusion by")
}

// saveAs changes the workload of the saved trials in a directory.
func saveAs(t *testing.T, dir, workload string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockstorm", "TestScene", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("saved are %v, %v", files, err)
	}
	for _, path := range files {
		change(t, path, func(spec map[string]any) { spec["workload"] = workload })
	}
}

// strikeNowhere changes a saved trial: its faults now wait for a command that no client sends.
func strikeNowhere(t *testing.T, path string) {
	t.Helper()
	change(t, path, func(spec map[string]any) {
		for _, action := range spec["plan"].([]any) {
			action.(map[string]any)["point"].(map[string]any)["n"] = 1000
		}
	})
}

// change changes the spec of a saved trial.
func change(t *testing.T, path string, edit func(spec map[string]any)) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	edit(file["spec"].(map[string]any))
	if b, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A saved trial's story is told under the trial's own fault. If that fault does not run, another
// fault with the same flaw tells its own story.
func TestASavedTrialOfAFaultThatDoesNotRun(t *testing.T) {
	dir := t.TempDir()
	play(t, "bareDelete", dir, "-test.run=^TestScene$/^client-pause$")
	const story = "What would have prevented it"
	play(t, "bareDelete", dir, "-test.run=^TestScene$/^delay$").says(t, story, "--- FAIL: TestScene/delay", "!the same as")
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "lockstorm", "TestScene", "client-pause-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("saved are %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.Replace(files[0], ".json", "-2.json", 1), text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := play(t, "bareDelete", dir, "-test.run=^TestScene$/^client-pause$")
	p.says(t, "the same as under client-pause, in ", "breaks what it promises under 1 of 1 fault: ")
	play(t, "fenced", dir, "-test.run=^TestScene$/^none$").says(t, "--- PASS: TestScene")
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = play(t, "bareDelete", dir)
	if n := strings.Count(p.out, filepath.Base(files[0])+":"); p.passed || n != 1 {
		t.Errorf("a file that cannot be read is told %d times in\n%s", n, p.out)
	}
}
