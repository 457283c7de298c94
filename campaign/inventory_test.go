package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/trial"
)

func TestAStoreKeepsTheLastCampaignsOfEachName(t *testing.T) {
	root := t.TempDir()
	var dirs []string
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"a", "b", "a", "a"} {
			time.Sleep(time.Minute)
			c := fakeConfig(root, trialtest.Sound)
			c.Name = name
			s := complete(t, Campaign{Config: c, Testbed: &trialtest.Bed{}})
			dirs = append(dirs, s.Dir)
		}
	})
	names := func(all []Holding) (list []string) {
		for _, h := range all {
			list = append(list, h.Dir)
		}
		return list
	}
	inventory := func() []Holding {
		t.Helper()
		all, err := Inventory(root)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := inventory()
	if want := []string{dirs[3], dirs[2], dirs[1], dirs[0]}; !slices.Equal(names(all), want) {
		t.Fatalf("got %v, want %v", names(all), want)
	}
	for _, h := range all {
		s, err := Load(h.Dir)
		if err != nil || h.Trials != len(s.Trials) || h.Trials == 0 || h.Bytes == 0 || h.Outcome != string(s.Matrix.Cells[0].Verdict) {
			t.Errorf("%+v, %v", h, err)
		}
	}
	if got, want := names(Surplus(all, 1)), []string{dirs[2], dirs[0]}; !slices.Equal(got, want) {
		t.Errorf("beyond one of each: %v, want %v", got, want)
	}
	// Remove the newest campaign by its name "latest". Then latest points to the next one.
	latest := filepath.Join(root, Latest)
	if err := Remove(latest); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(latest); err != nil || filepath.Join(root, target) != dirs[2] {
		t.Errorf("latest points to %s, %v; want %s", target, err, dirs[2])
	}
	for _, dir := range []string{dirs[0], dirs[1], dirs[2]} {
		if err := Remove(dir); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

func TestWhatIsNoCampaignOrIsRunningIsNotRemoved(t *testing.T) {
	root := t.TempDir()
	st, err := createStore(root, "a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var bad *input.Error
	if err := Remove(st.dir); !errors.As(err, &bad) {
		t.Errorf("without %s: %v", CampaignFile, err)
	}
	if err := os.WriteFile(filepath.Join(st.dir, CampaignFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := st.add(trial.Result{Outcome: trial.Holds}); err != nil {
		t.Fatal(err)
	}
	if err := Remove(st.dir); !errors.As(err, &bad) {
		t.Errorf("a running one: %v", err)
	}
	state := func(want string) {
		t.Helper()
		all, err := Inventory(root)
		if err != nil || len(all) != 1 || all[0].Outcome != want || all[0].Trials != 1 {
			t.Errorf("got %+v, %v, want %s with one trial", all, err, want)
		}
	}
	state(Running)
	if got := Surplus([]Holding{{Outcome: Running}}, 0); got != nil {
		t.Errorf("%v is surplus", got)
	}
	if err := st.trials.Close(); err != nil { // a kill also leaves the list without an end mark
		t.Fatal(err)
	}
	state(Killed)
	if s, err := Load(st.dir); err != nil || len(s.Trials) != 1 || s.Truncated == nil {
		t.Errorf("a killed one: %d trials, %v, %v; want one, and that the list has no end", len(s.Trials), s.Truncated, err)
	}
	if _, err := os.Stat(filepath.Join(st.dir, trial.ResultsFile) + packed.Suffix); err != nil {
		t.Error(err)
	}
	if err := Remove(st.dir); err != nil {
		t.Error(err)
	}
}
