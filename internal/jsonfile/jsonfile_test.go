package jsonfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileThatIsCutShortIsToldWithWhatWasExpected(t *testing.T) {
	path := filepath.Join(t.TempDir(), "campaign.json")
	if err := os.WriteFile(path, []byte(`{"seed": 1`), 0o600); err != nil {
		t.Fatal(err)
	}
	var v map[string]int
	err := Read(path, &v)
	if want := "campaign.json: expected a whole JSON document: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
