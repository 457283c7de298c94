package campaign

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim"
)

// A campaign on the simulation is confirmed by the simulation: what it showed
// shows again, and nothing else is run.
func TestConfirmRunsWhatShowedFlaws(t *testing.T) {
	dir := t.TempDir()
	c := DefaultConfig()
	c.Testbed, c.Store, c.Name = "sim", dir, "first"
	c.Locks, c.Faults, c.Trials, c.Named = []string{"set-nx-px"}, []string{"none", "client-pause", "split-brain"}, 2, true
	first := mustRun(t, c)

	c.Name, c.Confirm, c.Named, c.Trials = "second", first.Dir, false, 1
	c.Locks, c.Faults = []string{"set-nx-px", "set-nx-ex"}, []string{"all"}
	second := mustRun(t, c)
	if len(second.Matrix.Cells) != len(first.Matrix.Cells) || len(second.Info.Sought) == 0 {
		t.Fatalf("got %d cells and %d flaws to look for, want %d cells", len(second.Matrix.Cells), len(second.Info.Sought), len(first.Matrix.Cells))
	}
	if second.Matrix.Missed != nil || second.Matrix.Unexpected != nil || second.Matrix.Interrupted {
		t.Errorf("missed %v, unexpected %v, interrupted %v", second.Matrix.Missed, second.Matrix.Unexpected, second.Matrix.Interrupted)
	}
	for _, trial := range second.Trials {
		same := func(o Trial) bool { return o.Hash == trial.Hash && folderName(o.Spec) == folderName(trial.Spec) }
		if !trial.Probe && !slices.ContainsFunc(first.Trials, same) {
			t.Errorf("%s is none of the first campaign's", folderName(trial.Spec))
		}
	}
	if len(second.Trials) >= len(first.Trials) {
		t.Errorf("got %d trials of %d, want fewer", len(second.Trials), len(first.Trials))
	}

	// What is sought and does not show is missed.
	second.Info.Sought = append(second.Info.Sought, Sought{"set-nx-px", "client-pause", "ownership", "foreign-delete"})
	missed := fold(second.Info, second.Dir, second.Trials).Missed
	if len(missed) != 1 || missed[0].Cause != "foreign-delete" {
		t.Errorf("got %v, want the flaw that nobody showed", missed)
	}
	n, of := second.Confirmed()
	if want := len(second.Info.Sought); n != want-1 || of != want {
		t.Errorf("confirmed %d of %d, want %d of %d", n, of, want-1, want)
	}

	// Where trials do not do the same again, it is enough that it shows under one
	// of its faults.
	second.Info.Deterministic = false
	second.Info.Sought = append(second.Info.Sought, Sought{"set-nx-px", "none", "exclusion", "lease-outlived"})
	if missed := fold(second.Info, second.Dir, second.Trials).Missed; len(missed) != 1 || missed[0].Cause != "foreign-delete" {
		t.Errorf("on real time: got %v, want the flaw that nobody showed", missed)
	}
}

func TestConfirmRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"no campaign":         {func(c *Config) { c.Confirm = t.TempDir() }, "expected the directory of a stored campaign"},
		"named schedules too": {func(c *Config) { c.Confirm, c.Named = "x", true }, "expected no --named"},
	} {
		t.Run(name, func(t *testing.T) {
			config := DefaultConfig()
			config.Testbed, config.Store = "sim", t.TempDir()
			c.set(&config)
			_, err := Campaign{Config: config, Testbed: sim.New()}.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
}

// mustRun runs a campaign in this process.
func mustRun(t *testing.T, c Config) Stored {
	t.Helper()
	s, err := Campaign{Config: c, Testbed: sim.New()}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
