package timeline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/reporttest"
	"github.com/lockstorm/lockstorm/reports/story"
)

// faultColors are the colours of faults in the golden files.
var faultColors = map[string]string{
	"client-crash": "#d32f2f", "client-pause": "#f57c00", "partition": "#1976d2", "lost-reply": "#7b1fa2", "delay": "#fbc02d",
	"node-pause": "#00796b", "node-restart": "#388e3c", "failover": "#c2185b", "split-brain": "#880e4f",
	"client-skew": "#afb42b", "node-clock": "#827717", "eviction": "#3949ab",
}

// drawn returns the trials whose timelines are tested: the recorded trials, one per cause, and the
// hand-made trials of other cases.
func drawn(t *testing.T) []reporttest.Trial {
	t.Helper()
	recorded := reporttest.Recorded(t, "../testdata/recorded")
	return append(reporttest.Unrecorded(t, recorded), recorded...)
}

func faultColor(fault string) string { return faultColors[fault] }

// asText writes a scene as lines, so that a change of it can be reviewed.
func asText(s scene) []byte {
	var b bytes.Buffer
	at := wording.Stamp
	fmt.Fprintf(&b, "%s\n%s\nharm %s to %s: %s\naxis", s.Title, s.Subtitle, at(s.Harm.From), at(s.Harm.To), s.Harm.Label)
	for _, x := range s.Axis {
		fmt.Fprintf(&b, " %s", at(x.At))
	}
	for i, x := range s.Steps {
		fmt.Fprintf(&b, "\nstep %d at %s in lane %d", i+1, at(x.At), x.Lane)
	}
	for _, a := range s.Arrows {
		fmt.Fprintf(&b, "\narrow from lane %d at %s to lane %d at %s", a.From, at(a.Sent), a.To, at(a.Came))
	}
	for i, l := range s.Lanes {
		fmt.Fprintf(&b, "\nlane %d %s", i, l.Label)
		if l.Dead > 0 {
			fmt.Fprintf(&b, " stopped at %s", at(l.Dead))
		}
		for _, x := range l.Shades {
			fmt.Fprintf(&b, "\n  shade %s to %s %s", at(x.From), at(x.To), x.Fault)
		}
		for _, x := range l.Bars {
			fmt.Fprintf(&b, "\n  %s c%d %s to %s %q%s\n    %s", x.Look.Name, x.Client, at(x.From), at(x.To), x.Label, strings.Repeat(" x", len(x.Refused)), strings.ReplaceAll(x.Title, "\n", "\n    "))
		}
		for _, x := range l.Marks {
			fmt.Fprintf(&b, "\n  %s c%d %s foreign=%v %q\n    %s", x.Look.Name, x.Client, at(x.At), x.Foreign, x.Label, strings.ReplaceAll(x.Title, "\n", "\n    "))
		}
	}
	return append(b.Bytes(), '\n')
}

func TestEveryCauseHasItsTimeline(t *testing.T) {
	for _, s := range drawn(t) {
		t.Run(s.Name, func(t *testing.T) {
			f := focusOn(t, s)
			steps := story.Tell(f).Steps
			reporttest.Golden(t, s.Name+".txt", asText(newScene(f, steps)))
			for _, alone := range []bool{true, false} {
				got, err := Draw(f, steps, faultColor, alone)
				if err != nil {
					t.Fatal(err)
				}
				reporttest.WellFormed(t, got)
				if again, _ := Draw(f, steps, faultColor, alone); !bytes.Equal(got, again) {
					t.Error("the same trial gave different bytes")
				}
			}
		})
	}
}

// Each bar, mark, late message and step has a title, a number as in the story, and a place in the picture.
func TestEveryItemHasATitleAndAPlace(t *testing.T) {
	for _, s := range drawn(t) {
		f := focusOn(t, s)
		p := newPicture(newScene(f, story.Tell(f).Steps), faultColor)
		items := p.Items
		for _, row := range p.Rows {
			items = append(items, row.Items...)
		}
		for _, x := range items {
			if x.Title == "" {
				t.Errorf("%s: no title: %+v", s.Name, x)
			}
			if x.X < 0 || x.X > p.Plot+.1 || slices.ContainsFunc(x.Bars, func(b shape) bool { return b.W < least || b.X < 0 || b.X > p.Plot+.1 }) {
				t.Errorf("%s: not in the picture: %+v", s.Name, x)
			}
		}
		if len(p.Numbers) != len(p.Steps) {
			t.Errorf("%s: %d numbers for %d steps", s.Name, len(p.Numbers), len(p.Steps))
		}
		for i, n := range p.Numbers {
			if n.Number != i+1 || n.Title == "" || n.X+n.Shift < 0 || n.X+n.Shift > p.Plot {
				t.Errorf("%s: step %d is %+v", s.Name, i+1, n)
			}
		}
		if !slices.ContainsFunc(p.Steps, func(x step) bool { return x.Lane >= 0 }) && len(p.Steps) > 2 {
			t.Errorf("%s: no step has a lane", s.Name)
		}
	}
}

// Steps within a millisecond have places of their own, on an axis of a second, and the numbers stand apart.
func TestAxisHasRoomForEachStep(t *testing.T) {
	var a axis
	for i := range 9 {
		a = append(a, stop{At: time.Second + time.Duration(i)*100*time.Microsecond, Step: true})
	}
	a = append(axis{{At: 0}}, a...)
	a = append(a, stop{At: 1200 * time.Millisecond})
	r := a.over(880)
	for i := 2; i < len(a)-1; i++ {
		if got := r.x(a[i].At) - r.x(a[i-1].At); got < besideStep {
			t.Errorf("%.1f pixels between steps, want at least %d", got, besideStep)
		}
	}
	if got := r.x(a[1].At); got > 400 {
		t.Errorf("the wait takes %.0f of 880 pixels", got)
	}
	last := -1.0
	for at := time.Duration(0); at <= 1200*time.Millisecond; at += 7 * time.Millisecond {
		if x := r.x(at); x <= last {
			t.Fatalf("%v is not to the right of what came before", at)
		} else {
			last = x
		}
	}
	if x := r.x(1200 * time.Millisecond); x < 879.9 || x > 880.1 {
		t.Errorf("the end is at %.1f", x)
	}
}

// A release that comes late is an arrow from its client to its node.
func TestALateMessageIsAnArrow(t *testing.T) {
	for _, s := range reporttest.Recorded(t, "../testdata/recorded") {
		if s.Name != "late-command" {
			continue
		}
		scene := newScene(focusOn(t, s), nil)
		for _, a := range scene.Arrows {
			if scene.Lanes[a.From].Label == "c1" && scene.Lanes[a.To].Node == "n0" && a.Came-a.Sent > time.Second {
				return
			}
		}
		t.Errorf("got %+v", scene.Arrows)
	}
}
