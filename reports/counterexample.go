package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/shell"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// longestList is how many entries a counterexample lists at most.
const longestList = 60

// counterexample tells a violated trial in Markdown: what happened, in numbered
// steps, what broke and what would have prevented it; the verdicts; the
// operations and commands that matter, in order; how to look again. folder is
// the trial's, as command lines name it; origin says how the trial came about, ""
// if that is not known.
func (g glossary) counterexample(t trial.Result, e history.Evidence, f focus, folder, origin string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", trialTitle(t), trialWords(t))
	if some := undeclaredFlaws(t.Flaws); len(some) > 0 && t.Kind != "" { // the title does not say it
		fmt.Fprintf(&b, "**Not declared: %s.**\n\n", strings.Join(some, ", "))
	}
	if origin != "" {
		fmt.Fprintf(&b, "%s\n\n", sentence(origin))
	}
	b.WriteString(tellStory(e, f).markdown())
	if text := g.declaredWords(t, f.Finding); text != "" {
		fmt.Fprintf(&b, "> %s\n\n", markdown(text))
	}
	fmt.Fprintf(&b, "![Timeline](%s)\n\n", TimelineFile)
	b.WriteString("## Verdicts\n\n| oracle | result | cause | found |\n|---|---|---|---|\n")
	for _, v := range t.Verdicts {
		verdictRows(&b, t, v)
	}
	b.WriteString("\n## In order\n\n" + ordered + "\n\n| seconds | who | what |\n|---:|---|---|\n")
	entries, more := relevant(e, f)
	for _, x := range entries {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", stamp(x.At), x.Who, markdownCell(x.What))
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d more in %s and %s.\n", more, trial.HistoryFile, trial.CommandsFile)
	}
	fmt.Fprintf(&b, "\n## Look again\n\n```\nlockstorm replay %s\nlockstorm check %s\n```\n\n", shell.Quote(folder), shell.Quote(folder))
	fmt.Fprintf(&b, "Seed %d, %s of %s with %s on testbed %s (%s); %d operations, %d commands. The whole history is in [%s](%s), porcupine's picture of it in [%s](%s).\n",
		t.Spec.Seed, t.Spec.Title(), t.Spec.Lock, t.Spec.Workload, t.Spec.Testbed, t.Spec.Topology, t.Ops, t.Commands,
		trial.HistoryFile, trial.HistoryFile, PorcupineFile, PorcupineFile)
	return []byte(b.String())
}

// trialTitle names a trial: its lock, its fault, and the schedule if it is one of
// those that are enumerated.
func trialTitle(t trial.Result) string {
	title := fmt.Sprintf("%s under %s", t.Spec.Lock, t.Spec.Fault)
	if t.Spec.Schedule != "" {
		title += ", " + t.Spec.Title()
	}
	return title
}

func verdictRows(b *strings.Builder, t trial.Result, v checker.Verdict) {
	if len(v.Findings) == 0 {
		fmt.Fprintf(b, "| %s | %s | | %s |\n", v.Oracle, v.Result, markdownCell(v.Why))
		return
	}
	shown, more := Listed(t, v)
	for _, x := range shown {
		cause := string(x.Cause)
		if !Declared(t, v.Oracle, x.Cause) {
			cause += " (not declared)"
		}
		fmt.Fprintf(b, "| %s | **%s** | %s | %s |\n", v.Oracle, v.Result, cause, markdownCell(sentence(cmp.Or(words.Summary(x), "no details"))))
	}
	if more > 0 {
		fmt.Fprintf(b, "| | | | and %d more |\n", more)
	}
}

// trialWords are a cell's words for a trial's outcome.
func trialWords(t trial.Result) string {
	c := campaign.Cell{Verdict: t.Outcome, Kind: t.Kind, Exercised: 1, Trials: 1}
	for _, f := range t.Flaws {
		c.Forever = c.Forever || f.Forever
	}
	return c.Words()
}

// declaredWords say whether the recipe declares the finding, and what it says.
func (g glossary) declaredWords(t trial.Result, f found) string {
	if f.Kind == "" {
		return fmt.Sprintf("The recipe declares no flaw that reads %q by %q: this was not expected.", f.Oracle, f.Cause)
	}
	what := "a bug: it breaks what its document claims, or what its own commands could have kept."
	if f.Kind == locks.Limit {
		what = "a limit: no lease on this topology can promise it by itself."
	}
	text := "For this recipe that is " + what
	if flaw, ok := g.declared(t, f); ok {
		text += " " + sentence(flaw.Why)
		if flaw.Source != "" {
			text += " (" + flaw.Source + ")"
		}
	}
	return text
}

// entry is one line of the list of what happened.
type entry struct {
	At   time.Duration
	Who  string
	What string
}

// ordered says in the heading of a list of entries how they are ordered.
const ordered = "By time: operations at the client, commands when their node ran them, or when they were sent if they never arrived."

// relevant lists what the clients concerned, their commands and the nemesis
// did around the finding, and how many entries were left out for brevity, in the
// order that ordered tells: by when they were sent, commands that race would
// seem to have run in another order than they did.
// Attempts that were refused are left out unless the finding names them.
func relevant(e history.Evidence, f focus) (entries []entry, more int) {
	refused := map[int]bool{}
	for _, p := range f.pairs {
		if p.Complete != nil && p.Complete.Type == history.Fail && p.Complete.Reason == history.Busy &&
			!slices.Contains(f.Finding.Ops, p.Invoke.Index) && !slices.Contains(f.Finding.Ops, p.Complete.Index) {
			refused[p.Invoke.Index], refused[p.Complete.Index] = true, true
		}
	}
	from, to := f.Start, max(f.Finding.To, f.Finding.From)+5*time.Millisecond
	mine := func(client int) bool {
		return len(f.Cast) == 0 || slices.Contains(f.Cast, client)
	}
	for _, op := range e.Ops {
		switch {
		case refused[op.Index] || op.Time > to:
		case op.Process == history.Nemesis:
			if text := nemesisEntry(op); text != "" && (op.Time >= from || op.Window == nil && op.F != history.FStall) {
				entries = append(entries, entry{op.Time, "nemesis", text})
			}
		case op.Time < from || !mine(op.Client) || (f.Finding.Lock != "" && op.Lock != f.Finding.Lock && op.Lock != ""):
		default:
			entries = append(entries, entry{op.Time, "c" + strconv.Itoa(op.Client), opWords(op)})
		}
	}
	for _, c := range slices.SortedStableFunc(slices.Values(e.Commands), func(a, b history.Command) int { return cmp.Compare(a.Exec, b.Exec) }) {
		named := slices.Contains(f.Finding.Commands, c.Index)
		if !named && (c.N == 0 && c.Phase != "" || refused[c.Op] || !mine(c.Client) || c.Sent > to || max(c.Sent, c.Served) < from) {
			continue
		}
		at, late := ranAt(c), ""
		if at-c.Sent > lateness {
			late = "sent at " + instant(c.Sent)
		}
		entries = append(entries, entry{at, fmt.Sprintf("c%d → %s", c.Client, c.Node), commandWords(c, e.Claims.ScriptNames, late)})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.At, b.At) })
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
			what = firstLine(op.Error)
		}
		return fmt.Sprintf("%s ends; %d hit: %s", name, w.Hits, what)
	}
	switch op.F {
	case history.FHealed:
		return "everything is healed"
	case history.FKeys:
		return "keys on " + op.Node + ": " + keysWords(op.Keys)
	case history.FStall:
		return "the harness itself stood still for " + length(op.Offset)
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
		return fmt.Sprintf("the trial ended in a %s (%s)", op.F, firstLine(op.Error))
	}
	return ""
}

func keysWords(keys []history.KeyState) string {
	if len(keys) == 0 {
		return "none"
	}
	var all []string
	for _, k := range keys {
		life := "lives " + length(k.TTL)
		if k.TTL < 0 {
			life = "never expires"
		}
		all = append(all, fmt.Sprintf("%s (%s, %s)", printable(k.Key), k.Type, life))
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
		text += ", until " + instant(op.Lease.Deadline) + " by its clock"
	}
	if op.Error != "" && op.Reason == history.Unknown {
		text += ": " + printable(op.Error)
	}
	return text
}

func numbers(values []int64) string {
	var all []string
	for _, v := range values {
		all = append(all, strconv.FormatInt(v, 10))
	}
	return strings.Join(all, ", ")
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

// shortArg makes one word of an argument: printable, and no longer than needed
// to tell tokens apart.
func shortArg(s string) string {
	s = printable(s)
	if r := []rune(s); len(r) > 24 {
		s = string(r[:10]) + "…"
	}
	if s == "" {
		return `""`
	}
	return s
}

// printable escapes what is not text.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		q := strconv.Quote(s)
		return q[1 : len(q)-1]
	}
	return s
}

// stamp writes a time for a table: seconds to the microsecond, since a simulated
// network takes few of them.
func stamp(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) }

// markdown escapes what Markdown would take for markup; code in backticks stays.
func markdown(s string) string {
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 {
		if i == len(parts)-1 && len(parts)%2 == 0 {
			break // an unpaired backtick: the rest is no code
		}
		parts[i] = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`, "|", `\|`, "#", `\#`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}

// markdownCell prepares text for a table's cell.
func markdownCell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
}
