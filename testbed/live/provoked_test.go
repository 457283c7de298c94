package live

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// hears makes the node a primary and says what the history is told of that.
func hears(l *elections, n *node) (told []string) {
	l.OnElection(func(op history.Op) { told = append(told, op.F+" "+op.Node) })
	l.elected(n)
	l.deposed(l.old)
	return told
}

func TestAFaultExplainsElectionsForSomeTimeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func() time.Duration { return 0 }
		e := &env{nodes: []*node{{name: "n0", clock: still}, {name: "n1", clock: still}}}
		l := newElections(e)
		calm := func(by time.Duration, want bool) {
			t.Helper()
			if time.Sleep(by); l.explains() != want {
				t.Errorf("explained: %t, want %t", !want, want)
			}
		}
		calm(0, false)
		healed := l.provoke()
		calm(time.Minute, true) // in force
		healed()
		calm(downAfter+2*failoverTimeout-time.Millisecond, true) // one that it led to may take so long
		calm(2*time.Millisecond, false)
		l.killed("n0")
		calm(time.Minute, true)
		l.restarted("n0")
		calm(time.Second, true)
		calm(time.Minute, false)
		if got, want := hears(l, e.nodes[1]), []string{history.FElection + " n0", history.FPromote + " n1"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		l.provoke()
		if got, want := hears(l, e.nodes[0]), []string{history.FPromote + " n0"}; !slices.Equal(got, want) {
			t.Errorf("under a fault told %q, want %q", got, want)
		}
	})
}
