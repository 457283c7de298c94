package checker

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker/internal/histories"
	"github.com/lockstorm/lockstorm/history"
)

// only keeps of a Progress the fields that a test is about.
func only(p Progress, fields ...string) map[string]any {
	all := map[string]any{}
	for _, f := range fields {
		all[f] = reflect.ValueOf(p).FieldByName(f).Interface()
	}
	return all
}

func TestWaitsBypassesAndFairness(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   Progress
	}{
		{"nobody asks", history.Claims{}, "c0 lost 1", Progress{}},
		{"one gets in at once", history.Claims{}, "c0 acquire 1-3 ok",
			Progress{Waits: 1, WaitMedian: ms(2), WaitP95: ms(2), WaitMax: ms(2), Jain: 1, Grants: 1, Clients: 1}},
		{"a wait goes on over attempts that fail, and others pass by", history.Claims{}, `
			c0 acquire 1-2 fail
			c1 acquire 3-4 ok
			c1 release 5-6 ok
			c0 acquire 7-8 info
			c1 acquire 9-10 ok
			c1 release 11-12 ok
			c0 acquire 13-21 ok`,
			Progress{Waits: 3, WaitMedian: ms(1), WaitP95: ms(20), WaitMax: ms(20), Bypasses: 2, BypassesMax: 2, Jain: 0.9, Grants: 3, Clients: 2}},
		{"what comes with the first attempt or with the grant passes nobody by", history.Claims{}, `
			c1 acquire 0-1 ok
			c0 acquire 1-5 ok
			c2 acquire 5-6 ok`,
			Progress{Waits: 3, WaitMedian: ms(1), WaitP95: ms(4), WaitMax: ms(4), Jain: 1, Grants: 3, Clients: 3}},
		{"somebody waits in vain", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 fail
			c1 acquire 5-`,
			Progress{Waits: 1, WaitMedian: ms(1), WaitP95: ms(1), WaitMax: ms(1), InVain: 1, Jain: 0.5, Grants: 1, Clients: 2}},
		{"re-entries are no waits and no grants", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok
			c0 acquire 3-9 ok
			c0 acquire 10-11 fail
			c0 release 12-13 ok
			c0 release 14-15 ok`,
			Progress{Waits: 1, WaitMedian: ms(1), WaitP95: ms(1), WaitMax: ms(1), Jain: 1, Grants: 1, Clients: 1}},
		{"locks have queues of their own", history.Claims{}, `
			c0 acquire 1-9 ok lock=A
			c1 acquire 2-3 ok lock=B`,
			Progress{Waits: 2, WaitMedian: ms(1), WaitP95: ms(8), WaitMax: ms(8), Jain: 1, Grants: 2, Clients: 2}},
	} {
		got := Measure(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims})
		fields := []string{"Waits", "WaitMedian", "WaitP95", "WaitMax", "InVain", "Bypasses", "BypassesMax", "Grants", "Clients"}
		if got, want := only(got, fields...), only(c.want, fields...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
		if math.Abs(got.Jain-c.want.Jain) > 1e-9 {
			t.Errorf("%s: Jain: got %v, want %v", c.name, got.Jain, c.want.Jain)
		}
	}
}

func TestLossesOrphansAndRecoveries(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "PX", "1000", "NX"} }
	fields := []string{"Losses", "LossLagMax", "Orphans", "Recoveries", "Unrecovered", "RecoveryMax"}
	for _, c := range []struct {
		name    string
		tale    func(*story)
		want    Progress
		orphans time.Duration
	}{
		{"a quiet trial", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.give(50, 0, "1", s.cad("t0")...)
			s.take(60, 1, "OK", set("t1")...)
			s.give(90, 1, "1", s.cad("t1")...)
		}, Progress{}, 0},
		{"a crash leaves a key, until it expires and another gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
			s.busy(200, 1, "nil", set("t1")...)
			s.take(1100, 1, "OK", set("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, Progress{Orphans: 1, Recoveries: 1, RecoveryMax: ms(1001)}, ms(908)},
		{"a crash after which nobody gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FCrash})
			s.busy(200, 1, "nil", set("t1")...)
		}, Progress{Orphans: 1, Unrecovered: 1}, ms(102)},
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
		}, Progress{Recoveries: 1, RecoveryMax: ms(1001)}, 0},
		{"a holder that hangs, and is renewed: nobody gets in", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(100, history.Op{Client: 0, F: history.FHung})
			s.busy(200, 1, "nil", set("t1")...)
		}, Progress{Unrecovered: 1}, 0},
		{"a crash of somebody who had nothing to do with the lock", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.nemesis(30, history.Op{Client: 2, F: history.FCrash})
			s.give(50, 0, "1", s.cad("t0")...)
			s.take(60, 1, "OK", set("t1")...)
			s.give(90, 1, "1", s.cad("t1")...)
		}, Progress{}, 0},
		{"a holder hears late of a key that was removed", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.cmd(100, 1, "1", "DEL", "lock")
			s.entry(350, history.Op{Process: 0, Client: 0, Type: history.Info, F: history.FLost, Lock: "lock"})
		}, Progress{Losses: 1, LossLagMax: ms(250)}, 0},
		{"a fault's end, and who gets in then", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.fault(20, history.Invoke, 0)
			s.give(50, 0, "1", s.cad("t0")...)
			s.fault(60, history.Info, 0)
			s.take(100, 1, "OK", set("t1")...)
			s.give(150, 1, "1", s.cad("t1")...)
		}, Progress{Recoveries: 1, RecoveryMax: ms(41)}, 0},
		{"a fault after which nobody asks", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.fault(20, history.Invoke, 0)
			s.give(50, 0, "1", s.cad("t0")...)
			s.fault(60, history.Info, 0)
		}, Progress{}, 0},
	} {
		s := tell(t, "set-nx-px")
		c.tale(s)
		got := Measure(s.evidence())
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
	for i, node := range []string{"n0", "n1"} { // the second leaves two of five
		s.node = node
		s.cmd(100+100*float64(i), 1, "1", "DEL", "lock")
	}
	s.entry(350, history.Op{Process: 0, Client: 0, Type: history.Info, F: history.FLost, Lock: "lock"})
	if got := Measure(s.evidence()); got.Losses != 1 || got.LossLagMax != ms(150) {
		t.Errorf("%d losses, %v late, want 1, 150ms after the second key of four was removed", got.Losses, got.LossLagMax)
	}
}

func TestAnImpossibleHistoryHasNoProgress(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok")
	ops[1].Time = -1
	if got := Measure(history.Evidence{Ops: ops}); got != (Progress{}) {
		t.Errorf("got %+v", got)
	}
}

func TestProgressIsWithinBoundsAndPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := histories.Gamble(histories.RapidDice{T: t}, histories.Kinds[rapid.IntRange(0, len(histories.Kinds)-1).Draw(t, "kind")])
		p := Measure(e)
		if Measure(e) != p {
			t.Fatal("it differs from one time to the next")
		}
		v := reflect.ValueOf(p)
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInt() && f.Int() < 0 {
				t.Fatalf("%s is negative: %+v", v.Type().Field(i).Name, p)
			}
		}
		switch {
		case p.Grants == 0 && p.Jain != 0, p.Grants > 0 && (p.Jain <= 0 || p.Jain > 1 || p.Jain < 1/float64(p.Clients)-1e-9):
			t.Fatalf("Jain's index is out of bounds: %+v", p)
		case p.WaitMedian > p.WaitP95, p.WaitP95 > p.WaitMax, p.BypassesMax > p.Bypasses, p.Waits != p.Grants:
			t.Fatalf("out of order: %+v", p)
		case p.LossLagMax > p.LossLagSum, p.OrphanMax > p.OrphanSum, p.RecoveryMax > p.RecoverySum:
			t.Fatalf("one is more than all: %+v", p)
		}
	})
}

func TestProgressIsWrittenInCamelCase(t *testing.T) {
	raw, err := json.Marshal(Progress{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"waitMedian":0`, `"bypassesMax":0`, `"jain":0`, `"lossLagMax":0`, `"orphanSum":0`, `"recoveryMax":0`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
}
