package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// scene is a timeline as data: what is drawn on which lane, and when.
type scene struct {
	Title, Subtitle string
	From, To        time.Duration
	Lanes           []lane // from top to bottom
	// Harm is the interval of the finding that is told, over all lanes.
	Harm      sceneSpan
	HarmLabel string
}

// sceneSpan is an interval; Forever: it does not end.
type sceneSpan struct {
	From, To time.Duration
	Forever  bool
}

// laneKind decides a lane's height and how its bars look.
type laneKind int

const (
	faultLane laneKind = iota
	findingLane
	clientLane
	nodeLane
)

// lane is one row of the timeline.
type lane struct {
	Kind   laneKind
	Label  string
	Node   string // whose keys it shows, if it shows keys
	Bars   []bar
	Marks  []mark
	Shades []shade
	// Dead is from when on nothing happens here any more; 0 = it lives.
	Dead time.Duration
}

// shade colours a lane's background while a fault is aimed at it.
type shade struct {
	From, To time.Duration
	Fault    string
}

// barStyle is how a bar looks.
type barStyle int

const (
	barHold    barStyle = iota // a believed hold
	barRead                    // a believed hold of a reader
	barAttempt                 // an operation under way
	barBusy                    // an attempt that was refused
	barUnknown                 // an operation that may or may not have happened
	barKey                     // a key carrying a client's claim
	barKeyEver                 // the same, without an expiry
	barFault
	barFinding
	barOther // a finding other than the one that is told
)

// bar is an interval on a lane.
type bar struct {
	From, To time.Duration
	Style    barStyle
	Client   int // whose colour; history.NoClient for none
	Fault    string
	Label    string
}

// markShape is how an instant looks.
type markShape int

const (
	markRead markShape = iota
	markWrite
	markLost
	markCrash
	markSet
	markRenewed
	markDeleted
	markExpired
	markGone // lost by the node
	markEvent
)

// mark is an instant on a lane.
type mark struct {
	At     time.Duration
	Shape  markShape
	Client int
	// Foreign: the command changed what carried another client's claim.
	Foreign bool
	Label   string
}

// newScene lays a trial out around its most telling finding.
func newScene(t trial.Result, e history.Evidence, f focus) scene {
	s := scene{
		Title:     trialTitle(t),
		Subtitle:  sceneSubtitle(f),
		From:      f.From,
		To:        f.To,
		Harm:      sceneSpan{From: f.Finding.From, To: max(f.Finding.From, f.Finding.To), Forever: f.Finding.Forever},
		HarmLabel: harmLabel(f),
	}
	s.Lanes = append(s.Lanes, faultLanes(e.Ops, f)...)
	s.Lanes = append(s.Lanes, findingLanes(f)...)
	for _, c := range clients(e) {
		s.Lanes = append(s.Lanes, newClientLane(c, e, f))
	}
	s.Lanes = append(s.Lanes, nodeLanes(e, f)...)
	return s
}

func sceneSubtitle(f focus) string {
	text := fmt.Sprintf("%s, cause %s", f.Finding.Oracle, f.Finding.Cause)
	if f.From > 0 || f.To < f.End {
		text += fmt.Sprintf(" · shown: %s to %s of a trial of %s", instant(f.From), instant(f.To), length(f.End))
	}
	return text
}

// harmLabel says in a few words what the marked interval is.
func harmLabel(x focus) string {
	f, holds := x.Finding, x.involved()
	took := f.To - f.From
	mixed := slices.ContainsFunc(holds, func(h checker.Hold) bool { return h.Mode == history.Read }) &&
		slices.ContainsFunc(holds, func(h checker.Hold) bool { return h.Mode == history.Write })
	switch {
	case f.Forever:
		return "blocked for ever"
	case f.Oracle == "conduct":
		return string(f.Cause)
	case f.Oracle == "liveness":
		return "blocked for " + length(took)
	case took <= 0:
		return f.Oracle + " violated"
	case f.Oracle == "exclusion" && mixed:
		return "a writer beside a reader for " + length(took)
	case f.Oracle == "exclusion":
		if n := crowd(f, x.holds); n > 2 {
			return fmt.Sprintf("up to %d holders for %s", n, length(took))
		}
		return "two holders for " + length(took)
	}
	return f.Oracle + " violated"
}

// crowd counts the clients that held the lock at one time within the marked interval.
func crowd(f found, holds []checker.Hold) (most int) {
	for _, at := range holds {
		inside := map[int]bool{}
		for _, h := range holds {
			if now := max(at.From, f.From); h.Lock == at.Lock && (f.Lock == "" || h.Lock == f.Lock) && now < f.To && h.From <= now && now < h.To {
				inside[h.Client] = true
			}
		}
		most = max(most, len(inside))
	}
	return most
}

// clients lists the clients of the evidence, in order.
func clients(e history.Evidence) []int {
	seen := map[int]bool{}
	for _, op := range e.Ops {
		if op.Client >= 0 {
			seen[op.Client] = true
		}
	}
	for _, c := range e.Commands {
		if c.Client >= 0 {
			seen[c.Client] = true
		}
	}
	all := make([]int, 0, len(seen))
	for c := range seen {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}

// thin leaves out what would cover its like: refused attempts become one bar,
// and marks one mark, where they are closer than a point.
func (s scene) thin() scene {
	point := (s.To - s.From) / (timelineWidth - 80)
	s.Lanes = slices.Clone(s.Lanes)
	for i, l := range s.Lanes {
		var bars []bar
		last := -1
		for _, b := range l.Bars {
			if b.Style == barBusy && last >= 0 && b.From-bars[last].To < point {
				bars[last].To = max(bars[last].To, b.To)
				continue
			}
			if b.Style == barBusy {
				last = len(bars)
			}
			bars = append(bars, b)
		}
		var marks []mark
		at := map[mark]time.Duration{}
		for _, m := range l.Marks {
			kind := m
			kind.At = 0
			if before, ok := at[kind]; ok && m.At-before < point {
				continue
			}
			at[kind] = m.At
			marks = append(marks, m)
		}
		s.Lanes[i].Bars, s.Lanes[i].Marks = bars, marks
	}
	return s
}

// length writes a length of time as people read it: "1.105 s", "92 ms".
func length(d time.Duration) string {
	trim := func(x float64, decimals int) string {
		text := strconv.FormatFloat(x, 'f', decimals, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	switch abs := d.Abs(); {
	case abs == 0:
		return "0 s"
	case abs < time.Microsecond:
		return strconv.FormatInt(d.Nanoseconds(), 10) + " ns"
	case abs < 100*time.Microsecond:
		return trim(float64(d.Nanoseconds())/1e3, 3) + " µs"
	case abs < time.Millisecond:
		return trim(float64(d.Nanoseconds())/1e6, 3) + " ms"
	case abs < time.Second:
		return trim(float64(d.Nanoseconds())/1e6, 1) + " ms"
	}
	return trim(d.Seconds(), 3) + " s"
}

// words makes sentences of findings, with times as all others in reports.
var words = checker.Style{Instant: instant, Length: length}

// instant writes a time since the trial's start: seconds with three decimals,
// and a fourth if it says something.
func instant(d time.Duration) string {
	text := strconv.FormatFloat(d.Seconds(), 'f', 4, 64)
	return strings.TrimSuffix(text, "0") + " s"
}

// Roughly writes how long something took as a person would: "4.1 s", "41 s",
// "6m40s", "3h12m".
func Roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
