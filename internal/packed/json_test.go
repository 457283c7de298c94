package packed

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
	err := ReadJSON(path, &v)
	if want := "campaign.json: expected a whole JSON document: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestACompressedFileTakesThePlaceOfAPlainOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "verdict.json")
	for _, write := range []func(string, any) error{WriteJSON, WriteJSONLine, WriteJSONPacked} {
		if err := write(path, map[string]int{"hits": 3}); err != nil {
			t.Fatal(err)
		}
		var v map[string]int
		if err := ReadJSON(path, &v); err != nil || v["hits"] != 3 {
			t.Errorf("%s: got %v, %v", Find(path), v, err)
		}
	}
	small := path + Suffix
	if Find(path) != small {
		t.Errorf("the plain file is still there")
	}
	info, err := os.Stat(small)
	if err != nil || os.Truncate(small, info.Size()-1) != nil {
		t.Fatal(err)
	}
	var v map[string]int
	if err, want := ReadJSON(path, &v), "verdict.json.zst: expected a whole JSON document: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("cut short: got %v, want %q", err, want)
	}
}
