package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// TestCheckSaysWhatVouchesForTheFiles: check says, on stderr and in JSON, whether the files are as
// the run judged them, were changed since, or lack their verdict.
func TestCheckSaysWhatVouchesForTheFiles(t *testing.T) {
	tests := []struct {
		name   string
		spoil  func(folder string) error
		want   trial.Standing
		code   int
		result checker.Result
		stderr string
	}{
		{"as it was judged", func(string) error { return nil }, trial.Vouched, 1, checker.Violated, ""},
		{"changed", func(folder string) error {
			path := filepath.Join(folder, trial.KeysFile)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, []byte(strings.Replace(string(data), `"by":"command"`, `"by":"stranger"`, 1)), 0o666)
		}, trial.Changed, 2, checker.Unknown, "the files differ from the judged ones"},
		{"without its verdict", func(folder string) error { return os.Remove(filepath.Join(folder, trial.VerdictFile)) },
			trial.Unvouched, 1, checker.Violated, "the files cannot be verified"},
	}
	stored, _ := simulated(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "trial") // a copy outside of its campaign
			if err := os.CopyFS(dir, os.DirFS(stored)); err != nil {
				t.Fatal(err)
			}
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			got, code, stderr := jsonOf[checked](t, "check", dir)
			if code != test.code || got.Standing != test.want || got.Result != test.result {
				t.Errorf("exit code %d, %s, %s; want %d, %s, %s", code, got.Standing, got.Result, test.code, test.want, test.result)
			}
			if !strings.Contains(stderr, test.stderr) || strings.Count(stderr, "\n") != min(1, len(test.stderr)) {
				t.Errorf("stderr %q, want one line with %q", stderr, test.stderr)
			}
		})
	}
}

// TestCheckSaysNothingOfTheDeclarationsOfALockThatItDoesNotKnow: no finding is called "not
// declared", because the declarations of an unknown lock are unknown.
func TestCheckSaysNothingOfTheDeclarationsOfALockThatItDoesNotKnow(t *testing.T) {
	path := file(t, "history.jsonl", both)
	spec := filepath.Join(filepath.Dir(path), trial.SpecFile)
	if err := os.WriteFile(spec, []byte(`{"lock":"nobodys","claims":{"lock":"nobodys","quorum":1}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", path}, {"check", path, "--model", "mutex"}} {
		if code, stdout, _ := lockstorm(t, args...); code != 1 || strings.Contains(stdout, "not declared") {
			t.Errorf("%v: exit code %d, stdout\n%s", args, code, stdout)
		}
	}
}
