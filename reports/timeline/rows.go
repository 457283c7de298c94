package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
	"github.com/lockstorm/lockstorm/reports/story"
)

// row describes one item that a bar or a mark stands for: an operation from its invocation to its
// completion, a command from its sending until it ran, a fault, a finding, or an event.
type row struct {
	From, To  time.Duration // equal for an instant
	Who, What string
	Open      bool // the operation, the fault or the finding has no end, or it is unknown when the command ran
	// order decides between rows of the same time: it is the index of an operation's invocation.
	order int
}

// String returns the row as one line.
func (r row) String() string {
	times := wording.Stamp(r.From) + " s"
	switch {
	case r.Open:
		times += " to ?"
	case r.To != r.From:
		times = wording.Stamp(r.From) + " to " + wording.Stamp(r.To) + " s"
	}
	return r.Who + ": " + r.What + " (" + times + ")"
}

// tell returns the title of a bar in an SVG file, where every byte counts: one line for each of its
// rows. A believed hold or a bar without rows has its label as the title. If the outcome of an
// operation is known, the title omits its commands: the marks of the keys show them.
func (s scene) tell(l lane, b bar) string {
	believed := b.Style == barHold || b.Style == barRead || b.Style == barGone // the operation that began the hold has another bar
	if b.Label != "" && (believed || len(b.Rows) == 0) {
		return row{From: b.From, To: b.To, Who: l.Label, What: b.Label}.String()
	}
	rows := b.Rows
	if b.Style == barAttempt || b.Style == barBusy {
		rows = rows[:1]
	}
	lines := s.lines(rows)
	if b.Times > 1 && len(lines) > 0 {
		lines[0] = fmt.Sprintf("%d attempts, the first: %s", b.Times, lines[0])
	}
	return strings.Join(lines, "\n")
}

func (s scene) lines(rows []int) []string {
	var lines []string
	for _, n := range rows {
		lines = append(lines, s.Rows[n].String())
	}
	return lines
}

// book collects the rows of a scene. Each operation and each command is in it once.
type book struct {
	f        story.Focus
	rows     []row
	ops      map[int]int   // row by index of the invocation
	commands map[int]int   // row by index of the command
	sent     map[int][]int // indices of commands by invocation
}

func newBook(f story.Focus) *book {
	b := &book{f: f, ops: map[int]int{}, commands: map[int]int{}, sent: map[int][]int{}}
	for _, c := range f.Commands {
		if c.N > 0 || c.Phase == "" { // without handshakes
			b.sent[c.Op] = append(b.sent[c.Op], c.Index)
		}
	}
	return b
}

func (b *book) add(r row) []int {
	b.rows = append(b.rows, r)
	return []int{len(b.rows) - 1}
}

// used returns the rows that bars and marks of the lanes name, sorted by time. In the lanes, it replaces
// the numbers of the rows by indices in the result.
func (b *book) used(lanes []lane) []row {
	var named []int
	each := func(change func([]int) []int) {
		for _, l := range lanes {
			for i := range l.Bars {
				l.Bars[i].Rows = change(l.Bars[i].Rows)
			}
			for i := range l.Marks {
				l.Marks[i].Rows = change(l.Marks[i].Rows)
			}
		}
	}
	each(func(rows []int) []int {
		named = append(named, rows...)
		return rows
	})
	slices.Sort(named)
	named = slices.Compact(named)
	slices.SortStableFunc(named, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.rows[i].From, b.rows[j].From), cmp.Compare(b.rows[i].order, b.rows[j].order))
	})
	number := map[int]int{}
	out := make([]row, len(named))
	for i, n := range named {
		number[n], out[i] = i, b.rows[n]
	}
	each(func(rows []int) []int {
		fresh := make([]int, len(rows))
		for i, n := range rows {
			fresh[i] = number[n]
		}
		return fresh
	})
	return out
}

// operation returns the rows of an operation and its commands.
func (b *book) operation(p history.Pair) []int {
	n, ok := b.ops[p.Invoke.Index]
	if !ok {
		r := row{From: p.Invoke.Time, To: p.Invoke.Time, Who: history.ClientName(p.Invoke.Client), What: operationWords(p), Open: p.Complete == nil, order: p.Invoke.Index}
		if p.Complete != nil {
			r.To = p.Complete.Time
		}
		n = b.add(r)[0]
		b.ops[p.Invoke.Index] = n
	}
	rows := []int{n}
	for _, c := range b.sent[p.Invoke.Index] {
		rows = append(rows, b.command(c)...)
	}
	return rows
}

func (b *book) command(index int) []int {
	if n, ok := b.commands[index]; ok {
		return []int{n}
	}
	c, ok := facts.CommandAt(b.f.Commands, index)
	if !ok {
		return nil
	}
	r := row{From: c.Sent, To: max(c.Sent, c.Served), Who: fmt.Sprintf("c%d → %s", c.Client, c.Node), What: story.CommandText(c, b.f.Claims.ScriptNames), Open: c.Served == 0}
	rows := b.add(r)
	b.commands[index] = rows[0]
	return rows
}

// hold returns the rows of the operation that began a hold.
func (b *book) hold(h checker.Hold) []int {
	if p, ok := heldBy(h, b.f); ok {
		return b.operation(p)
	}
	return nil
}

func (b *book) event(at time.Duration, who, what string) []int {
	return b.add(row{From: at, To: at, Who: who, What: what})
}

func (b *book) keyEvent(x facts.Event) []int {
	if rows := b.command(x.Command); rows != nil {
		return rows
	}
	return b.event(x.At, x.Node, wording.Printable(x.Key)+" "+string(x.Kind))
}

func (b *book) fault(w facts.Window) []int {
	closed := &w.Window
	if w.Open {
		closed = nil
	}
	what := strings.TrimSpace(w.Fault+" "+w.Target()) + ": " + wording.Plain(story.WindowWords(w.Window, closed))
	return b.add(row{From: w.From, To: w.To, Who: "nemesis", What: what, Open: w.Open})
}

func (b *book) finding(x story.Finding) []int {
	r := row{From: x.From, To: max(x.From, x.To), Who: x.Oracle, What: string(x.Cause), Open: x.Forever}
	if summary := story.Words.Summary(x.Finding); summary != "" {
		r.What += ": " + wording.Plain(summary)
	}
	return b.add(r)
}

// operationWords describes an operation: what was invoked, by which process, and how it completed.
func operationWords(p history.Pair) string {
	end := p.Invoke
	if p.Complete != nil {
		end = p.Complete
	}
	text := p.Invoke.F
	if p.Invoke.Mode != "" {
		text += " (" + string(p.Invoke.Mode) + ")"
	}
	if p.Invoke.Lock != "" {
		text += " " + wording.Printable(p.Invoke.Lock)
	}
	text += fmt.Sprintf(", process %d: %s", p.Invoke.Process, p.Done())
	if end.Reason != "" {
		text += " (" + string(end.Reason) + ")"
	}
	if len(end.Value) > 0 {
		text += ", value " + numbers(end.Value)
	}
	if end.Lease != nil {
		text += leaseWords(*end.Lease)
	}
	if end.Error != "" {
		text += ", " + wording.Printable(wording.FirstLine(end.Error))
	}
	return text
}

func leaseWords(l history.Lease) string {
	text := ""
	if l.Token != "" {
		text += ", token " + story.ShortArg(l.Token)
	}
	if l.Fence != 0 {
		text += ", fence " + strconv.FormatInt(l.Fence, 10)
	}
	if l.Deadline > 0 {
		text += ", until " + wording.Instant(l.Deadline) + " by its clock"
	}
	return text
}

func numbers(values []int64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(words, " ")
}
