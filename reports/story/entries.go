package story

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
)

// longestList is how many entries a counterexample lists at most.
const longestList = 60

// Entry is one line of the list of what happened.
type Entry struct {
	At   time.Duration
	Who  string
	What string
}

// Ordered says in the heading of a list of entries how they are ordered.
const Ordered = "By time: operations at the client, commands when their node ran them, or when they were sent if they never arrived."

// Entries lists what the cast, its commands and the nemesis did around the finding, in the
// order that Ordered tells. Commands stand where their node ran them: by the times at which
// they were sent, commands that race would seem to have run in another order. Attempts that
// were refused are left out unless the finding names them. more is how many entries were
// left out for brevity.
func Entries(f Focus) (entries []Entry, more int) {
	refused := map[int]bool{}
	for _, p := range f.Pairs {
		if p.Complete != nil && p.Complete.Type == history.Fail && p.Complete.Reason == history.Busy &&
			!slices.Contains(f.Finding.Ops, p.Invoke.Index) && !slices.Contains(f.Finding.Ops, p.Complete.Index) {
			refused[p.Invoke.Index], refused[p.Complete.Index] = true, true
		}
	}
	from, to := f.Start, max(f.Finding.To, f.Finding.From)+5*time.Millisecond
	mine := func(client int) bool {
		return len(f.Cast) == 0 || slices.Contains(f.Cast, client)
	}
	for _, op := range f.Ops {
		switch {
		case refused[op.Index] || op.Time > to:
		case op.Process == history.Nemesis:
			if text := nemesisEntry(op); text != "" && (op.Time >= from || op.Window == nil && op.F != history.FStall) {
				entries = append(entries, Entry{op.Time, "nemesis", text})
			}
		case op.Time < from || !mine(op.Client) || (f.Finding.Lock != "" && op.Lock != f.Finding.Lock && op.Lock != ""):
		default:
			entries = append(entries, Entry{op.Time, "c" + strconv.Itoa(op.Client), opWords(op)})
		}
	}
	for _, c := range slices.SortedStableFunc(slices.Values(f.Commands), func(a, b history.Command) int { return cmp.Compare(a.Exec, b.Exec) }) {
		named := slices.Contains(f.Finding.Commands, c.Index)
		if !named && (c.N == 0 && c.Phase != "" || refused[c.Op] || !mine(c.Client) || c.Sent > to || max(c.Sent, c.Served) < from) {
			continue
		}
		at, late := ranAt(c), ""
		if at-c.Sent > lateness {
			late = "sent at " + prose.Instant(c.Sent)
		}
		entries = append(entries, Entry{at, fmt.Sprintf("c%d → %s", c.Client, c.Node), commandWords(c, f.Claims.ScriptNames, late)})
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	if len(entries) > longestList {
		more = len(entries) - longestList
		entries = entries[more:] // the end is where the harm is
	}
	return entries, more
}

func nemesisEntry(op history.Op) string {
	if w := op.Window; w != nil {
		name := strings.TrimSpace(w.Fault + " " + w.Target())
		if op.Type == history.Invoke {
			return name + " begins"
		}
		what := impactWords(*w)
		if w.Impact == nil && op.Error != "" {
			what = prose.FirstLine(op.Error)
		}
		return fmt.Sprintf("%s ends; %d hit: %s", name, w.Hits, what)
	}
	switch op.F {
	case history.FHealed:
		return "everything is healed"
	case history.FKeys:
		return "keys on " + op.Node + ": " + keysWords(op.Keys)
	case history.FStall:
		return "the harness itself stood still for " + prose.Length(op.Offset)
	}
	return eventWords(op)
}

// eventWords tells an event of the nemesis, "" for one that tells nothing here.
func eventWords(op history.Op) string {
	switch op.F {
	case history.FCrash:
		return fmt.Sprintf("c%d crashed", op.Client)
	case history.FClock:
		return fmt.Sprintf("c%d's wall clock is %s from now on", op.Client, offsetWords(op.Offset))
	case history.FNodeClock:
		return fmt.Sprintf("%s's wall clock is %s from now on", op.Node, offsetWords(op.Offset))
	case history.FNodeDown:
		return op.Node + " was killed"
	case history.FNodeUp:
		if lost := op.Lost.String(); lost != "" {
			return op.Node + " came back and had lost " + lost
		}
		return op.Node + " came back"
	case history.FElection:
		return op.Node + " was taken for dead though no fault had struck it"
	case history.FPromote:
		return op.Node + " was made the primary"
	case history.FSplit:
		return fmt.Sprintf("c%d was moved to %s, a second primary beside the old one", op.Client, op.Node)
	case history.FMigrate:
		return fmt.Sprintf("%s went from %s to %s with the slot", keyNames(op.Keys), op.From, op.Node)
	case history.FEvict:
		if len(op.Keys) == 0 {
			return op.Node + " evicted nothing"
		}
		return fmt.Sprintf("%s evicted %s", op.Node, keyNames(op.Keys))
	case history.FDeadlock, history.FPanic, history.FRunaway:
		return fmt.Sprintf("the trial ended in a %s (%s)", op.F, prose.FirstLine(op.Error))
	}
	return ""
}

func keysWords(keys []history.KeyState) string {
	if len(keys) == 0 {
		return "none"
	}
	var all []string
	for _, k := range keys {
		life := "lives " + prose.Length(k.TTL)
		if k.TTL < 0 {
			life = "never expires"
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", prose.Printable(k.Key), k.Type, life))
	}
	return strings.Join(all, ", ")
}

// opWords writes an operation as "acquire: ok".
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
		text += ", until " + prose.Instant(op.Lease.Deadline) + " by its clock"
	}
	if op.Error != "" && op.Reason == history.Unknown {
		text += ": " + prose.Printable(op.Error)
	}
	return text
}

// ranAt is when a command ran; when it arrived or was sent if it was not seen to
// run.
func ranAt(c history.Command) time.Duration { return cmp.Or(c.Served, c.Arrived, c.Sent) }

// lateness is how long after it was sent a command is late.
const lateness = 20 * time.Millisecond

// commandWords writes a command with its reply. late is empty, or says of a
// command that was late when it ran or when it was sent.
func commandWords(c history.Command, scripts map[string]string, late string) string {
	words := make([]string, 0, len(c.Args))
	name := scriptName(c, scripts)
	for i, a := range c.Args {
		word := shortArg(string(a))
		if i == 1 && name != "" {
			word = "<" + name + ">"
		}
		words = append(words, word)
	}
	text := "`" + strings.ReplaceAll(strings.Join(words, " "), "`", "'") + "`"
	switch {
	case c.Ran() && c.Reply != "":
		text += " = `" + strings.ReplaceAll(shortArg(string(c.Reply)), "`", "'") + "`"
	case c.Ran():
		text += ", it ran"
	case c.Arrived > 0:
		text += ", it arrived, no answer was seen"
	case c.Replied > 0:
		text += " = `" + strings.ReplaceAll(shortArg(string(c.Reply)), "`", "'") + "`"
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

// CommandLine is a command in one line: when it was sent, by whom and where to,
// what it was, and what became of it.
func CommandLine(c history.Command) string {
	late := ""
	if c.Ran() && c.Served-c.Sent > lateness {
		late = "ran at " + prose.Instant(c.Served)
	}
	return fmt.Sprintf("%11s  %-8s %s", prose.Stamp(c.Sent), fmt.Sprintf("c%d → %s", c.Client, c.Node), prose.Plain(commandWords(c, nil, late)))
}

// FaultLines are what the nemesis did, one line each, in order of time: the faults
// that began and ended, with what they hit, what it did to nodes and clients, and
// what it found in the end.
func FaultLines(ops []history.Op) []string {
	var lines []string
	for _, op := range ops {
		if op.Process != history.Nemesis {
			continue
		}
		if text := nemesisEntry(op); text != "" {
			lines = append(lines, fmt.Sprintf("%11s  %-8s %s", prose.Stamp(op.Time), "nemesis", prose.Plain(text)))
		}
	}
	return lines
}
