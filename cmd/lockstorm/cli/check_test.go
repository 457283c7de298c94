package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/trial"
)

// entries returns a history. Each word stands for one entry: its process, type and f, as in
// "0 ok acquire". The entries are 10 ms apart.
func entries(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		var process int
		var kind, f string
		if _, err := fmt.Sscan(w, &process, &kind, &f); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, `{"index":%d,"time":%d,"process":%d,"client":%d,"type":%q,"f":%q,"lock":"a"}`+"\n", i, (i+1)*10_000_000, process, process, kind, f)
	}
	return b.String()
}

var (
	inTurn = entries("0 invoke acquire", "0 ok acquire", "0 invoke release", "0 ok release", "1 invoke acquire", "1 ok acquire", "1 invoke release", "1 ok release")
	both   = entries("0 invoke acquire", "0 ok acquire", "1 invoke acquire", "1 ok acquire", "1 invoke release", "1 ok release", "0 invoke release", "0 ok release")
)

// bare removes indices, times and clients from a history.
func bare(lines string) string {
	return regexp.MustCompile(`"(index|time|client)":\d+,`).ReplaceAllString(lines, "")
}

func TestCheckTellsByItsExitCode(t *testing.T) {
	tests := []struct {
		name, history string
		args          []string
		code          int
		stdout        string
		stderr        string
	}{
		{"in turn", inTurn, []string{"--model", "mutex"}, 0, "exclusion", ""},
		{"two holders", both, []string{"--model", "mutex"}, 1, "violated", ""},
		{"a last line that was cut short", inTurn + `{"index":8,"ti`, []string{"--model", "mutex"}, 2, "the history ends at 80ms: its last line is cut short", ":9: the last line is cut short"},
		{"an empty history", "", []string{"--model", "mutex"}, 2, "nothing was acquired", ""},
		{"a history without a grant", entries("0 invoke acquire", "0 fail acquire"), []string{"--model", "mutex"}, 2, "nothing was acquired", ""},
		{"a malformed line", inTurn + "[]\n" + inTurn, []string{"--model", "mutex"}, 254, "", "history.jsonl:9: "},
		{"an impossible history", inTurn + `{"index":8,"time":90000000,"process":0,"client":0,"type":"ok","f":"acquire"}` + "\n", []string{"--model", "mutex"}, 254, "", "history.jsonl"},
		{"no claims", inTurn, nil, 254, "", "expected --model mutex, owner-aware-mutex, "},
		{"no fences", inTurn, []string{"--model", "fenced-mutex"}, 254, "", "no grant in this history has a fence"},
		{"no fences, reentrant", inTurn, []string{"--model", "reentrant-fenced-mutex"}, 254, "", "no grant in this history has a fence"},
		{"deadlines without times", strings.Replace(bare(inTurn), `"type":"ok","f":"acquire"`, `"type":"ok","f":"acquire","lease":{"token":"a","deadline":2500000}`, 1), []string{"--model", "mutex"}, 254, "", "entry 1 has a deadline or an offset"},
		{"nothing but what happened, in turn", bare(inTurn), []string{"--model", "mutex"}, 0, "waiting times are unknown", "no time"},
		{"nothing but what happened, two holders", bare(both), []string{"--model", "mutex"}, 1, "violated", "no time"},
		{"an unknown model", inTurn, []string{"--model", "rw"}, 254, "", `--model "rw": expected one of mutex`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := file(t, "history.jsonl", test.history)
			code, stdout, stderr := lockstorm(t, append([]string{"check", path}, test.args...)...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit code %d, want %d; stdout\n%s\nstderr\n%s", code, test.code, stdout, stderr)
			}
			if test.code == 254 && (stdout != "" || strings.Count(stderr, "\n") != 1) {
				t.Errorf("stdout %q, stderr %q; want one line on stderr", stdout, stderr)
			}
		})
	}
}

func TestCheckTakesTheClaimsBesideTheHistory(t *testing.T) {
	path := file(t, "history.jsonl", both)
	spec := filepath.Join(filepath.Dir(path), trial.SpecFile)
	if err := os.WriteFile(spec, []byte(`{"lock":"x","claims":{"lock":"x","quorum":1}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{path, filepath.Dir(path)} {
		got, code, stderr := jsonOf[checked](t, "check", arg)
		if code != 1 || len(got.Verdicts) == 0 || got.Result != checker.Violated || stderr != "" {
			t.Errorf("check %s: exit code %d, stderr %q, got %+v", arg, code, stderr, got)
		}
		if len(got.Conflict) != 6 || got.Conflict[0].Index != 0 { // both entries of each acquire, and the invocation of each release
			t.Errorf("check %s: got the conflict %+v", arg, got.Conflict)
		}
	}
}
