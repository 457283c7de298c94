package story

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/facts"
)

// longestList is the maximum number of entries in a counterexample.
const longestList = 60

// LogLine is one line of Log.
type LogLine struct {
	At   time.Duration
	Who  string
	What string
}

// Ordered explains the order of Log to readers of a report.
const Ordered = "By time: operations at the client, commands when their node ran them, or when they were sent if they never arrived."

// Log lists what happened around the finding: the operations and commands of the story's clients,
// and the actions of the nemesis. Ordered explains the order. A command stands at the time when its
// node ran it: by sending times, racing commands could appear in the wrong order. Refused attempts
// are left out unless the finding names them. more is the number of earlier entries that were left
// out for brevity.
func Log(f Focus) (entries []LogLine, more int) {
	refused := map[int]bool{}
	for _, p := range f.Pairs {
		if p.Complete != nil && p.Complete.Type == history.Fail && p.Complete.Reason == history.Busy &&
			!slices.Contains(f.Finding.Ops, p.Invoke.Index) && !slices.Contains(f.Finding.Ops, p.Complete.Index) {
			refused[p.Invoke.Index], refused[p.Complete.Index] = true, true
		}
	}
	from, to := f.Start, max(f.Finding.To, f.Finding.From)+5*time.Millisecond
	hung := facts.HungClients(f.Ops)
	mine := func(client int) bool {
		return len(f.Cast) == 0 || slices.Contains(f.Cast, client)
	}
	for _, op := range f.Ops {
		switch {
		case refused[op.Index] || op.Time > to:
		case op.Process == history.Nemesis:
			if text := nemesisEntry(op, hung); text != "" && (op.Time >= from || op.Window == nil && op.F != history.FStall) {
				entries = append(entries, LogLine{op.Time, "nemesis", text})
			}
		case op.Time < from || !mine(op.Client) || (f.Finding.Lock != "" && op.Lock != f.Finding.Lock && op.Lock != ""):
		default:
			entries = append(entries, LogLine{op.Time, "c" + strconv.Itoa(op.Client), opWords(op)})
		}
	}
	for _, c := range slices.SortedStableFunc(slices.Values(f.Commands), func(a, b history.Command) int { return cmp.Compare(a.Exec, b.Exec) }) {
		named := slices.Contains(f.Finding.Commands, c.Index)
		if !named && (c.N == 0 && c.Phase != "" || refused[c.Op] || !mine(c.Client) || c.Sent > to || max(c.Sent, c.Served) < from) {
			continue
		}
		at, late := ranAt(c), ""
		if at-c.Sent > Lateness {
			late = "sent at " + wording.Instant(c.Sent)
		}
		entries = append(entries, LogLine{at, fmt.Sprintf("c%d → %s", c.Client, c.Node), commandWords(c, f.Claims.ScriptNames, late)})
	}
	slices.SortStableFunc(entries, func(a, b LogLine) int { return cmp.Compare(a.At, b.At) })
	if len(entries) > longestList {
		more = len(entries) - longestList
		entries = entries[more:] // the harm is at the end
	}
	return entries, more
}

// nemesisEntry describes an entry of the nemesis; "" if the log leaves it out. hung are the
// trial's clients that hang in their work.
func nemesisEntry(op history.Op, hung []string) string {
	if w := op.Window; w != nil {
		name := strings.TrimSpace(w.Fault + " " + w.Target())
		if op.Type == history.Invoke {
			return name + " begins"
		}
		what := impactWords(*w)
		if w.Impact == nil && op.Error != "" {
			what = wording.FirstLine(op.Error)
		}
		if w.Hangs() {
			return fmt.Sprintf("%s is over: no more clients are hung from here on; %d hit: %s", name, w.Hits, what)
		}
		return fmt.Sprintf("%s ends; %d hit: %s", name, w.Hits, what)
	}
	text := filled(eventTexts[op.F].entry, op)
	switch {
	case op.F != history.FHealed:
	case len(hung) == 1:
		text += ", but " + hung[0] + " goes on hanging in its work"
	case len(hung) > 1:
		text += ", but " + wording.List(hung) + " go on hanging in their work"
	}
	return text
}

func keysWords(keys []history.KeyState) string {
	if len(keys) == 0 {
		return "none"
	}
	var all []string
	for _, k := range keys {
		life := "lives " + wording.Length(k.TTL)
		if k.TTL < 0 {
			life = "never expires"
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", wording.Printable(k.Key), k.Type, life))
	}
	return strings.Join(all, ", ")
}

// OpText describes an operation's entry as plain text, such as "acquire: refused (busy)".
func OpText(op history.Op) string { return wording.Plain(opWords(op)) }

// opWords describes an operation's entry, such as "begins to acquire" or "acquire: done".
func opWords(op history.Op) string {
	text := op.F
	if op.Mode != "" && op.F == history.FAcquire {
		text += " to " + string(op.Mode)
	}
	switch {
	case op.F == history.FLost:
		text = "learns that its lease ended"
	case op.Type == history.Invoke:
		text = "begins to " + text
	case op.Type == history.OK:
		text += ": done"
	case op.Type == history.Fail:
		text += ": refused"
	default:
		text += ": **outcome unknown**"
	}
	if op.Reason != "" && op.Reason != history.Unknown {
		text += " (" + string(op.Reason) + ")"
	}
	if len(op.Value) > 0 && op.Type != history.Invoke {
		text += fmt.Sprintf(", value %s", numbers(op.Value))
	}
	if op.Lease != nil && op.F == history.FAcquire && op.Type == history.OK && op.Lease.Deadline > 0 {
		text += ", until " + wording.Instant(op.Lease.Deadline) + " by its clock"
	}
	if op.Error != "" && (op.Reason == history.Unknown || op.Reason == history.Presumed) {
		text += ": " + wording.Printable(op.Error)
	}
	return text
}

// ranAt returns when a command ran; if that is unknown, when it arrived or was sent.
func ranAt(c history.Command) time.Duration { return cmp.Or(c.Served, c.Arrived, c.Sent) }

// Lateness is the delay beyond which a command is called late.
const Lateness = 20 * time.Millisecond

// commandWords describes a command and its reply. late is "", or says when a late command ran or
// was sent.
func commandWords(c history.Command, scripts map[string]string, late string) string {
	words := make([]string, 0, len(c.Args))
	name := scriptName(c, scripts)
	for i, a := range c.Args {
		word := ShortArg(string(a))
		if i == 1 && name != "" {
			word = "<" + name + ">"
		}
		words = append(words, word)
	}
	text := "`" + strings.ReplaceAll(strings.Join(words, " "), "`", "'") + "`"
	switch {
	case c.Ran() && c.Reply != "":
		text += " = `" + strings.ReplaceAll(ShortArg(string(c.Reply)), "`", "'") + "`"
	case c.Ran():
		text += ", it ran"
	case c.Arrived > 0:
		text += ", it arrived, no answer was seen"
	case c.Replied > 0:
		text += " = `" + strings.ReplaceAll(ShortArg(string(c.Reply)), "`", "'") + "`"
	default:
		text += ", it was not seen to arrive"
	}
	if late != "" {
		text += ", **" + late + "**"
	}
	if c.Ran() && c.Replied == 0 {
		text += ", the answer never reached the client"
	}
	return text
}

// CommandLine returns a command as one line: the time of sending, the client, the node, the
// arguments and the outcome.
func CommandLine(c history.Command) string {
	late := ""
	if c.Ran() && c.Served-c.Sent > Lateness {
		late = "ran at " + wording.Instant(c.Served)
	}
	return fmt.Sprintf("%11s  %-8s %s", wording.Stamp(c.Sent), fmt.Sprintf("c%d → %s", c.Client, c.Node), wording.Plain(commandWords(c, nil, late)))
}

// CommandText returns a command's arguments and its outcome as plain text. scripts has the names
// of scripts by their SHA-1; see history.Claims.
func CommandText(c history.Command, scripts map[string]string) string {
	return wording.Plain(commandWords(c, scripts, ""))
}

// FaultLines returns one line for each entry of the nemesis, in order of time: the beginnings and
// ends of faults with their hits, events of nodes and clients, and the keys that remained at the
// end.
func FaultLines(ops []history.Op) []string {
	var lines []string
	hung := facts.HungClients(ops)
	for _, op := range ops {
		if op.Process != history.Nemesis {
			continue
		}
		if text := nemesisEntry(op, hung); text != "" {
			lines = append(lines, fmt.Sprintf("%11s  %-8s %s", wording.Stamp(op.Time), "nemesis", wording.Plain(text)))
		}
	}
	return lines
}
