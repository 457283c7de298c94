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

// scene is a timeline as data, in the trial's time. Lanes, here and below, are indices in Lanes.
type scene struct {
	Title, Subtitle string
	Axis            axis
	Lanes           []lane // from top to bottom
	Steps           []step
	Arrows          []arrow
	// Harm is the interval of the finding in focus. It is drawn across all lanes.
	Harm span
}

type span struct {
	From, To time.Duration
	Forever  bool // it has no end
	Label    string
}

// step is a numbered step of the story.
type step struct {
	At   time.Duration
	Lane int // where it happened; -1 = nowhere in particular
	Text string
}

// arrow is a message that came late: a command, or the reply to one.
type arrow struct {
	Sent, Came time.Duration
	From, To   int // lanes
	Title      string
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

// bar is an interval on a lane.
type bar struct {
	From, To time.Duration
	Look     *look
	Client   int // the client whose colour the bar has; history.NoClient for none
	Fault    string
	Label    string
	Refused  []span // the refused attempts of a wait
	Title    string // see titles
}

// mark is an instant on a lane.
type mark struct {
	At     time.Duration
	Look   *look
	Client int
	// Foreign: the command changed a key that carried another client's grant.
	Foreign bool
	Label   string
	Title   string // see titles
}

// newScene makes the picture of the part of a trial in focus, with the steps of its story.
func newScene(f story.Focus, told []story.Step) scene {
	t := titles{f}
	s := scene{
		Title:    f.Title,
		Subtitle: sceneSubtitle(f),
		Harm:     span{From: f.Finding.From, To: max(f.Finding.From, f.Finding.To), Forever: f.Finding.Forever, Label: harmLabel(f)},
	}
	s.Lanes = append(faultLanes(t), findingLanes(t)...)
	for _, c := range clients(f.Evidence) {
		s.Lanes = append(s.Lanes, newClientLane(c, t))
	}
	s.Lanes = append(s.Lanes, nodeLanes(t)...)
	for _, x := range told {
		s.Steps = append(s.Steps, step{At: x.At, Lane: s.laneOf(x.On), Text: x.Text})
	}
	s.Arrows = s.arrows(t)
	s.Axis = newAxis(f, s)
	return s
}

// laneOf returns the first lane of a client or a node; -1 if it has none.
func (s scene) laneOf(name string) int {
	return slices.IndexFunc(s.Lanes, func(l lane) bool { return name != "" && (l.Node == name || l.Kind == clientLane && l.Label == name) })
}

// arrows returns the commands of the story's clients that came late, and the late replies.
func (s scene) arrows(t titles) (out []arrow) {
	for _, c := range t.Commands {
		client, node := s.laneOf(history.ClientName(c.Client)), s.laneOf(c.Node)
		named := slices.Contains(t.Finding.Commands, c.Index)
		if client < 0 || node < 0 || !named && (c.N == 0 && c.Phase != "" || !slices.Contains(t.Cast, c.Client)) || !c.Ran() {
			continue
		}
		a := arrow{Sent: c.Sent, Came: c.Served, From: client, To: node, Title: t.command(c)}
		if c.Served-c.Sent <= story.Lateness {
			a.Sent, a.Came, a.From, a.To = c.Served, c.Replied, node, client
		}
		if a.Came-a.Sent > story.Lateness && overlaps(a.Sent, a.Came, t.From, t.To) {
			out = append(out, a)
		}
	}
	return out
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
