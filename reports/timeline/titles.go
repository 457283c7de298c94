package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/story"
)

// titles writes the titles of bars and marks: a line for each operation, command, fault, finding or
// event that the bar or the mark stands for.
type titles struct{ story.Focus }

// line describes an item. open: the item has no end, or its end is unknown.
func line(who, what string, from, to time.Duration, open bool) string {
	times := wording.Stamp(from) + " s"
	switch {
	case open:
		times += " to ?"
	case to > from:
		times = wording.Stamp(from) + " to " + wording.Stamp(to) + " s"
	}
	return who + ": " + what + " (" + times + ")"
}

// operation describes an operation, with the token and the fence of its lease. If its outcome is unknown, its
// commands follow.
func (t titles) operation(p history.Pair) string {
	end, open := *p.Invoke, p.Complete == nil
	if end.Type = history.Info; !open {
		end = *p.Complete
	}
	what := story.OpText(end)
	if l := end.Lease; l != nil && l.Token != "" {
		what += ", token " + story.ShortArg(l.Token)
	}
	if l := end.Lease; l != nil && l.Fence != 0 {
		what += ", fence " + strconv.FormatInt(l.Fence, 10)
	}
	lines := []string{line(history.ClientName(end.Client), what, p.Invoke.Time, end.Time, open)}
	for _, c := range t.Commands {
		if p.Done() == history.Info && c.Op == p.Invoke.Index && (c.N > 0 || c.Phase == "") { // without handshakes
			lines = append(lines, t.command(c))
		}
	}
	return strings.Join(lines, "\n")
}

func (t titles) command(c history.Command) string {
	return line(fmt.Sprintf("c%d → %s", c.Client, c.Node), story.CommandText(c, t.Claims.ScriptNames), c.Sent, max(c.Sent, c.Served), c.Served == 0)
}

// hold describes a believed hold, and the operation that began it.
func (t titles) hold(h checker.Hold, b bar) string {
	text := line(history.ClientName(h.Client), b.Label, b.From, b.To, false)
	if p, ok := heldBy(h, t.Focus); ok {
		text += "\n" + t.operation(p)
	}
	return text
}

func (t titles) keyEvent(x facts.Event) string {
	if c, ok := facts.CommandAt(t.Commands, x.Command); ok {
		return t.command(c)
	}
	return line(x.Node, wording.Printable(x.Key)+" "+string(x.Kind), x.At, x.At, false)
}

func (t titles) fault(w facts.Window) string {
	closed := &w.Window
	if w.Open {
		closed = nil
	}
	what := strings.TrimSpace(w.Fault+" "+w.Target()) + ": " + wording.Plain(story.WindowWords(w.Window, closed))
	return line("nemesis", what, w.From, w.To, w.Open)
}

func (t titles) finding(x story.Finding) string {
	what := string(x.Cause)
	if summary := story.Words.Summary(x.Finding); summary != "" {
		what += ": " + wording.Plain(summary)
	}
	return line(x.Oracle, what, x.From, max(x.From, x.To), x.Forever)
}
