package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

// storedCampaign writes what a campaign stores before its sink sees it.
func storedCampaign(t *testing.T) (dir string, trials []sampleTrial) {
	t.Helper()
	dir = t.TempDir()
	trials = sampleTrials()
	info := campaign.Info{Command: "lockstorm run"}
	var lines bytes.Buffer
	for _, s := range trials {
		info.Plan = append(info.Plan, campaign.PlannedCell{Lock: s.Trial.Spec.Lock, Fault: s.Trial.Spec.Fault})
		line, err := json.Marshal(s.Trial)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
		folder := filepath.Join(dir, s.Trial.Dir)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		writeLines(t, filepath.Join(folder, campaign.HistoryFile), s.Ops)
		writeLines(t, filepath.Join(folder, campaign.CommandsFile), s.Commands)
		spec := struct {
			campaign.Spec
			Claims any `json:"claims"`
		}{s.Trial.Spec, s.Claims}
		writeLines(t, filepath.Join(folder, campaign.SpecFile), []any{spec})
	}
	writeLines(t, filepath.Join(dir, campaign.CampaignFile), []campaign.Info{info})
	if err := os.WriteFile(filepath.Join(dir, campaign.TrialsFile), lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir, trials
}

func writeLines[T any](t *testing.T, path string, values []T) {
	t.Helper()
	var b bytes.Buffer
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestTrialFilesAreWrittenAtOnce(t *testing.T) {
	dir, trials := storedCampaign(t)
	sink, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range trials {
		if err := sink.Trial(t.Context(), s.Trial, s.Evidence); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{TimelineFile, CounterexampleFile, PorcupineFile} {
			if _, err := os.Stat(filepath.Join(dir, s.Trial.Dir, name)); err != nil {
				t.Errorf("after Trial: %v", err)
			}
		}
	}
}

func TestTrialsWithoutViolationGetNoFiles(t *testing.T) {
	dir, trials := storedCampaign(t)
	sink, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	quiet := trials[0]
	quiet.Trial.Outcome, quiet.Trial.Flaws = campaign.Holds, nil
	if err := sink.Trial(t.Context(), quiet.Trial, quiet.Evidence); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, quiet.Trial.Dir, TimelineFile)); err == nil {
		t.Error("a trial without a violation got a timeline")
	}
}

func TestRenderingAgainGivesTheSameBytes(t *testing.T) {
	dir, _ := storedCampaign(t)
	read := func() map[string]string {
		stored, err := campaign.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := stored.Report(t.Context(), New); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for _, pattern := range []string{"*", "plots/*", "trials/*/*/*/*"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				if data, err := os.ReadFile(p); err == nil {
					files[p] = string(data)
				}
			}
		}
		return files
	}
	first, second := read(), read()
	for _, name := range []string{HTMLFile, MarkdownFile, JUnitFile, "plots/acquire.svg", "plots/verdicts.svg", "plots/violations.svg"} {
		if first[filepath.Join(dir, name)] == "" {
			t.Errorf("no %s", name)
		}
	}
	for path, text := range first {
		// The library behind porcupine.html writes partial linearizations in the
		// order of a map.
		if second[path] != text && filepath.Base(path) != PorcupineFile {
			t.Errorf("%s differs the second time", path)
		}
		if strings.HasSuffix(path, ".new") {
			t.Errorf("%s was left behind", path)
		}
	}
	if len(first) != len(second) {
		t.Errorf("got %d files, then %d", len(first), len(second))
	}
}

func TestNewRefusesWhatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(t.TempDir(), "missing")} {
		if _, err := New(path); err == nil {
			t.Errorf("New(%s) gave no error", path)
		}
	}
}

func TestEveryCauseIsExplained(t *testing.T) {
	for _, c := range causes() {
		if !slices.ContainsFunc(causeTexts, func(x causeText) bool { return x.Cause == c }) {
			t.Errorf("no text for cause %q", c)
		}
	}
}
