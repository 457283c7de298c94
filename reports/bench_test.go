package reports

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// busyTrial is a trial of the default length: three clients take turns, attempts meanwhile are
// refused, and one lease ends during its hold.
func busyTrial(tb testing.TB) sampleTrial {
	t := reporttest.NewTape(tb)
	t.Acquire(0, 10, 16)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(20, 1400, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1})
	t.Acquire(1, 1050, 1056)
	t.Command(1, "n0", 1050.4, "OK", "SET orders token-b PX 1000 NX")
	t.Release(1, 1500, 1506, history.OK)
	t.Command(1, "n0", 1500.4, "1", "DEL orders")
	t.Release(0, 1410, 1416, history.Fail)
	t.Command(0, "n0", 1410.4, "0", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-a")
	for i := range 100 {
		at := 1600 + 50*float64(i)
		c := i % 3
		t.Acquire(c, at, at+2)
		t.Command(c, "n0", at+0.1, "OK", "SET orders token-c PX 1000 NX")
		for _, other := range []int{(i + 1) % 3, (i + 2) % 3} {
			t.Busy(other, at+10, at+12)
			t.Command(other, "n0", at+10.1, "nil", "SET orders token-d PX 1000 NX")
		}
		t.Touch(c, history.FRead, at+15, int64(i))
		t.Touch(c, history.FWrite, at+30, int64(i+1))
		t.Release(c, at+40, at+42, history.OK)
		t.Command(c, "n0", at+40.1, "1", "DEL orders")
	}
	e := t.Evidence()
	f := reporttest.Finding(e, checker.LeaseOutlived, 1056, 1410, "c1 acquired \"orders\" at 1.056 s while c0 had held it since 0.016 s", 1, 0)
	f.Ops = f.Ops[:2]
	return sampleOf(t.Trial("busy", "set-nx-px", "client-pause", locks.Limit, e, reporttest.Violated("exclusion", f)))
}

// BenchmarkRender writes the story and the timeline of one violated trial. A campaign does that
// for each trial in its report.
func BenchmarkRender(b *testing.B) {
	dir, s := b.TempDir(), busyTrial(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := Trial(dir, s.Trial, s.Evidence); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReport renders the pages of a campaign with 200 violated cells, each with one trial in
// the report.
func BenchmarkReport(b *testing.B) {
	dir, s := b.TempDir(), busyTrial(b)
	info := campaign.Info{Command: "lockstorm run", Config: campaign.Config{Trials: 1}}
	for i := range 200 {
		s.Trial.Spec.Lock = fmt.Sprintf("recipe-%d", i%20)
		s.Trial.Spec.Fault = testGlossary.Faults[i/20].Name
		s.Trial.Dir = fmt.Sprintf("trials/%s/%s/mutex-0", s.Trial.Spec.Lock, s.Trial.Spec.Fault)
		storeTrial(b, dir, s)
		info.Plan = append(info.Plan, campaign.PlannedCell{Lock: s.Trial.Spec.Lock, Fault: s.Trial.Spec.Fault, Workloads: []string{"mutex"}})
	}
	writeLines(b, filepath.Join(dir, campaign.CampaignFile), []campaign.Info{info})
	stored, err := campaign.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		sink, err := New(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := sink.Done(b.Context(), stored); err != nil {
			b.Fatal(err)
		}
	}
}
