package checker

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNobodyReadsSentences checks that no code outside tests searches a finding's sentences, such
// as Summary, for facts: the finding's account has the facts as data.
func TestNobodyReadsSentences(t *testing.T) {
	reads := regexp.MustCompile(`(?:strings\.(?:Cut|Split|Fields|Index|Contains|HasPrefix|HasSuffix|TrimPrefix|LastIndex|Replace)\w*|\.(?:MatchString|FindString|ReplaceAll)\w*)\([^\n]*\b(?:\.Summary|\.Broken|\.Why|rounded)\b`)
	documents := regexp.MustCompile(`\br\.Summary\b`) // the Summary of a recipe may be read
	for _, dir := range []string{".", "account", "../reports", "../campaign", "../trial", "../trial/shrink", "../trial/worker", "../internal/crash", "../cmd/lockstorm/cli"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", dir, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range reads.FindAllString(string(source), -1) {
				if !strings.HasSuffix(file, "_test.go") && !documents.MatchString(line) {
					t.Errorf("%s reads a sentence: %s", file, line)
				}
			}
		}
	}
}
