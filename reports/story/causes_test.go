package story

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
)

func TestEveryCauseIsExplained(t *testing.T) {
	for _, c := range reporttest.Causes() {
		if !slices.ContainsFunc(causeTexts, func(x Cause) bool { return x.Name == c }) {
			t.Errorf("no text for cause %q", c)
		}
	}
}
