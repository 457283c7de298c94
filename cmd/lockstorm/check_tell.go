package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

// telling is the most informative finding, with the entries that show it.
type telling struct {
	oracle  string
	finding checker.Finding
	ops     []history.Op // in order
	holds   []checker.Hold
	pairs   []history.Pair
	end     time.Duration
}

// tellingOrder ranks the oracles by whose finding is told.
var tellingOrder = []string{"exclusion", checker.LinearizableName, "fencing", "reentrancy", "extension", "resource", "ownership", "conduct", "liveness"}

// tellingOf picks the first finding of the first violated oracle, preferably
// undeclared; the zero telling if nothing is violated.
func tellingOf(result trial.Result, e history.Evidence) telling {
	var t telling
	best := 2 * (len(tellingOrder) + 1)
	for _, v := range result.Verdicts {
		rank := slices.Index(tellingOrder, v.Oracle)
		if rank < 0 {
			rank = len(tellingOrder)
		}
		shown, _ := reports.Listed(result, v)
		if v.Result != checker.Violated || len(shown) == 0 {
			continue
		}
		if reports.Declared(result, v.Oracle, shown[0].Cause) {
			rank += len(tellingOrder) + 1
		}
		if rank < best {
			best, t.oracle, t.finding = rank, v.Oracle, shown[0]
		}
	}
	if t.oracle == "" {
		return t
	}
	t.pairs, _ = history.Pairs(e.Ops) // an impossible history has no findings
	t.holds, _ = checker.Holds(e)
	shown := map[int]bool{}
	for _, i := range t.finding.Ops {
		shown[i] = true
	}
	for _, p := range t.pairs { // the acquire is asked for before it is granted
		if p.Complete != nil && shown[p.Complete.Index] && p.Invoke.F == history.FAcquire {
			shown[p.Invoke.Index] = true
		}
	}
	for _, op := range e.Ops {
		if shown[op.Index] {
			t.ops = append(t.ops, op)
		}
		t.end = op.Time
	}
	return t
}

// entries are the entries that show it, as they stand in the history.
func (t telling) entries() []history.Op { return append([]history.Op{}, t.ops...) }

// print shows the entries and the time around them.
func (t telling) print(w io.Writer) {
	if t.oracle == "" || len(t.ops) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThe entries that show it (%s):\n", t.oracle)
	rows := plainTable("entry", "time", "who", "what")
	type row struct {
		at    time.Duration
		cells table.Row
	}
	var all []row
	for _, op := range t.ops {
		all = append(all, row{op.Time, table.Row{op.Index, instant(op.Time), who(op), entryWords(op)}})
	}
	for _, h := range t.holds {
		if h.ToWhy == checker.ByDeadline && slices.Contains(t.finding.Ops, h.Acquire) {
			all = append(all, row{h.To, table.Row{"", instant(h.To), fmt.Sprintf("c%d", h.Client), "its clock shows the deadline that it claimed"}})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	for _, r := range all {
		rows.AppendRow(r.cells)
	}
	fmt.Fprintln(w, rows.Render())
	fmt.Fprint(w, t.picture())
}

func instant(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }

func who(op history.Op) string {
	switch {
	case op.Process == history.Nemesis:
		return "nemesis"
	case int(op.Process) != op.Client:
		return fmt.Sprintf("c%d (process %d)", op.Client, op.Process)
	}
	return fmt.Sprintf("c%d", op.Client)
}

// entryWords describes an entry in a few words.
func entryWords(op history.Op) string {
	words := []string{op.F}
	if op.Process == history.Nemesis && op.Client != history.NoClient {
		words = append(words, fmt.Sprintf("c%d", op.Client))
	}
	for _, w := range []string{op.Lock, string(op.Mode)} {
		if w != "" {
			words = append(words, w)
		}
	}
	var more []string
	if op.Lease != nil && op.Lease.Fence != 0 {
		more = append(more, fmt.Sprintf("fence %d", op.Lease.Fence))
	}
	if op.Lease != nil && op.Lease.Deadline != 0 {
		more = append(more, "until "+instant(op.Lease.Deadline)+" by its clock")
	}
	if op.Seq != 0 {
		more = append(more, fmt.Sprintf("%v, number %d", op.Value, op.Seq))
	}
	if op.Error != "" {
		more = append(more, op.Error)
	}
	text := strings.Join(words, " ")
	if op.Process != history.Nemesis {
		text += ": " + string(op.Type)
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

const (
	// pictureWidth is the number of columns for the time, mostLanes the number of
	// clients shown besides those concerned.
	pictureWidth, mostLanes = 64, 8

	holding, waiting, unsure, idle = '█', '░', '?', '·'
)

// picture draws a lane for each client around the finding, in text.
func (t telling) picture() string {
	from, to := t.finding.From, max(t.finding.From, t.finding.To)
	for _, op := range t.ops {
		from, to = min(from, op.Time), max(to, op.Time)
	}
	margin := max((to-from)/20, 1)
	from, to = max(0, from-margin), min(to+margin, max(t.end, to))
	column := func(at time.Duration) int {
		at = min(max(at, from), to)
		return min(int(float64(at-from)/float64(max(to-from, 1))*pictureWidth), pictureWidth-1)
	}
	lanes := map[int][]rune{}
	fill := func(client int, a, b time.Duration, with rune) {
		if a > to || b < from {
			return
		}
		if lanes[client] == nil {
			lanes[client] = []rune(strings.Repeat(string(idle), pictureWidth))
		}
		for i := column(a); i <= column(b); i++ {
			lanes[client][i] = with
		}
	}
	t.lanes(fill)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-6s%-*s%s\n", "", pictureWidth-len(instant(to)), instant(from), instant(to))
	for _, c := range t.shown(lanes) {
		fmt.Fprintf(&b, "%-6s%s\n", fmt.Sprintf("c%d", c), string(lanes[c]))
	}
	mark := []rune(strings.Repeat(" ", pictureWidth))
	for i := column(t.finding.From); i <= column(max(t.finding.From, t.finding.To)); i++ {
		mark[i] = '^'
	}
	fmt.Fprintf(&b, "%-6s%s %s\n", "", strings.TrimRight(string(mark), " "), t.oracle+" violated")
	fmt.Fprintf(&b, "%-6s%c believes it holds %s  %c asks for it  %c asked, outcome unknown\n", "", holding, t.finding.Lock, waiting, unsure)
	return b.String()
}

// lanes fills in clients' actions on the lock; later calls cover earlier ones.
func (t telling) lanes(fill func(client int, from, to time.Duration, with rune)) {
	for _, p := range t.pairs {
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis || p.Invoke.Lock != t.finding.Lock {
			continue
		}
		switch {
		case p.Complete == nil:
			fill(p.Invoke.Client, p.Invoke.Time, t.end, unsure)
		case p.Complete.Type == history.Info:
			fill(p.Invoke.Client, p.Invoke.Time, p.Complete.Time, unsure)
		default:
			fill(p.Invoke.Client, p.Invoke.Time, p.Complete.Time, waiting)
		}
	}
	for _, h := range t.holds {
		if h.Lock == t.finding.Lock {
			fill(h.Client, h.From, min(h.To, t.end), holding)
		}
	}
}

// shown are the clients whose lanes are drawn: those concerned and, as long as there is
// room, others that were active meanwhile.
func (t telling) shown(lanes map[int][]rune) []int {
	var clients, others []int
	for c := range lanes {
		if slices.Contains(t.finding.Clients, c) {
			clients = append(clients, c)
		} else {
			others = append(others, c)
		}
	}
	slices.Sort(others)
	clients = append(clients, others[:min(len(others), mostLanes)]...)
	slices.Sort(clients)
	return clients
}
