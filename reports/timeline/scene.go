package timeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/story"
)

// scene is a timeline as data: lanes with bars and marks.
type scene struct {
	Title, Subtitle string
	From, To        time.Duration
	Lanes           []lane // from top to bottom
	// Harm is the interval of the finding in focus. It is drawn across all lanes.
	Harm      sceneSpan
	HarmLabel string
	// Rows are the items that bars and marks stand for, each once.
	Rows []row
}

// sceneSpan is an interval. If Forever is set, the interval has no end.
type sceneSpan struct {
	From, To time.Duration
	Forever  bool
}

// laneKind determines a lane's height and background.
type laneKind int

const (
	faultLane laneKind = iota
	findingLane
	clientLane
	nodeLane
)

// lane is one horizontal strip of the timeline.
type lane struct {
	Kind   laneKind
	Label  string
	Node   string // the node whose keys the lane shows; "" for other lanes
	Bars   []bar
	Marks  []mark
	Shades []shade
	// Dead is when the client or node stopped for ever; 0 = never.
	Dead time.Duration
}

// shade marks a lane's background while a fault is aimed at the lane.
type shade struct {
	From, To time.Duration
	Fault    string
}

type barStyle int

const (
	barWait    barStyle = iota // from the first refused attempt to the last attempt's end
	barHold                    // a believed hold
	barRead                    // a believed hold of a reader
	barGone                    // a believed hold whose key is gone
	barAttempt                 // an operation that succeeded
	barBusy                    // an operation that was refused
	barUnknown                 // an operation that may or may not have happened
	barKey                     // a key carrying a client's grant
	barKeyEver                 // a key carrying a client's grant, without an expiry
	barFault
	barFinding
	barOther // a finding other than the one in focus
)

// bar is an interval on a lane.
type bar struct {
	From, To time.Duration
	Style    barStyle
	Client   int // the client whose colour the bar has; history.NoClient for none
	Fault    string
	Label    string
	// Times is the number of attempts that the bar stands for; 0 = one.
	Times int
	// Rows are the bar's rows, as indices in scene.Rows.
	Rows []int
}

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
	markGone // lost by the node, evicted or moved
	markEvent
)

// mark is an instant on a lane.
type mark struct {
	At     time.Duration
	Shape  markShape
	Client int
	// Foreign: the command changed a key that carried another client's grant.
	Foreign bool
	Label   string
	Rows    []int // the mark's rows, as indices in scene.Rows
}

func newScene(f story.Focus) scene {
	s := scene{
		Title:     f.Title,
		Subtitle:  sceneSubtitle(f),
		From:      f.From,
		To:        f.To,
		Harm:      sceneSpan{From: f.Finding.From, To: max(f.Finding.From, f.Finding.To), Forever: f.Finding.Forever},
		HarmLabel: harmLabel(f),
	}
	b := newBook(f)
	s.Lanes = append(s.Lanes, faultLanes(f, b)...)
	s.Lanes = append(s.Lanes, findingLanes(f, b)...)
	for _, c := range clients(f.Evidence) {
		s.Lanes = append(s.Lanes, newClientLane(c, f, b))
	}
	s.Lanes = append(s.Lanes, nodeLanes(f, b)...)
	s = s.thin()
	s.Rows = b.used(s.Lanes)
	return s
}

func sceneSubtitle(f story.Focus) string {
	text := fmt.Sprintf("%s, cause %s", f.Finding.Oracle, f.Finding.Cause)
	if f.From > 0 || f.To < f.End {
		text += fmt.Sprintf(" · shown: %s to %s of a trial of %s", wording.Instant(f.From), wording.Instant(f.To), wording.Length(f.End))
	}
	return text
}

// harmLabel describes the harm in a few words.
func harmLabel(x story.Focus) string {
	f, holds := x.Finding, x.Involved()
	took := f.To - f.From
	mixed := slices.ContainsFunc(holds, func(h checker.Hold) bool { return h.Mode == history.Read }) &&
		slices.ContainsFunc(holds, func(h checker.Hold) bool { return h.Mode == history.Write })
	switch {
	case f.Forever:
		return "blocked for ever"
	case f.Breaks():
		return string(f.Cause)
	case f.Denies():
		return "a false answer"
	case f.Blocks():
		return "blocked for " + wording.Length(took)
	case took <= 0:
		return f.Oracle + " violated"
	case f.Overlaps() && mixed:
		return "a writer beside a reader for " + wording.Length(took)
	case f.Overlaps():
		if n := crowd(f, x.Holds); n > 2 {
			return fmt.Sprintf("up to %d holders for %s", n, wording.Length(took))
		}
		return "two holders for " + wording.Length(took)
	}
	return f.Oracle + " violated"
}

// crowd returns the maximum number of clients that held the lock at once during the harm.
func crowd(f story.Finding, holds []checker.Hold) (most int) {
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

// clients lists the clients of the evidence, sorted.
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

// thin merges refused attempts and equal marks that are less than a point apart.
func (s scene) thin() scene {
	point := (s.To - s.From) / (fullWidth - 80)
	s.Lanes = slices.Clone(s.Lanes)
	for i, l := range s.Lanes {
		var bars []bar
		last := -1
		for _, b := range l.Bars {
			if b.Style == barBusy && last >= 0 && b.From-bars[last].To < point {
				bars[last].To = max(bars[last].To, b.To)
				bars[last].Times = max(bars[last].Times, 1) + 1
				continue
			}
			if b.Style == barBusy {
				last = len(bars)
			}
			bars = append(bars, b)
		}
		var marks []mark
		type look struct {
			shape   markShape
			client  int
			foreign bool
			label   string
		}
		at := map[look]time.Duration{}
		for _, m := range l.Marks {
			kind := look{m.Shape, m.Client, m.Foreign, m.Label}
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
