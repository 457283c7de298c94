package campaign

import (
	"testing"
	"time"

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
