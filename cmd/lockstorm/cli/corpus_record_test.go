package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/campaign/corpus"
)

// A stored trial is recorded once, also under another name, and a refused call leaves the list as it is.
func TestAStoredTrialIsRecordedOnce(t *testing.T) {
	example, err := filepath.Abs("../../../docs/counterexamples/set-nx-ex-delay")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS("stored", os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("stored", "latest"); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := lockstorm(t, "corpus", "record", "stored"); code != campaign.ExitUsage || !strings.Contains(stderr, "expected to run in a clone") {
		t.Errorf("elsewhere: exit code %d: %s", code, stderr)
	}
	if err := os.MkdirAll(filepath.Dir(corpus.RecordedList), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(corpus.RecordedList, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := lockstorm(t, "corpus", "record", "latest"); code != 0 || !strings.Contains(stdout, "1 trial added to "+corpus.RecordedList) {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	before, err := os.ReadFile(corpus.RecordedList)
	if err != nil || !strings.Contains(string(before), `"folder":"../../stored"`) {
		t.Fatalf("the list is %q, %v", before, err)
	}
	if code, _, stderr := lockstorm(t, "corpus", "record", "stored"); code != campaign.ExitUsage || !strings.Contains(stderr, "stored is already in "+corpus.RecordedList+":1") {
		t.Errorf("once more: exit code %d: %s", code, stderr)
	}
	if after, err := os.ReadFile(corpus.RecordedList); err != nil || string(after) != string(before) {
		t.Errorf("the refused call changed the list: %q, %v", after, err)
	}
}
