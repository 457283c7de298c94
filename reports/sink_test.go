package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// storedCampaign writes the files that a campaign stores before it calls its sink.
func storedCampaign(t *testing.T) (dir string, trials []sampleTrial) {
	t.Helper()
	dir = t.TempDir()
	trials = sampleTrials(t)
	info := campaign.Info{Command: "lockstorm run"}
	for _, s := range trials {
		info.Plan = append(info.Plan, campaign.PlannedCell{Lock: s.Trial.Spec.Lock, Fault: s.Trial.Spec.Fault})
		storeTrial(t, dir, s)
	}
	writeLines(t, filepath.Join(dir, campaign.CampaignFile), []campaign.Info{info})
	return dir, trials
}

func storeTrial(t testing.TB, dir string, s sampleTrial) {
	t.Helper()
	folder := filepath.Join(dir, s.Trial.Dir)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	spec := struct {
		trial.Spec
		Format int `json:"format"`
		Claims any `json:"claims"`
	}{s.Trial.Spec, trial.Format, s.Claims}
	writeLines(t, filepath.Join(folder, trial.HistoryFile), s.Ops)
	writeLines(t, filepath.Join(folder, trial.CommandsFile), s.Commands)
	writeLines(t, filepath.Join(folder, trial.SpecFile), []any{spec})
	writeLines(t, filepath.Join(dir, trial.ResultsFile), []trial.Result{s.Trial})
}

// writeLines appends values to a file, each as a line of JSON.
func writeLines[T any](t testing.TB, path string, values []T) {
	t.Helper()
	var b bytes.Buffer
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// rendered lists the folders of trials that contain the named file.
func rendered(dir string, trials []sampleTrial, name string) []string {
	var names []string
	for _, s := range trials {
		if exists(filepath.Join(dir, s.Trial.Dir), name) {
			names = append(names, s.Trial.Dir)
		}
	}
	return names
}

// TestTrialsThatThePagesShowAreRendered: only undeclared flaws get a timeline. The reports link to
// existing files only.
func TestTrialsThatThePagesShowAreRendered(t *testing.T) {
	dir, trials := storedCampaign(t)
	// A second trial of a cell; the pages do not show it.
	other := trials[0]
	other.Trial.Spec.Trial, other.Trial.Dir = 1, other.Trial.Dir+"1"
	storeTrial(t, dir, other)
	trials = append(trials, other)
	stored, err := campaign.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	undeclared := 0
	for _, s := range trials[:len(trials)-1] {
		if len(undeclaredFlaws(s.Trial.Flaws)) > 0 {
			undeclared++
		}
	}
	if undeclared == 0 || undeclared == len(trials)-1 {
		t.Fatalf("%d of the %d trials show what is not declared: these trials cannot tell", undeclared, len(trials)-1)
	}
	linked := regexp.MustCompile(`(?:href="|\]\()([^"):#]+\.(?:html|svg|md))`)
	if err := stored.Report(t.Context(), New); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{CounterexampleFile: len(trials) - 1, TimelineFile: undeclared, PorcupineFile: 0} {
		if got := rendered(dir, trials, name); len(got) != want {
			t.Errorf("%d trials have %s, want %d: %q", len(got), name, want, got)
		}
	}
	pages := []string{filepath.Join(dir, HTMLFile)}
	for _, s := range trials[:len(trials)-1] {
		pages = append(pages, filepath.Join(dir, s.Trial.Dir, CounterexampleFile))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range linked.FindAllSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(link[1]))); err != nil {
				t.Errorf("%s links to a file that is missing: %v", page, err)
			}
		}
	}
}

func TestTrialsWithoutViolationGetNoFiles(t *testing.T) {
	quiet := sampleTrials(t)[0]
	quiet.Trial.Outcome, quiet.Trial.Flaws = trial.Holds, nil
	dir := t.TempDir()
	if err := Trial(dir, quiet.Trial, quiet.Evidence); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("a trial without a violation got %v", files)
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
		if second[path] != text {
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
