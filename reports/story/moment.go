package story

import (
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// changeWords describe what happened to a key, by the cause of the change.
var changeWords = map[history.ChangedBy]string{
	history.ByCommand:     "is changed by a command",
	history.ByExpiry:      "expires",
	history.ByEviction:    "is evicted",
	history.ByRestart:     "is as the restarted node had kept it",
	history.ByPromotion:   "is as the promoted node knew it",
	history.ByReplication: "is overwritten by the primary's data",
	history.ByMigration:   "moves with its slot",
	history.ByClock:       "gets another end of life: the node's clock was set",
	history.ByStranger:    "is changed by a stranger",
	history.ByUnknown:     "changes",
}

// OpMoment describes the operation or the fault with this index: who did what. Both are "" if
// there is none.
func OpMoment(e history.Evidence, index int) (who, what string) {
	i := slices.IndexFunc(e.Ops, func(op history.Op) bool { return op.Index == index })
	switch {
	case i < 0:
		return "", ""
	case e.Ops[i].Process == history.Nemesis:
		return "nemesis", nemesisEntry(e.Ops[i], facts.HungClients(e.Ops))
	}
	return "c" + strconv.Itoa(e.Ops[i].Client), opWords(e.Ops[i])
}

// KeyMoment describes the key change with this index: on which node, and what. Both are "" if
// there is none.
func KeyMoment(e history.Evidence, index int) (who, what string) {
	i := slices.IndexFunc(e.Keys, func(k history.KeyChange) bool { return k.Index == index })
	if i < 0 {
		return "", ""
	}
	return e.Keys[i].Node, string(e.Keys[i].Key) + " " + changeWords[e.Keys[i].By]
}
