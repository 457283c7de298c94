package corpus_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign/corpus"
)

func TestARecordedLineThatCannotBeUsedIsNamedWithItsFile(t *testing.T) {
	const good = `{"folder":"a","lock":"setnx","fault":"none","workload":"mutex"}`
	for name, test := range map[string]struct{ text, says string }{
		"no folder":          {`{"lock":"setnx"}`, "list.jsonl:1: expected the folder of a stored trial"},
		"the same trial two": {good + "\n" + good, "list.jsonl:2: a is already in "},
		"more than a line":   {good + good, "list.jsonl:1: expected a stored trial as a line of JSON: there is more after it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("list.jsonl", []byte(test.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := corpus.ReadRecorded("list.jsonl"); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
	if _, err := corpus.ReadRecorded(filepath.Join(t.TempDir(), "none.jsonl")); err == nil {
		t.Error("a list that is not there was read")
	}
}
