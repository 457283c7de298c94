package live

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// hears makes n the primary, deposes the old primary, and returns the recorded events.
func hears(e *env, n *node) (told []string) {
	e.sentinels.OnElection(func(op history.Op) { told = append(told, op.F+" "+op.Node) })
	e.promoted(n)
	e.sentinels.deposed(e.sentinels.shard.master)
	return told
}

func TestAFaultExplainsElectionsForSomeTimeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func() time.Duration { return 0 }
		e := &env{nodes: []*node{{name: "n0", clock: still}, {name: "n1", clock: still}}}
		e.sentinels = newSentinels(e)
		l := e.sentinels
		calm := func(by time.Duration, want bool) {
			t.Helper()
			if time.Sleep(by); l.explains() != want {
				t.Errorf("explained: %t, want %t", !want, want)
			}
		}
		calm(0, false)
		healed := l.provoke()
		calm(time.Minute, true) // the fault is in force
		healed()
		calm(downAfter+2*failoverTimeout-time.Millisecond, true) // an election that the fault caused may come this late
		calm(2*time.Millisecond, false)
		l.killed("n0")
		calm(time.Minute, true)
		if _, err := l.restart("n0", func() (history.Lost, error) { return history.Lost{}, nil }); err != nil {
			t.Error(err)
		}
		calm(time.Second, true)
		calm(time.Minute, false)
		if got, want := hears(e, e.nodes[1]), []string{history.FElection + " n0", history.FPromote + " n1"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		l.provoke()
		if got, want := hears(e, e.nodes[0]), []string{history.FPromote + " n0"}; !slices.Equal(got, want) {
			t.Errorf("under a fault told %q, want %q", got, want)
		}
	})
}

func TestADeadNodeExplainsThatItIsReplacedAndNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func() time.Duration { return 0 }
		newEnv := func() *env { return &env{nodes: []*node{{name: "n0", clock: still}, {name: "n1", clock: still}}} }
		told := map[string]int{}
		count := func(op history.Op) { told[op.F]++ }
		watching := newEnv()
		watching.sentinels = newSentinels(watching)
		watched := watching.sentinels
		watched.OnElection(count)
		e := newEnv()
		only := &shard{nodes: e.nodes, master: e.nodes[0], moved: map[int]bool{}}
		formed := &cluster{env: e, elections: elections{provocation: &provocation{grace: watched.grace}}, shards: []*shard{only}}
		formed.OnElection(count)
		watched.killed("n0")
		formed.killed("n0")
		time.Sleep(time.Minute)
		watching.promoted(watching.nodes[1])
		formed.rules(e.nodes[1])
		if told[history.FElection] != 0 {
			t.Errorf("told %v, want no election: a fault explains it", told)
		}
		time.Sleep(watched.grace - time.Millisecond)
		if !watched.explains() || !formed.explains() {
			t.Error("an election that is tried again is not explained")
		}
		time.Sleep(2 * time.Millisecond)
		watching.promoted(watching.nodes[0])
		formed.rules(e.nodes[0])
		if told[history.FElection] != 2 {
			t.Errorf("told %v, want an election of each", told)
		}
	})
}

func TestAKillThatFailsExplainsNothing(t *testing.T) {
	var p provocation
	p.killed("n0")()
	if p.explains() {
		t.Error("a node that was not killed explains elections")
	}
	p.killed("n0")
	p.killed("n0")() // this kill fails: n0 is down already
	if !p.explains() {
		t.Error("a node that is down explains nothing, as it could not be killed again")
	}
}
