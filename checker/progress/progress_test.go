package progress

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// waitsOf keeps the measures of waits and bypasses, and the numbers of grants and clients.
func waitsOf(m Measures) Measures {
	return Measures{
		Waits: m.Waits, WaitMedian: m.WaitMedian, WaitP95: m.WaitP95, WaitMax: m.WaitMax, InVain: m.InVain,
		Bypasses: m.Bypasses, BypassesMax: m.BypassesMax, Grants: m.Grants, Clients: m.Clients,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestWaitsBypassesAndFairness(t *testing.T) {
	for _, c := range []struct {
		name   string
		claims history.Claims
		text   string
		want   Measures
	}{
		{"nobody asks", history.Claims{}, "c0 lost 1", Measures{}},
		{"one gets in at once", history.Claims{}, "c0 acquire 1-3 ok",
			Measures{Waits: 1, WaitMedian: ms(2), WaitP95: ms(2), WaitMax: ms(2), Jain: 1, Grants: 1, Clients: 1}},
		{"a wait goes on over attempts that fail, and others pass by", history.Claims{}, `
			c0 acquire 1-2 fail
			c1 acquire 3-4 ok
			c1 release 5-6 ok
			c0 acquire 7-8 info
			c1 acquire 9-10 ok
			c1 release 11-12 ok
			c0 acquire 13-21 ok`,
			Measures{Waits: 3, WaitMedian: ms(1), WaitP95: ms(20), WaitMax: ms(20), Bypasses: 2, BypassesMax: 2, Jain: 0.9, Grants: 3, Clients: 2}},
		{"what comes with the first attempt or with the grant passes nobody by", history.Claims{}, `
			c1 acquire 0-1 ok
			c0 acquire 1-5 ok
			c2 acquire 5-6 ok`,
			Measures{Waits: 3, WaitMedian: ms(1), WaitP95: ms(4), WaitMax: ms(4), Jain: 1, Grants: 3, Clients: 3}},
		{"somebody waits in vain", history.Claims{}, `
			c0 acquire 1-2 ok
			c1 acquire 3-4 fail
			c1 acquire 5-`,
			Measures{Waits: 1, WaitMedian: ms(1), WaitP95: ms(1), WaitMax: ms(1), InVain: 1, Jain: 0.5, Grants: 1, Clients: 2}},
		{"re-entries are no waits and no grants", history.Claims{Reentrant: true}, `
			c0 acquire 1-2 ok
			c0 acquire 3-9 ok
			c0 acquire 10-11 fail
			c0 release 12-13 ok
			c0 release 14-15 ok`,
			Measures{Waits: 1, WaitMedian: ms(1), WaitP95: ms(1), WaitMax: ms(1), Jain: 1, Grants: 1, Clients: 1}},
		{"locks have queues of their own", history.Claims{}, `
			c0 acquire 1-9 ok lock=A
			c1 acquire 2-3 ok lock=B`,
			Measures{Waits: 2, WaitMedian: ms(1), WaitP95: ms(8), WaitMax: ms(8), Jain: 1, Grants: 2, Clients: 2}},
	} {
		got := Measure(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: c.claims})
		if got, want := waitsOf(got), waitsOf(c.want); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
		if math.Abs(got.Jain-c.want.Jain) > 1e-9 {
			t.Errorf("%s: Jain: got %v, want %v", c.name, got.Jain, c.want.Jain)
		}
	}
}

func TestAnImpossibleHistoryHasNoProgress(t *testing.T) {
	ops := histories.Timeline(t, "c0 acquire 1-2 ok")
	ops[1].Time = -1
	if got := Measure(history.Evidence{Ops: ops}); got != (Measures{}) {
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
	raw, err := json.Marshal(Measures{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"waitMedian":0`, `"bypassesMax":0`, `"jain":0`, `"lossLagMax":0`, `"orphanSum":0`, `"recoveryMax":0`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s lacks %s", raw, want)
		}
	}
}
