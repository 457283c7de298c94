package check

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestAModelLeavesATrialsTimesAsTheyWere(t *testing.T) {
	got := Modelled(history.Claims{Lock: "x", Quorum: 3, TTL: 7, Fenced: true}, "semaphore:2")
	if got.Lock != "x" || got.Quorum != 3 || got.TTL != 7 || got.Fenced || got.Permits != 2 {
		t.Errorf("got %+v", got)
	}
	if alone := Modelled(history.Claims{}, "read-write"); alone.Quorum != 1 || !alone.ReadWrite {
		t.Errorf("got %+v", alone)
	}
}
