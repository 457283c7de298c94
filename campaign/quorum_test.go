package campaign

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

func TestPlansForAQuorumOfKeysCountItsOneNode(t *testing.T) {
	claims := history.Claims{Quorum: 3, QuorumOf: history.QuorumOfKeys}
	if w := (&planner{}).world(trial.Spec{}, claims); w.Claims.Quorum != 1 || len(w.Nodes) != 1 {
		t.Errorf("plans are for %d of %v, want 1 of n0", w.Claims.Quorum, w.Nodes)
	}
}
