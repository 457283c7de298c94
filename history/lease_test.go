package history_test

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestLeaseOfAnOperation(t *testing.T) {
	asked, got := history.Lease{Token: "asked"}, history.Lease{Token: "got", Fence: 1}
	for name, c := range map[string]struct {
		pair history.Pair
		want history.Lease
	}{
		"returned":         {history.Pair{Invoke: &history.Op{Lease: &asked}, Complete: &history.Op{Lease: &got}}, got},
		"only asked for":   {history.Pair{Invoke: &history.Op{Lease: &asked}, Complete: &history.Op{}}, asked},
		"not answered":     {history.Pair{Invoke: &history.Op{Lease: &asked}}, asked},
		"without a lease":  {history.Pair{Invoke: &history.Op{}, Complete: &history.Op{}}, history.Lease{}},
		"nothing answered": {history.Pair{Invoke: &history.Op{}}, history.Lease{}},
	} {
		if got := c.pair.Lease(); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
