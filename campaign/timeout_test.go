package campaign

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/trialtest"
)

func TestClientsWaitForRepliesAsLongAsChosen(t *testing.T) {
	for name, c := range map[string]struct {
		chosen, timeout, longer time.Duration
	}{
		"not chosen": {0, 500 * time.Millisecond, 0},
		"shorter":    {100 * time.Millisecond, 100 * time.Millisecond, 0},
		"generous":   {3 * time.Second, 3 * time.Second, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			plain, _ := namedJobs(t, nil, trialtest.Sound)
			jobs, _ := namedJobs(t, func(conf *Config) { conf.CommandTimeout = c.chosen }, trialtest.Sound)
			if len(jobs) != len(plain) {
				t.Fatalf("%d jobs, want %d", len(jobs), len(plain))
			}
			for i, j := range jobs {
				got, without := j.spec.Options, plain[i].spec.Options
				longer := c.longer
				if !j.spec.Named() {
					longer *= 2
				}
				if j.spec.CommandTimeout != c.timeout || got.Duration != without.Duration+longer || got.Margin != without.Margin+c.longer {
					t.Errorf("%s: timeout %v, duration %v, margin %v; want %v, %v and %v longer than %v and %v",
						j.spec.Title(), j.spec.CommandTimeout, got.Duration, got.Margin, c.timeout, longer, c.longer, without.Duration, without.Margin)
				}
			}
		})
	}
}

func TestATimeoutThatMakesNoSenseIsRefusedInOneLine(t *testing.T) {
	for text, timeout := range map[string]time.Duration{
		"command-timeout -1s: expected 1ms to 1m0s":    -time.Second,
		"command-timeout 500ns: expected 1ms to 1m0s":  500,
		"command-timeout 2m0s: expected 1ms to 1m0s, ": 2 * time.Minute,
	} {
		c := fakeConfig(t.TempDir(), trialtest.Sound).filled(modest)
		c.CommandTimeout = timeout
		err := c.check()
		var wrong *input.Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestAReplayLineNamesTheTimeoutThatWasChosen(t *testing.T) {
	c := DefaultConfig()
	if got := c.flags(); slices.Contains(got, "--command-timeout") {
		t.Errorf("by default: %q", got)
	}
	c.CommandTimeout = 3 * time.Second
	if got := strings.Join(c.flags(), " "); !strings.Contains(got, "--command-timeout 3s") {
		t.Errorf("got %q, want the timeout in it", got)
	}
}
