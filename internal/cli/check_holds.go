package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// holdFlags say how far a log without invocations can be trusted.
type holdFlags struct {
	clockError, releaseTakes time.Duration
	unended                  string
}

// unsaid is a duration that nobody stated.
const unsaid = time.Duration(-1)

func (f *holdFlags) register(flags *pflag.FlagSet) {
	flags.Var(newDurationOr(&f.clockError), "clock-error", "of a log of holds or successes: the farthest that the clock of any client, which stamped its lines, was from true time; 0s if one clock stamped all")
	flags.Var(newDurationOr(&f.releaseTakes), "release-takes", "of such a log: the longest time from a client's last moment under the lock to the time that the log has for its release")
	flags.StringVar(&f.unended, "unended", "", "of such a log: a hold without an end is held (to the end of the log); default: unknown")
}

// durationOr is a flag for a duration of at least 0 that may be unsaid.
type durationOr struct{ d *time.Duration }

func newDurationOr(d *time.Duration) durationOr { *d = unsaid; return durationOr{d} }

// String, Set and Type implement pflag.Value.
func (v durationOr) String() string {
	if v.d == nil || *v.d < 0 {
		return ""
	}
	return v.d.String()
}

func (v durationOr) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longestDoubt {
		return fmt.Errorf("expected a duration from 0s to %s, such as 5ms", longestDoubt)
	}
	*v.d = d
	return nil
}

func (v durationOr) Type() string { return "duration" }

// longestDoubt bounds the durations of holdFlags: beyond it nothing would be certain.
const longestDoubt = 24 * time.Hour

// fit returns an input.Error if the flags do not fit the log; log is nil for a history.
func (f holdFlags) fit(path string, log *applog.Log) error {
	switch {
	case f.unended != "" && f.unended != "held" && f.unended != "unknown":
		return input.Errorf("--unended %q: expected held or unknown", f.unended)
	case log == nil && (f.clockError != unsaid || f.releaseTakes != unsaid || f.unended != ""):
		return input.Errorf("%s: --clock-error, --release-takes and --unended are for logs of holds or successes, and this history has invocations: expected none of them", path)
	case log != nil && f.clockError == unsaid:
		return input.Errorf("%s: clients' clocks stamped this log of %s: expected --clock-error D, the farthest that any of them was from true time (0s if one clock stamped all lines)", path, logWords[log.Kind])
	}
	return nil
}

var logWords = map[applog.Kind]string{applog.Holds: "holds", applog.Completions: "successes"}

// limitWords say what a log cannot show.
var limitWords = map[applog.Kind]string{
	applog.Holds:       "This log has holds only. It cannot show a hold that nobody logged, an attempt that failed or waited, a grant that its client never learnt of, who released or extended whose lock, or whether fencing tokens grew. That no holds in it overlap does not show that the lock is safe.",
	applog.Completions: "This log has no invocations. It cannot show an operation that failed or was never answered, how long anybody waited, a grant that its client never learnt of, or in which order operations took effect. That no holds in it overlap does not show that the lock is safe.",
}

// checkHolds judges a log of holds or completions by the overlaps of holds.
func (a *app) checkHolds(ctx context.Context, path string, f checkFlags, h givenHistory) error {
	switch {
	case f.export != "":
		return input.Errorf("%s: --export %s: this log of %s has no invocations: expected a history", path, f.export, logWords[h.log.Kind])
	case f.model == "":
		return input.Errorf("%s: expected --model %s", path, modelWords())
	}
	result, readings, err := f.judgeHolds(ctx, h.log, f.model)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.lines, h.limits = readings.Lines, limitWords[h.log.Kind]
	h.notes = append(h.notes, f.holdNotes(h.log, readings)...)
	h.record.Evidence = history.Evidence{Ops: readings.Certain, Claims: modelled(history.Claims{}, f.model)}
	a.warn(path, h)
	if f.timeline != "" {
		if err := a.draw(ctx, f, path, result, h.record.Evidence); err != nil {
			return err
		}
	}
	return a.tell(f, h, result)
}

// judgeHolds judges what is certain and what is possible, and returns the verdicts that
// follow from both.
func (f holdFlags) judgeHolds(ctx context.Context, log *applog.Log, model string) (trial.Result, applog.Readings, error) {
	readings := log.Readings(applog.Doubts{ClockError: f.clockError, ReleaseTakes: f.releaseTakes, UnendedHeld: f.unended == "held"})
	claims := modelled(history.Claims{}, model)
	result, err := trial.Judge(ctx, trial.Record{Evidence: history.Evidence{Ops: readings.Certain, Claims: claims}})
	if err != nil {
		return result, readings, err
	}
	possible, err := trial.Judge(ctx, trial.Record{Evidence: history.Evidence{Ops: readings.Possible, Claims: claims}})
	if err != nil {
		return result, readings, err
	}
	result.Flaws = nil
	for i, v := range result.Verdicts {
		switch {
		case checker.OracleNamed(v.Oracle).Harm == checker.HarmOverlap:
			result.Verdicts[i] = f.exclusion(v, possible.Verdicts[i], log, readings, claims)
		case v.Result != checker.NotApplicable:
			result.Verdicts[i] = checker.Judged(v.Oracle, checker.NotApplicable, account.Fact{What: account.HoldsOnly})
		}
	}
	return result, readings, nil
}

// exclusion joins the verdicts on what is certain and on what is possible: it is violated
// if the certain spans of holds overlap, and holds if no possible ones do.
func (f holdFlags) exclusion(certain, possible checker.Verdict, log *applog.Log, r applog.Readings, claims history.Claims) checker.Verdict {
	alone := !claims.Reentrant && !claims.ReadWrite && claims.Permits <= 1
	unsure := func(text string) checker.Verdict {
		return checker.Judged(certain.Oracle, checker.Unknown, account.Fact{What: account.OverlapUnsure, Text: text})
	}
	switch {
	case certain.Result == checker.Violated, certain.Result == checker.Unknown:
		return certain
	case alone && r.Twice != [2]int{}:
		return unsure(fmt.Sprintf("one client holds the lock twice at a time (lines %d and %d): if these are two threads, both held it, expected a client's name for each; if it is one that re-enters, expected --model reentrant-mutex", r.Twice[0], r.Twice[1]))
	case possible.Result == checker.Held:
		return checker.Judged(certain.Oracle, checker.Held, account.Fact{What: account.NoOverlapLogged, Count: len(log.Holds)})
	case possible.Result == checker.Violated:
		return unsure(f.maybe(possible, log, r))
	}
	return possible
}

// maybe says which holds perhaps overlap, and what would settle it.
func (f holdFlags) maybe(possible checker.Verdict, log *applog.Log, r applog.Readings) string {
	first := possible.Findings[0]
	var lines []int
	for _, i := range first.Ops {
		if i < len(r.LinesPossible) {
			lines = append(lines, r.LinesPossible[i])
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	why := fmt.Sprintf("the clocks and cut-off times leave %s open", r.Slack)
	for _, h := range log.Holds {
		switch {
		case !slices.Contains(lines, h.Line):
		case h.Unended && f.unended != "held":
			why = fmt.Sprintf("line %d does not say when its hold ended (a deadline in it would, or --unended held)", h.Line)
		case h.Unbegun:
			why = fmt.Sprintf("line %d ends a hold of which the log has no beginning", h.Line)
		case h.Replied && f.releaseTakes == unsaid:
			why = fmt.Sprintf("the log says when the release of line %d's hold was answered, not when it was invoked (--release-takes says how long that took at most)", h.Line)
		default:
			continue
		}
		break
	}
	text := fmt.Sprintf("the holds of lines %s may overlap: %s", joined(lines), why)
	if n := len(possible.Findings); n > 1 {
		text += fmt.Sprintf("; there are %d such overlaps", n)
	}
	return text
}

func joined(lines []int) string {
	text := ""
	for i, n := range lines {
		switch {
		case i > 0 && i == len(lines)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text
}

// holdNotes say how the times of the log were read.
func (f holdFlags) holdNotes(log *applog.Log, r applog.Readings) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if r.Slack > f.clockError {
		note("times are written with whole units of %s: what came after was cut off, and counts as doubt", r.Slack-f.clockError)
	}
	if r.Slack > 0 {
		note("a hold is certain from %s after its beginning until %s before its end; times below are of such spans", r.Slack, f.clockError+max(f.releaseTakes, 0))
	}
	if r.Brief > 0 {
		note("%d of %d holds have no moment that is certain: they are too short for the clocks' error, or the log does not say when they began or ended; nothing that they overlap is called violated", r.Brief, len(log.Holds))
	}
	return notes
}
