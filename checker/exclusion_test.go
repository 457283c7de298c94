package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

func TestExclusionIsViolatedByStrictOverlapOnly(t *testing.T) {
	for _, c := range histories.Cases(t, "testdata/exclusion.txt") {
		t.Run(c.Name, func(t *testing.T) {
			v, err := exclusion(context.Background(), NewCase(c.Evidence))
			if err != nil {
				t.Fatal(err)
			}
			checkVerdict(t, v, c.Want)
		})
	}
}

// checkVerdict compares the summaries of a verdict's findings with want. If want is empty, the
// verdict must hold.
func checkVerdict(t *testing.T, v Verdict, want []string) {
	t.Helper()
	result := Held
	if len(want) > 0 {
		result = Violated
	}
	if v.Result != result {
		t.Errorf("got %s (%s) %+v, want %s", v.Result, v.words(), v.Findings, result)
	}
	for i, f := range v.Findings {
		if i >= len(want) || plain.Summary(f) != want[i] {
			t.Errorf("finding %d: got  %s", i, plain.Summary(f))
		}
	}
	if len(v.Findings) != len(want) {
		t.Errorf("got %d findings, want %q", len(v.Findings), want)
	}
}

func TestFindingOfAnOverlapNamesItsEvidence(t *testing.T) {
	v, err := exclusion(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		c1 acquire 3-4 ok
		c0 release 5-6 ok
		c1 release 7-8 ok`)}))
	if err != nil || len(v.Findings) != 1 {
		t.Fatal(v, err)
	}
	v.Findings[0].Cause = Unclassified // this test is not about causes
	v.Findings[0].Commands = nil
	putWords(v.Findings)
	got, err := json.Marshal(v.Findings[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"cause":"unclassified","summary":"c1 was granted L at 0.004s while c0 still believed it held it (since 0.002s, until its release at 0.005s)",` +
		`"lock":"L","clients":[1,0],"from":4000000,"to":5000000,"ops":[1,3,4,6],` +
		`"account":{"what":"overlap","clients":[1,0],"at":4000000,"holds":[` +
		`{"client":1,"from":4000000,"until":7000000,"why":"release"},{"client":0,"from":2000000,"until":5000000,"why":"release"}]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestManyOverlapsAreCountedAndTheFirstListed(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "c%d acquire 1-2 ok\n", i)
	}
	v, err := exclusion(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, text.String())}))
	if err != nil {
		t.Fatal(err)
	}
	if v.Result != Violated || len(v.Findings) != maxFindings || !strings.Contains(v.words(), "1770") {
		t.Errorf("got %s with %d findings (%s), want %d of 1770", v.Result, len(v.Findings), v.words(), maxFindings)
	}
}

func TestCompareCatchesEveryDifference(t *testing.T) {
	ok, bad, dunno := linear.Legal, linear.Illegal, linear.Undecided
	type results = map[string]linear.Answer
	for _, c := range []struct {
		name      string
		overlap   map[string]bool
		results   results
		undecided int
		disagree  bool
	}{
		{"nothing held", nil, nil, 0, false},
		{"both content", nil, results{"A": ok}, 0, false},
		{"both not", map[string]bool{"A": true}, results{"A": bad, "B": ok}, 0, false},
		{"sweep only", map[string]bool{"A": true}, results{"A": ok}, 0, true},
		{"porcupine only", nil, results{"A": bad}, 0, true},
		{"on different locks", map[string]bool{"A": true}, results{"A": ok, "B": bad}, 0, true},
		{"porcupine saw nothing", map[string]bool{"A": true}, nil, 0, true},
		{"porcupine had no time", map[string]bool{"A": true}, results{"A": dunno, "B": ok}, 1, false},
	} {
		undecided, err := compare(c.overlap, c.results)
		if errors.Is(err, ErrDisagree) != c.disagree || len(undecided) != c.undecided {
			t.Errorf("%s: got %v, %v", c.name, undecided, err)
		}
	}
}

func TestASemaphoreIsViolatedByOneOwnerTooMany(t *testing.T) {
	two := history.Claims{Permits: 2}
	for _, c := range []struct {
		name, text string
		want       string // summary of the only finding; "" = the oracle holds
		to         int    // the end of the finding, in milliseconds
	}{
		{"two at a time", `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c0 release 5-6 ok
			c2 acquire 5-7 ok`, "", 0},
		{"three at a time", `
			c0 acquire 1-2 ok
			c1 acquire 3-4 ok
			c2 acquire 5-6 ok
			c1 release 8-9 ok
			c0 release 20-21 ok`,
			"c2 was granted L at 0.006s while 2 others still believed they held it, one too many: c0 (since 0.002s, until its release at 0.020s), c1 (since 0.004s, until its release at 0.008s)", 8},
		{"three, of whom two are one", `
			c0 acquire 1-2 ok
			c0 acquire 3-4 ok
			c2 acquire 5-6 ok`, "", 0},
		{"three, of whom one is dead", `
			c0 acquire 1-2 ok
			nemesis crash c0 3
			c1 acquire 3-4 ok
			c2 acquire 5-6 ok`, "", 0},
	} {
		v, err := exclusion(context.Background(), NewCase(history.Evidence{Ops: histories.Timeline(t, c.text), Claims: two}))
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want == "" && v.Result != Held:
			t.Errorf("%s: got %+v, want that it holds", c.name, v)
		case c.want != "" && (len(v.Findings) != 1 || plain.Summary(v.Findings[0]) != c.want || v.Findings[0].To != ms(float64(c.to)) || len(v.Findings[0].Clients) != 3):
			t.Errorf("%s: got %+v, want %q", c.name, v, c.want)
		}
	}
}
