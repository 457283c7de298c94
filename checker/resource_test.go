package checker

import (
	"context"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestResourceIsViolatedByWhatComesBetween(t *testing.T) {
	for _, c := range histories.Cases(t, "testdata/resource.txt") {
		t.Run(c.Name, func(t *testing.T) {
			checkVerdict(t, resource(context.Background(), NewCase(c.Evidence)), c.Want)
		})
	}
}

func TestResourceDoesNotApplyWhereNothingWasTouched(t *testing.T) {
	v := resource(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, "c0 acquire 1-2 ok\nc1 acquire 1-2 ok")}))
	if v.Result != NotApplicable {
		t.Errorf("got %s, want %s", v.Result, NotApplicable)
	}
}
