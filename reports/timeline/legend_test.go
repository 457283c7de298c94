package timeline

import (
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

func TestLegendExplainsEveryLook(t *testing.T) {
	names := map[string]bool{}
	for _, s := range samples {
		if names[s.name] {
			t.Errorf("two samples are named %q", s.name)
		}
		names[s.name] = true
	}
	explained := func(name string, l lane) {
		t.Helper()
		for _, s := range samples {
			if s.name == name && (scene{To: 1, Lanes: []lane{l}}).has(s) {
				return
			}
		}
		t.Errorf("no sample %q explains %+v", name, l)
	}
	for b := barWait; b <= barOther; b++ {
		explained(barSamples[b].name, lane{Bars: []bar{{Style: b}}})
	}
	for m := markRead; m <= markEvent; m++ {
		explained(markSamples[m].name, lane{Marks: []mark{{Shape: m}}})
	}
	explained("shade", lane{Shades: []shade{{To: 1}}})
	explained("dead", lane{Dead: 1})
	explained("foreign", lane{Marks: []mark{{Foreign: true}}})
	explained("harm", lane{Bars: []bar{{Style: barFinding}}})
}

// The legend stands below the lanes. No entry overlaps the next one or leaves the picture.
func TestLegendHasRoom(t *testing.T) {
	var everything lane
	for b := barWait; b <= barOther; b++ {
		everything.Bars = append(everything.Bars, bar{Style: b, To: time.Second})
	}
	for m := markRead; m <= markEvent; m++ {
		everything.Marks = append(everything.Marks, mark{Shape: m, Foreign: true})
	}
	everything.Shades, everything.Dead = []shade{{To: 1}}, 1
	p := newPainter(scene{To: time.Second, Lanes: []lane{everything}}, func(string) string { return "" })
	rows, count := p.legendRows(), 0
	for _, row := range rows {
		x := vg.Length(8)
		for _, s := range row {
			x += sampleWidth(s)
			count++
		}
		if x > fullWidth-24 {
			t.Errorf("a row of the legend is %v points wide, and the picture %v", x, fullWidth-24)
		}
	}
	if count != len(samples) {
		t.Errorf("the legend has %d of %d samples", count, len(samples))
	}
}

func TestLanesTellBeliefsAndWaits(t *testing.T) {
	type told struct {
		client   int
		style    barStyle
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
					switch b.Style {
					case barHold, barRead, barGone, barWait:
						ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
						got = append(got, told{b.Client, b.Style, ms(b.From), ms(b.To)})
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
	return newScene(focusOf(t, name))
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
