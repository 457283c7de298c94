package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// write makes a directory with these files, given as name and content, and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const acquired = `{"index":0,"time":1,"process":0,"client":0,"type":"invoke","f":"acquire","lock":"a"}
{"index":1,"time":2,"process":0,"client":0,"type":"ok","f":"acquire","lock":"a"}
`

func TestACampaignThatWasKilledIsLoadedAsFarAsItCame(t *testing.T) {
	dir := write(t, map[string]string{
		CampaignFile:      `{"config":{"seed":3,"testbed":"fake"},"plan":[{"lock":"a","fault":"none"},{"lock":"b","fault":"none"}]}`,
		trial.ResultsFile: `{"spec":{"lock":"a","fault":"none"},"outcome":"holds"}` + "\n" + `{"spec":{"lock":"b","fau`,
	})
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s.Truncated == nil || !strings.Contains(s.Truncated.Error(), trial.ResultsFile+":2: the last line is cut short") {
		t.Errorf("truncated: %v", s.Truncated)
	}
	if c := s.Matrix.Cells; len(c) != 2 || c[0].Verdict != trial.Holds || c[1].Verdict != trial.Unknown || c[1].Why == "" {
		t.Errorf("cells are %+v", c)
	}
}

func TestErrorsOfLoadingNameFileAndLine(t *testing.T) {
	campaign := func(name, text string) func(t *testing.T) error {
		return func(t *testing.T) error {
			files := map[string]string{CampaignFile: `{}`, trial.ResultsFile: ``}
			files[name] = text
			_, err := Load(write(t, files))
			return err
		}
	}
	record := func(name, text string) func(t *testing.T) error {
		return func(t *testing.T) error {
			files := map[string]string{trial.HistoryFile: acquired}
			files[name] = text
			_, err := trial.LoadRecord(filepath.Join(write(t, files), trial.HistoryFile))
			return err
		}
	}
	tests := []struct {
		name string
		load func(t *testing.T) error
		want string
	}{
		{"no campaign", func(t *testing.T) error { _, err := Load(t.TempDir()); return err }, "expected the directory of a stored campaign"},
		{"broken campaign.json", campaign(CampaignFile, `{`), CampaignFile + ": expected a whole JSON document: unexpected end"},
		{"broken trials.jsonl", campaign(trial.ResultsFile, "{}\n{]\n{}\n"), trial.ResultsFile + ":2: expected one JSON object"},
		{"no history", func(t *testing.T) error { _, err := trial.LoadRecord(filepath.Join(t.TempDir(), "x")); return err }, "expected a history file"},
		{"broken history", record(trial.HistoryFile, acquired+"[]\n{}\n"), trial.HistoryFile + ":3: "},
		{"impossible history", record(trial.HistoryFile, acquired+`{"index":2,"time":3,"process":0,"client":0,"type":"ok","f":"acquire"}`+"\n"), trial.HistoryFile},
		{"broken commands", record(trial.CommandsFile, "1\n{}\n"), trial.CommandsFile + ":1: "},
		{"broken spec", record(trial.SpecFile, "]"), trial.SpecFile + ": "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.load(t)
			var wrong *input.Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, test.want)
			}
		})
	}
}

func TestARecordTakesWhatLiesBeside(t *testing.T) {
	dir := write(t, map[string]string{
		trial.HistoryFile:  acquired + `{"index":2,"ti`,
		trial.CommandsFile: `{"index":0,"args":["PING"]}` + "\n" + `{"ind`,
		trial.SpecFile:     `{"lock":"x","claims":{"lock":"x","quorum":3}}`,
	})
	r, err := trial.LoadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Evidence.Ops) != 2 || len(r.Evidence.Commands) != 1 || r.Evidence.Claims.Quorum != 3 || r.Spec == nil || r.Spec.Lock != "x" {
		t.Errorf("got %+v", r)
	}
	if len(r.Truncated) != 2 {
		t.Errorf("truncated: %v, want both files", r.Truncated)
	}
}

// A store is not a campaign. The error names the store's last campaign, which the user probably
// means.
func TestAStoreIsNoCampaign(t *testing.T) {
	store := t.TempDir()
	_, err := LoadInfo(store)
	if err == nil || strings.Contains(err.Error(), Latest) {
		t.Errorf("an empty store: %v", err)
	}
	last := filepath.Join(store, Latest)
	if err := os.Mkdir(last, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(last, CampaignFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = LoadInfo(store); err == nil || !strings.HasSuffix(err.Error(), "the last one of this store is "+last) {
		t.Errorf("a store with a campaign: %v", err)
	}
}
