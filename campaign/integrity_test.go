package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/trial"
)

// Parts of a trial without violations: client 0 acquired the lock once, with one command.
const (
	released = `{"index":2,"time":3000000,"process":0,"client":0,"type":"invoke","f":"release","lock":"a"}
{"index":3,"time":4000000,"process":0,"client":0,"type":"ok","f":"release","lock":"a"}
`
	healed     = `{"index":4,"time":5000000,"process":"nemesis","client":-1,"type":"info","f":"healed"}` + "\n"
	postMortem = `{"index":5,"time":6000000,"process":"nemesis","client":-1,"type":"info","f":"keys","node":"n0"}` + "\n"
	wholeTrial = acquired + released + healed + postMortem
	boom       = `{"index":2,"time":3000000,"process":"nemesis","client":-1,"type":"info","f":"panic","error":"boom"}` + "\n"
	taken      = `{"index":0,"client":0,"node":"n0","op":0,"args":["SET","a","1"],"sent":2,"served":2,"exec":1,"reply":"OK"}` + "\n"
	changed    = `{"index":0,"node":"n0","key":"a","by":"command","exec":1,"from":2,"to":2,"after":{"type":"string","value":"1"}}` + "\n"
	promised   = `{"lock":"x","watched":true,"claims":{"lock":"x","quorum":1,"ttl":1000000000,"recovery":1000000000}}`
)

func TestWhatIsNotWholeIsNotSaidToHold(t *testing.T) {
	tests := []struct {
		name, history, commands, keys, want string
	}{
		{"whole", wholeTrial, taken, changed, ""},
		{"empty", "", "", changed, "nothing was acquired"},
		{"history cut in a line", wholeTrial + `{"ind`, taken, changed, "the history ends at 6ms: its last line is cut short"},
		{"commands cut in a line", wholeTrial, taken + `{"ind`, changed, "the commands end at 0s: the last line is cut short"},
		{"key changes cut in a line", wholeTrial, taken, changed + `{"ind`, "the key changes end at 0s: the last line is cut short"},
		{"history cut before it healed", acquired + released, taken, changed, "the history ends at 4ms, before everything was healed"},
		{"history cut before the post-mortem", acquired + released + healed, taken, changed, "without a post-mortem"},
		{"ended by the code under test", acquired + boom, taken, changed, ""},
		{"no commands", wholeTrial, "", changed, "there is no file of commands"},
		{"no key changes", wholeTrial, taken, "", "there is no file of key changes with the history"},
		{"commands cut between lines", wholeTrial, strings.ReplaceAll(taken, `"client":0`, `"client":1`), changed, "the commands end at 0s: there is none for the lock that client 0 acquired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{trial.HistoryFile: test.history, trial.CommandsFile: test.commands, trial.KeysFile: test.keys, trial.SpecFile: promised}
			if test.keys == "" {
				delete(files, trial.KeysFile)
			}
			r, err := trial.LoadRecord(write(t, files))
			if err != nil {
				t.Fatal(err)
			}
			if got := checker.Judged("", checker.Unknown, r.Missing()).Why; !strings.Contains(got, test.want) || got != "" && test.want == "" {
				t.Errorf("missing: %q, want %q", got, test.want)
			}
			result, err := trial.Judge(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if holds := has(result, checker.Held); holds != (test.want == "") || holds == (result.Outcome == trial.Unknown) {
				t.Errorf("outcome %s, verdicts %+v", result.Outcome, result.Verdicts)
			}
		})
	}
}

func TestFilesThatAreNotWhatWasJudgedAreTold(t *testing.T) {
	c := Campaign{Config: fakeConfig(t.TempDir(), trialtest.Sound), Testbed: &trialtest.Bed{}}
	c.Config.Keep = true
	inBubble(t, c, func(t *testing.T, s Stored, err error) {
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(s.Dir, s.Trials[0].Dir)
		differs := func() string {
			t.Helper()
			r, err := trial.LoadJudged(filepath.Join(folder, trial.HistoryFile))
			if err != nil {
				t.Fatal(err)
			}
			if r.Differs == nil {
				return ""
			}
			return r.Differs.Error()
		}
		if got := differs(); got != "" {
			t.Errorf("untouched: %s", got)
		}
		history := filepath.Join(folder, trial.HistoryFile)
		data, err := os.ReadFile(history)
		if err != nil {
			t.Fatal(err)
		}
		short := data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1]
		if err := os.WriteFile(history, short, 0o666); err != nil {
			t.Fatal(err)
		}
		if got := differs(); !strings.Contains(got, "the files differ from the judged ones") || !strings.Contains(got, " entries, ") {
			t.Errorf("history cut, verdict.json: %q", got)
		}
		if err := os.Remove(filepath.Join(folder, trial.VerdictFile)); err != nil {
			t.Fatal(err)
		}
		if got := differs(); !strings.Contains(got, "the files differ from the judged ones") {
			t.Errorf("history cut, trials.jsonl: %q", got)
		}
	})
}

// A stored trial whose files were changed after the run does not get the run's verdict.
func TestWhatNobodyVouchesForHasNoVerdict(t *testing.T) {
	remove := func(name string) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(name, before, after string) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil || !bytes.Contains(data, []byte(before)) {
				t.Fatal(err, "nothing to replace")
			}
			if err := os.WriteFile(filepath.Join(folder, name), bytes.Replace(data, []byte(before), []byte(after), 1), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name  string
		spoil func(t *testing.T, folder string)
		want  trial.Standing
	}{
		{"untouched", func(*testing.T, string) {}, trial.Vouched},
		{"a key change of another kind", replace(trial.KeysFile, `"by":"command"`, `"by":"stranger"`), trial.Changed},
		{"no key changes", remove(trial.KeysFile), trial.Changed},
		{"another reply", replace(trial.CommandsFile, `"reply":"OK"`, `"reply":"KO"`), trial.Changed},
		{"another operation", replace(trial.HistoryFile, `"f":"healed"`, `"f":"better"`), trial.Changed},
		{"another promise", replace(trial.SpecFile, `"recovery":1000000000`, `"recovery":0`), trial.Changed},
		{"no verdict", remove(trial.VerdictFile), trial.Unvouched},
		{"a line that is cut short", func(t *testing.T, folder string) {
			path := filepath.Join(folder, trial.KeysFile)
			if info, err := os.Stat(path); err != nil || os.Truncate(path, info.Size()-9) != nil {
				t.Fatal(err)
			}
		}, trial.Partial},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder, _ := storedTrial(t, false)
			test.spoil(t, folder)
			r, err := trial.LoadJudged(folder)
			if err != nil || r.Standing != test.want || (r.Differs == nil) != (test.want == trial.Vouched) {
				t.Fatalf("standing %s, %v, %v; want %s", r.Standing, r.Differs, err, test.want)
			}
			result, err := trial.Judge(t.Context(), r)
			if err != nil || has(result, checker.Held) != (test.want == trial.Vouched) || test.want == trial.Changed && has(result, checker.Violated) {
				t.Errorf("%v, %+v", err, result.Verdicts)
			}
		})
	}
}

func TestAStoreOfAnotherFormatIsRefused(t *testing.T) {
	for _, format := range []int{0, 1, trial.Format + 1} {
		folder, _ := storedTrial(t, false)
		spec := filepath.Join(folder, trial.SpecFile)
		editJSON(t, spec, func(v map[string]any) { v["format"] = format })
		_, err := trial.LoadJudged(folder)
		refused(t, err, fmt.Sprintf("%s: stored by another version of Lockstorm, in format %d: this one reads format 3 only", spec, format))

		dir := write(t, map[string]string{CampaignFile: fmt.Sprintf(`{"format":%d,"versions":{"lockstorm":"x"}}`, format), trial.ResultsFile: ""})
		_, err = Load(dir)
		refused(t, err, fmt.Sprintf("%s: stored by another version of Lockstorm, in format %d: this one reads format 3 only", filepath.Join(dir, CampaignFile), format))
		if _, err := LoadInfo(dir); err != nil {
			t.Errorf("what the campaign was asked for: %v", err)
		}
	}
	dir := write(t, map[string]string{CampaignFile: `{"format":2,"versions":{"lockstorm":"x"},"plan":"of another type"}`, trial.ResultsFile: ""})
	if _, err := Load(dir); !errors.Is(err, trial.ErrFormat) {
		t.Errorf("fields of another type: got %v", err)
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var wrong *input.Error
	if !errors.Is(err, trial.ErrFormat) || !errors.As(err, &wrong) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
