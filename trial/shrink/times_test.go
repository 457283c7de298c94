package shrink

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
)

// By at the end of a disturbed part of a fine length is not rounded: untilOver would set it back.
func TestTheEndOfTheDisturbedPartIsNotRounded(t *testing.T) {
	var s trial.Spec
	s.Options.TTL, s.Options.Duration = time.Second, 1234*time.Millisecond
	s.Plan = nemesis.Plan{{By: 700 * time.Millisecond}}
	if !untilOver(0)(&s) || s.Plan[0].By != s.Options.Duration {
		t.Fatalf("By is %v, want %v", s.Plan[0].By, s.Options.Duration)
	}
	if roundPatience(0, s.Options.TTL)(&s) || untilOver(0)(&s) {
		t.Errorf("By is moved to %v", s.Plan[0].By)
	}
}
