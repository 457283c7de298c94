package locktest

import (
	"os"
	"path/filepath"
	"testing"
)

// A saved trial stays when another trial shows the same flaw.
func TestASavedTrialIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	v := &Violation{Fault: "delay", Flaws: []Flaw{{Oracle: "exclusion", Cause: "race"}}}
	for _, want := range []string{"delay-exclusion-race.json", "delay-exclusion-race-2.json", "delay-exclusion-race-3.json"} {
		path, err := save(dir, v, "TestScene")
		if err != nil || filepath.Base(path) != want {
			t.Errorf("saved as %s, %v; want %s", path, err, want)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 3 {
		t.Errorf("%d files, %v", len(files), err)
	}
}
