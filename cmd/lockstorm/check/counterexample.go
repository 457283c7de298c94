package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports"
	"github.com/lockstorm/lockstorm/trial"
)

// Counterexample is the most informative finding, with the history entries that show it.
type Counterexample struct {
	Oracle  string // the violated oracle; "" = none
	Finding checker.Finding
	ops     []history.Op // in order
	holds   []checker.Hold
	pairs   []history.Pair
	end     time.Duration
	// Lines holds the line of the file for each entry of the evidence, by the entry's index; nil
	// if each entry is a line.
	Lines []int
}

// CounterexampleOf picks one violated oracle and takes its first finding. It prefers an oracle whose
// first finding the recipe does not declare as a flaw; among equals, it prefers the lowest rank. If no
// oracle is violated, CounterexampleOf returns the zero Counterexample.
func CounterexampleOf(result trial.Result, e history.Evidence) Counterexample {
	var t Counterexample
	best, declared := 0, false
	for _, v := range result.Verdicts {
		shown, _ := reports.Listed(result, v)
		if v.Result != checker.Violated || len(shown) == 0 {
			continue
		}
		rank, known := checker.OracleNamed(v.Oracle).Rank, reports.Declared(result, v.Oracle, shown[0].Cause)
		if t.Oracle == "" || declared && !known || declared == known && rank < best {
			best, declared, t.Oracle, t.Finding = rank, known, v.Oracle, shown[0]
		}
	}
	if t.Oracle == "" {
		return t
	}
	t.pairs, _ = history.Pairs(e.Ops) // an impossible history has no findings
	t.holds, _ = checker.Holds(e)
	shown := map[int]bool{}
	for _, i := range t.Finding.Ops {
		shown[i] = true
	}
	for _, p := range t.pairs { // if a finding has the reply of an acquire, show the invocation too
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

// Entries returns the entries that show the finding, unchanged.
func (t Counterexample) Entries() []history.Op { return append([]history.Op{}, t.ops...) }

// EntryLines returns the lines of the entries in the file; nil if each entry is a line.
func (t Counterexample) EntryLines() (lines []int) {
	for _, op := range t.ops {
		if op.Index < len(t.Lines) {
			lines = append(lines, t.Lines[op.Index])
		}
	}
	return lines
}

// Print writes the entries as a table, and a picture of what clients did around them, for a
// terminal of the given width; 0 = no limit. rendered returns a table with the given titles.
func (t Counterexample) Print(w io.Writer, width int, rendered func(columns []string, rows []table.Row) string) {
	if t.Oracle == "" || len(t.ops) == 0 {
		return
	}
	fmt.Fprintf(w, "\nThe entries that show it (%s):\n", t.Oracle)
	first, number := "entry", func(op history.Op) int { return op.Index }
	if t.Lines != nil {
		first, number = "line", func(op history.Op) int { return t.Lines[op.Index] }
	}
	type row struct {
		at    time.Duration
		cells table.Row
	}
	var all []row
	for _, op := range t.ops {
		if t.Lines != nil && (op.Type == history.Invoke) == (op.F == history.FAcquire) {
			continue // a log records neither invocations of acquires nor replies to releases
		}
		all = append(all, row{op.Time, table.Row{number(op), instant(op.Time), t.who(op), t.entryWords(op)}})
	}
	for _, h := range t.holds {
		if h.ToWhy == account.ByDeadline && slices.Contains(t.Finding.Ops, h.Acquire) {
			all = append(all, row{h.To, table.Row{"", instant(h.To), fmt.Sprintf("c%d", h.Client), "its clock shows the deadline that it claimed"}})
		}
	}
	slices.SortStableFunc(all, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	var rows []table.Row
	for _, r := range all {
		rows = append(rows, r.cells)
	}
	fmt.Fprintln(w, rendered([]string{first, "time", "who", "what"}, rows))
	fmt.Fprint(w, t.picture(width))
}

func instant(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }

// who names the client of an entry. In a log each hold has its own process number, which has no
// meaning, so who leaves it out.
func (t Counterexample) who(op history.Op) string {
	if t.Lines != nil {
		return fmt.Sprintf("c%d", op.Client)
	}
	return who(op)
}

func who(op history.Op) string {
	switch {
	case op.Process == history.Nemesis:
		return "nemesis"
	case int(op.Process) != op.Client:
		return fmt.Sprintf("c%d (process %d)", op.Client, op.Process)
	}
	return fmt.Sprintf("c%d", op.Client)
}

// entryWords describes an entry. In a log an entry is the beginning or the end of a hold.
func (t Counterexample) entryWords(op history.Op) string {
	if t.Lines != nil {
		what := map[string]string{history.FAcquire: "certainly holds ", history.FRelease: "may have stopped holding "}[op.F]
		return what + op.Lock
	}
	return entryWords(op)
}

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
	// pictureWidth is the maximum number of columns for the time. mostLanes is the maximum number
	// of lanes for clients that the finding does not concern.
	pictureWidth, mostLanes = 64, 8
	laneIndent              = "      " // as wide as a client's name

	holding, waiting, unsure, idle = '█', '░', '?', '·'
)

// picture draws, in text, a lane for each client around the finding, for a terminal of the given
// width; 0 = no limit.
func (t Counterexample) picture(width int) string {
	columns, label := pictureWidth, t.Oracle+" violated"
	if width > 0 {
		columns = min(columns, max(2*len(instant(0)), width-len(laneIndent)-len(label)-1))
	}
	from, to := t.Finding.From, max(t.Finding.From, t.Finding.To)
	for _, op := range t.ops {
		from, to = min(from, op.Time), max(to, op.Time)
	}
	margin := max((to-from)/20, 1)
	from, to = max(0, from-margin), min(to+margin, max(t.end, to))
	column := func(at time.Duration) int {
		at = min(max(at, from), to)
		return min(int(float64(at-from)/float64(max(to-from, 1))*float64(columns)), columns-1)
	}
	lanes := map[int][]rune{}
	fill := func(client int, a, b time.Duration, with rune) {
		if a > to || b < from {
			return
		}
		if lanes[client] == nil {
			lanes[client] = []rune(strings.Repeat(string(idle), columns))
		}
		for i := column(a); i <= column(b); i++ {
			lanes[client][i] = with
		}
	}
	t.lanes(fill)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-6s%-*s%s\n", "", columns-len(instant(to)), instant(from), instant(to))
	for _, c := range t.shown(lanes) {
		fmt.Fprintf(&b, "%-6s%s\n", fmt.Sprintf("c%d", c), string(lanes[c]))
	}
	mark := []rune(strings.Repeat(" ", columns))
	for i := column(t.Finding.From); i <= column(max(t.Finding.From, t.Finding.To)); i++ {
		mark[i] = '^'
	}
	fmt.Fprintf(&b, "%-6s%s %s\n", "", strings.TrimRight(string(mark), " "), label)
	meanings := []string{
		fmt.Sprintf("%c believes it holds %s", holding, t.Finding.Lock), fmt.Sprintf("%c asks for it", waiting), fmt.Sprintf("%c asked, outcome unknown", unsure),
	}
	b.WriteString(wording.Pack(meanings, "  ", laneIndent, laneIndent, width) + "\n")
	return b.String()
}

// lanes calls fill for each client's attempts and holds. Later calls overwrite earlier ones.
func (t Counterexample) lanes(fill func(client int, from, to time.Duration, with rune)) {
	for _, p := range t.pairs {
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis || p.Invoke.Lock != t.Finding.Lock {
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
		if h.Lock == t.Finding.Lock {
			fill(h.Client, h.From, min(h.To, t.end), holding)
		}
	}
}

// shown returns the clients whose lanes are drawn: the clients that the finding concerns, and up
// to mostLanes others that were active meanwhile.
func (t Counterexample) shown(lanes map[int][]rune) []int {
	var clients, others []int
	for c := range lanes {
		if slices.Contains(t.Finding.Clients, c) {
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
