package checker

import (
	"reflect"
	"testing"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

func TestWaitsAroundTheFirstFault(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "PX", "1000", "NX"} }
	faulted := func(s *story, from, to float64) {
		s.fault(from, history.Invoke, 0)
		s.fault(to, history.Info, 0)
	}
	for _, c := range []struct {
		name, fault string
		tale        func(*story)
		want        *progress.Waiting
	}{
		{"no fault", "", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
		}, nil},
		{"nobody waited", "", func(s *story) { faulted(s, 100, 200) }, nil},
		{"another fault", "node-pause", func(s *story) {
			faulted(s, 100, 200)
			s.take(250, 0, "OK", set("t0")...)
		}, nil},
		{"before, during and after", "", func(s *story) {
			s.take(620, 0, "OK", set("t0")...)
			s.busy(660, 1, "nil", set("t1")...)
			faulted(s, 1000, 1320)
			s.give(1400, 0, "1", s.cad("t0")...)
			s.take(1450, 1, "OK", set("t1")...)
			s.give(1500, 1, "1", s.cad("t1")...)
			s.take(1550, 2, "OK", set("t2")...)
			s.nemesis(1900, history.Op{F: history.FHealed})
			s.give(1950, 2, "1", s.cad("t2")...)
			s.take(1960, 0, "OK", set("t0")...)
		}, &progress.Waiting{Ends: 3, Until: 9, Waits: [][2]int{{-4, 0}, {-4, 8}, {5, 0}}}},
		{"the second fault ends it", "", func(s *story) {
			faulted(s, 1000, 1120)
			s.take(1130, 0, "OK", set("t0")...)
			s.give(1170, 0, "1", s.cad("t0")...)
			faulted(s, 1200, 1320)
			s.take(1450, 1, "OK", set("t1")...)
		}, &progress.Waiting{Ends: 1, Until: 2, Waits: [][2]int{{1, 0}}}},
		{"a wait without an end", "", func(s *story) {
			s.take(520, 0, "OK", "SET", "lock", "t0", "NX")
			faulted(s, 1000, 1001)
			s.busy(1200, 1, "nil", set("t1")...)
			s.busy(2250, 1, "nil", set("t1")...)
		}, &progress.Waiting{Ends: 0, Until: 12, Waits: [][2]int{{-5, 0}, {1, progress.Forever}}}},
		{"cut short by the trial's end, or by a crash", "", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX") // more than one lease time before the fault
			faulted(s, 1020, 1021)
			s.busy(1100, 2, "nil", set("t2")...)
			s.nemesis(1150, history.Op{Client: 2, F: history.FCrash})
			s.busy(1700, 1, "nil", set("t1")...)
			s.busy(2250, 1, "nil", set("t1")...)
		}, nil},
	} {
		s := tell(t, "set-nx-px")
		c.tale(s)
		if got := progress.WaitingAround(NewCase(s.evidence()).Case, c.fault); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}
