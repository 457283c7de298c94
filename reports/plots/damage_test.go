package plots

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/trial"
)

// trialProgress is the progress of a trial that lasted 36 s and lost 2 of 40 updates.
var trialProgress = progress.Measures{Updates: 40, LostUpdates: 2, Lasted: 36 * time.Second}

func TestDamageIsLostUpdatesPerHour(t *testing.T) {
	updating := func(p progress.Measures, hits int) trial.Result {
		u := sweptTrials("plain", 0, 1)[0]
		u.Progress, u.Hits = &p, hits
		return u
	}
	sound := trialProgress
	sound.LostUpdates = 0
	older := progress.Measures{Waits: 3}
	elsewhere := updating(trialProgress, 1)
	elsewhere.Spec.Workload = "lottery-unmarked"
	idle := updating(trialProgress, 0)
	r := campaignOf([]trial.Result{updating(trialProgress, 1), updating(sound, 1), updating(older, 1), elsewhere, idle})
	want := [][]string{
		{"plain", "mutex", "client-pause", "2", "72.000", "80", "2", "100.0"},
	}
	if got := tableOf(t, r, "damage"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
	if _, ok := plotOf(campaignOf([]trial.Result{updating(older, 1)}), "damage"); ok {
		t.Error("damage is drawn without updates")
	}
}

func TestRatesAreShort(t *testing.T) {
	for rate, want := range map[float64]string{0: "0", 0.04: "<0.1", 0.3: "0.3", 9.96: "10", 12.4: "12", 99.7: "100", 786: "790", 9994: "9990", 9996: "10k", 123456: "123k", 999499: "999k", 999500: "1M", 7.2e6: "7M"} {
		if got := short(rate); got != want {
			t.Errorf("%v: got %q, want %q", rate, got, want)
		}
	}
}
