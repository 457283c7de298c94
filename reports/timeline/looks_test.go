package timeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

// everything is a scene that has each look.
func everything() scene {
	l := lane{Kind: clientLane, Label: "c0", Shades: []shade{{To: 1}}, Dead: 1}
	for _, k := range looks[:slices.Index(looks, foreignLook)] {
		if k.Height > 0 {
			l.Bars = append(l.Bars, bar{Look: k, To: time.Second})
		} else {
			l.Marks = append(l.Marks, mark{Look: k, Foreign: k == markDeleted})
		}
	}
	return scene{Axis: axis{{At: 0}, {At: time.Second}}, Lanes: []lane{l}, Steps: []step{{}}, Arrows: []arrow{{Came: time.Second}}}
}

// Each look has a style or a symbol, and stands in the legend. No entry leaves the picture.
func TestLegendExplainsEveryLook(t *testing.T) {
	shared, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, k := range looks {
		if names[k.Name] {
			t.Errorf("two looks are named %q", k.Name)
		}
		names[k.Name] = true
		if !strings.Contains(Style, ".tl-"+k.Name+" ") && !strings.Contains(Style, ".tl-"+k.Name+",") && !strings.Contains(string(shared), `id="tl-`+k.Name+`"`) {
			t.Errorf("%s has neither a style nor a symbol", k.Name)
		}
	}
	p := newPicture(everything(), faultColor)
	for _, e := range p.Legend {
		delete(names, e.Name)
		if right := float64(e.TextX) + widthOf(e.Text); right > width {
			t.Errorf("%s ends at %.0f", e.Text, right)
		}
	}
	for name := range names {
		t.Errorf("the legend lacks %s", name)
	}
}

func TestLanesTellBeliefsAndWaits(t *testing.T) {
	type told struct {
		client   int
		look     *look
		from, to float64 // ms
	}
	for _, c := range []struct {
		trial string
		want  []told
	}{
		{"lease-outlived", []told{ // c0's key expired at 1.011 s; c1 waited until it acquired
			{0, barHold, 13, 1011}, {0, barGone, 1011, 1562},
			{1, barWait, 120, 1123}, {1, barHold, 1123, 1223},
			{2, barHold, 1303, 1640},
		}},
		{"unclassified", []told{{0, barHold, 13, 60}, {1, barHold, 33, 70}}}, // no key was observed
		{"quorum", []told{ // the third of five keys expired
			{0, barHold, 16, 1011}, {0, barGone, 1011, 1310},
			{1, barHold, 1056, 1156},
		}},
		{"fence-regressed", []told{ // a counter without an expiry is not the lock's key
			{0, barHold, 13, 30}, {0, barHold, 63, 110}, {1, barHold, 303, 400},
		}},
		{"server-lost-key", []told{ // the node of the key was killed and never came back
			{0, barHold, 153, 250}, {0, barGone, 250, 500}, {1, barHold, 403, 520},
		}},
		{"read-write", []told{ // readers share a key
			{0, barRead, 14, 60}, {1, barRead, 24, 61.4}, {1, barGone, 61.4, 124}, {2, barHold, 84, 184},
		}},
	} {
		t.Run(c.trial, func(t *testing.T) {
			var got []told
			for _, l := range sceneOf(t, c.trial).Lanes {
				for _, b := range l.Bars {
					switch b.Look {
					case barHold, barRead, barGone, barWait:
						ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
						got = append(got, told{b.Client, b.Look, ms(b.From), ms(b.To)})
					}
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			for i, w := range c.want {
				if got[i] != w {
					t.Errorf("got %v, want %v", got[i], w)
				}
			}
		})
	}
}

func sceneOf(t *testing.T, name string) scene {
	t.Helper()
	return newScene(focusOf(t, name), nil)
}

func focusOf(t *testing.T, name string) story.Focus {
	t.Helper()
	for _, s := range reporttest.Trials(t) {
		if s.Name == name {
			return focusOn(t, s)
		}
	}
	t.Fatalf("no trial %q", name)
	return story.Focus{}
}

func focusOn(t *testing.T, s reporttest.Trial) story.Focus {
	t.Helper()
	f, ok := story.FocusOn(story.Trial{Title: s.Lock + " under " + s.Fault, Verdicts: s.Verdicts, Declared: s.Flaws(), Evidence: s.Evidence})
	if !ok {
		t.Fatal("no finding to focus on")
	}
	return f
}
