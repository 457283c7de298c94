package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// holdText writes a hold as "c0 L 2-9 release", in milliseconds.
func holdText(h Hold) string {
	to := "never"
	if h.To != Never {
		to = fmt.Sprint(h.To.Milliseconds())
	}
	return strings.TrimSpace(fmt.Sprintf("c%d %s%s %d-%s %s", h.Client, h.Lock, h.Mode, h.From.Milliseconds(), to, h.ToWhy))
}

func TestHoldsAreWhatClientsBelieved(t *testing.T) {
	for _, c := range histories.Cases(t, "testdata/holds.txt") {
		t.Run(c.Name, func(t *testing.T) {
			holds, err := Holds(c.Evidence)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range holds {
				got = append(got, holdText(h))
			}
			if !slices.Equal(got, c.Want) {
				t.Errorf("holds:\n got %q\nwant %q", got, c.Want)
			}
			if got := spanTexts(t, c.Evidence); !slices.Equal(got, c.Want) {
				t.Errorf("porcupine's side:\n got %q\nwant %q", got, c.Want)
			}
		})
	}
}

// spanTexts writes the spans that porcupine judges in the form of holdText.
func spanTexts(t *testing.T, e history.Evidence) []string {
	t.Helper()
	why := map[string]string{"its release": account.ByRelease, "its deadline": account.ByDeadline, "nothing": account.ByNothing}
	crashed := slices.ContainsFunc(e.Ops, func(op history.Op) bool { return op.F == history.FCrash })
	var holds []Hold
	for lock, all := range spans(NewCase(e)) {
		for _, mode := range []history.Mode{"", history.Read, history.Write} {
			one := slices.DeleteFunc(slices.Clone(all), func(s linear.Span) bool { return s.Mode != mode })
			for _, s := range linear.Merge(one) {
				w, ok := why[s.Why]
				if !ok {
					w = account.ByLost
					if crashed {
						w = account.ByCrash
					}
				}
				holds = append(holds, Hold{Lock: lock, Mode: mode, Client: s.Owner, From: s.OK, To: s.End, ToWhy: w, Acquire: s.Entry})
			}
		}
	}
	slices.SortFunc(holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Acquire, b.Acquire))
	})
	var texts []string
	for _, h := range holds {
		texts = append(texts, holdText(h))
	}
	return texts
}
