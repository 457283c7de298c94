package campaign

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
)

func TestWhereNothingIsLeftToLuckAFlawShowsUnderEachOfItsFaults(t *testing.T) {
	held := verdict("ownership", checker.Held)
	flaw := violated("ownership", checker.ForeignDelete)
	miss := func(fault string) Surprise {
		return Surprise{Lock: "test-flawed", Fault: fault, Oracle: "ownership", Cause: "foreign-delete"}
	}
	tests := []struct {
		name   string
		adjust func(*Info)
		trials []Trial
		want   []Surprise
	}{
		{"shown under one of two", nil, []Trial{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, []Surprise{miss("client-pause")}},
		{"shown under none", nil, []Trial{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, []Surprise{miss("client-pause"), miss("delay")}},
		{"not run to the end", nil, []Trial{found("delay", 0, 1, flaw)}, nil},
		{"a mix of faults shows what chance will", nil, []Trial{found("delay", 0, 1, flaw), found("client-pause", 0, 1, flaw), found("chaos", 0, 1, held)}, nil},
		{"without the named schedules, once is enough", func(i *Info) { i.Config.Named = false },
			[]Trial{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, nil},
		{"without them, missed wherever it was looked for", func(i *Info) { i.Config.Named = false },
			[]Trial{found("delay", 0, 1, held), found("client-pause", 0, 1, held)}, []Surprise{miss("client-pause,delay")}},
		{"on real time, once is enough", func(i *Info) { i.Deterministic = false },
			[]Trial{found("delay", 0, 1, flaw), found("client-pause", 0, 1, held)}, nil},
		{"chosen workloads that give the oracle nothing to judge", func(i *Info) { i.Config.Workloads = []string{"mutex"} },
			[]Trial{found("delay", 0, 1, flaw), found("client-pause", 0, 1, verdict("ownership", checker.NotApplicable))}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info := Info{Config: DefaultConfig(), Deterministic: true}
			info.Config.Named, info.Config.Trials = true, 1
			for _, fault := range []string{"client-pause", "delay", "chaos"} {
				info.Plan = append(info.Plan, PlannedCell{Lock: "test-flawed", Fault: fault, Workloads: []string{"mutex"}})
			}
			if test.adjust != nil {
				test.adjust(&info)
			}
			// Of the flaws of test-flawed, only this one is looked at here.
			got := slices.DeleteFunc(missed(info, test.trials), func(s Surprise) bool { return s.Cause != "foreign-delete" })
			if !slices.Equal(got, test.want) {
				t.Errorf("missed %+v, want %+v", got, test.want)
			}
		})
	}
}
