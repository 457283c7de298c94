package checker

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

// only returns the fields of m with these names.
func only(m progress.Measures, fields ...string) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		all[f] = reflect.ValueOf(m).FieldByName(f).Interface()
	}
	return all
}

func TestLossesOrphansAndRecoveries(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "PX", "1000", "NX"} }
	fields := []string{"Losses", "LossLagMax", "Orphans", "Recoveries", "Unrecovered", "RecoveryMax"}
	for _, c := range []struct {
		name    string
		tale    func(*story)
		want    progress.Measures
		orphans time.Duration
	}{
		{"a quiet trial", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.give(50, 0, "1", s.cad("t0")...)
			s.take(60, 1, "OK", set("t1")...)
			s.give(90, 1, "1", s.cad("t1")...)
		}, progress.Measures{}, 0},
		{"a crash leaves a key, until it expires and another gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
			s.busy(200, 1, "nil", set("t1")...)
			s.take(1100, 1, "OK", set("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, progress.Measures{Orphans: 1, Recoveries: 1, RecoveryMax: ms(1001)}, ms(908)},
		{"a crash after which nobody gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
			s.busy(200, 1, "nil", set("t1")...)
		}, progress.Measures{Orphans: 1, Unrecovered: 1}, ms(102)},
		{"a holder that hangs: counted from when it began, not from when no more clients are hung", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			opened := history.Window{Fault: "hung-work", ID: 1, Effect: history.Hung, Clients: []int{0}}
			s.entry(90, history.Op{Process: history.Nemesis, Client: 0, Type: history.Invoke, F: opened.Fault, Window: &opened})
			s.nemesis(100, history.Op{Client: 0, F: history.FHung})
			s.busy(200, 1, "nil", set("t1")...)
			closed := opened
			closed.Hits = 1
			s.entry(1090, history.Op{Process: history.Nemesis, Client: 0, Type: history.Info, F: closed.Fault, Window: &closed})
			s.take(1100, 1, "OK", set("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, progress.Measures{Recoveries: 1, RecoveryMax: ms(1001)}, 0},
		{"a holder that hangs, and is renewed: nobody gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FHung})
			s.busy(200, 1, "nil", set("t1")...)
		}, progress.Measures{Unrecovered: 1}, 0},
		{"a crash of somebody who had nothing to do with the lock", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(30, history.Op{Client: 2, F: history.FCrash})
			s.give(50, 0, "1", s.cad("t0")...)
			s.take(60, 1, "OK", set("t1")...)
			s.give(90, 1, "1", s.cad("t1")...)
		}, progress.Measures{}, 0},
		{"a holder hears late of a key that was removed", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.cmd(100, 1, "1", "DEL", "lock")
			s.entry(350, history.Op{Process: 0, Client: 0, Type: history.Info, F: history.FLost, Lock: "lock"})
		}, progress.Measures{Losses: 1, LossLagMax: ms(250)}, 0},
		{"a fault's end, and who gets in then", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.fault(20, history.Invoke, 0)
			s.give(50, 0, "1", s.cad("t0")...)
			s.fault(60, history.Info, 0)
			s.take(100, 1, "OK", set("t1")...)
			s.give(150, 1, "1", s.cad("t1")...)
		}, progress.Measures{Recoveries: 1, RecoveryMax: ms(41)}, 0},
		{"a fault after which nobody asks", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.fault(20, history.Invoke, 0)
			s.give(50, 0, "1", s.cad("t0")...)
			s.fault(60, history.Info, 0)
		}, progress.Measures{}, 0},
	} {
		s := tell(t, "set-nx-px")
		c.tale(s)
		got := progress.Measure(s.evidence())
		if got, want := only(got, fields...), only(c.want, fields...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
		if d := got.OrphanMax - c.orphans; d < -5*time.Millisecond || d > 5*time.Millisecond || got.OrphanSum < got.OrphanMax {
			t.Errorf("%s: orphaned for %v, in all %v; want about %v", c.name, got.OrphanMax, got.OrphanSum, c.orphans)
		}
	}
}

func TestALeaseOnSeveralNodesEndsWithItsQuorum(t *testing.T) {
	s := tell(t, "redlock")
	s.invoke(9, 0, history.FAcquire)
	for i, node := range []string{"n0", "n1", "n2", "n3"} {
		s.node = node
		s.cmd(10+float64(i), 0, "OK", "SET", "lock", "t0", "NX", "PX", "1000")
	}
	s.done(15, 0, history.OK, history.Lease{Token: "t0"})
	for i, node := range []string{"n0", "n1"} { // the second DEL leaves the key on only two of five nodes
		s.node = node
		s.cmd(100+100*float64(i), 1, "1", "DEL", "lock")
	}
	s.entry(350, history.Op{Process: 0, Client: 0, Type: history.Info, F: history.FLost, Lock: "lock"})
	if got := progress.Measure(s.evidence()); got.Losses != 1 || got.LossLagMax != ms(150) {
		t.Errorf("%d losses, %v late, want 1, 150ms after the second key of four was removed", got.Losses, got.LossLagMax)
	}
}
