package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/history/applog"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// LogLimits says what a log of holds does not show.
const LogLimits = "This log has holds only. It does not show holds that are missing from the log, attempts that failed or waited, grants that their clients never learnt of, releases or extensions of another client's lock, or whether fencing tokens grew. Even if no holds in it overlap, the lock may be unsafe."

// JudgeLog judges two readings of the log: the certain one and the possible one. It returns the
// verdicts that follow from both. clockError is the farthest that any clock was from true time.
func JudgeLog(ctx context.Context, log *applog.Log, clockError time.Duration, model string) (trial.Result, applog.Readings, error) {
	readings := log.Readings(clockError)
	claims := Modelled(history.Claims{}, model)
	result, err := trial.Judge(ctx, trial.Record{Evidence: history.Evidence{Ops: readings.Certain, Claims: claims}})
	if err != nil {
		return result, readings, err
	}
	possible, err := trial.Judge(ctx, trial.Record{Evidence: history.Evidence{Ops: readings.Possible, Claims: claims}})
	if err != nil {
		return result, readings, err
	}
	result.Flaws = nil
	OfModel(result.Verdicts)
	for i, v := range result.Verdicts {
		switch {
		case checker.OracleNamed(v.Oracle).Harm == checker.HarmOverlap:
			result.Verdicts[i] = exclusion(v, possible.Verdicts[i], log, readings, claims)
		case v.Result != checker.NotApplicable:
			result.Verdicts[i] = checker.Judged(v.Oracle, checker.NotApplicable, account.Fact{What: account.HoldsOnly})
		}
	}
	return result, readings, nil
}

// exclusion joins the verdicts on the certain and on the possible spans of holds. It is violated
// if certain spans overlap. It holds if no possible spans overlap, unless the log tells too little
// about processes or about the ends of holds. Otherwise it is unknown.
func exclusion(certain, possible checker.Verdict, log *applog.Log, r applog.Readings, claims history.Claims) checker.Verdict {
	alone := !claims.Reentrant && !claims.ReadWrite && claims.Permits <= 1
	unsure := func(text string) checker.Verdict {
		return checker.Judged(certain.Oracle, checker.Unknown, account.Fact{What: account.OverlapUnsure, Text: text})
	}
	switch {
	case certain.Result == checker.Violated:
		return inItsWords(certain, log, r)
	case certain.Result == checker.Unknown:
		return certain
	case alone && r.Twice != [2]int{}:
		return unsure(fmt.Sprintf("one process holds the lock twice at a time (lines %d and %d): if these are two threads, both held it, expected a name for each in the column process; if it is one that re-enters, expected --model reentrant-mutex", r.Twice[0], r.Twice[1]))
	case possible.Result == checker.Held && !slices.ContainsFunc(log.Holds, ended):
		return unsure("the log does not say when any hold ended: expected a value for to, or for deadline")
	case possible.Result == checker.Held:
		return checker.Judged(certain.Oracle, checker.Held, account.Fact{What: account.NoOverlapLogged, Count: len(log.Holds)})
	case possible.Result == checker.Violated:
		return unsure(maybe(possible, log, r))
	}
	return possible
}

// ended reports whether the log says when a hold, or its lease, ended.
func ended(h applog.Hold) bool { return min(h.To, h.Until) != applog.Never }

// inItsWords returns the verdict with new summaries: findings about two holds describe them in the
// log's words.
func inItsWords(v checker.Verdict, log *applog.Log, r applog.Readings) checker.Verdict {
	byLine := make(map[int]applog.Hold, len(log.Holds))
	for _, h := range log.Holds {
		byLine[h.Line] = h
	}
	v.Findings = slices.Clone(v.Findings)
	for n, f := range v.Findings {
		both := map[int]applog.Hold{}
		for _, i := range f.Ops {
			both[r.Lines[i]] = byLine[r.Lines[i]]
		}
		if len(both) == 2 {
			v.Findings[n].Summary = overlapWords(slices.Collect(maps.Values(both)))
		}
	}
	return v
}

// overlapWords describes two overlapping holds as the log has them.
func overlapWords(both []applog.Hold) string {
	slices.SortFunc(both, func(a, b applog.Hold) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Line, b.Line)) })
	first, second := both[0], both[1]
	return fmt.Sprintf("%s got %s at %s while %s held it, since %s, until %s (lines %d and %d)", named(second), second.Lock,
		second.SaidFrom, named(first), first.SaidFrom, first.SaidTo, second.Line, first.Line)
}

// named returns the process's name, followed by the name in pictures if that differs.
func named(h applog.Hold) string {
	number := fmt.Sprintf("c%d", h.Client)
	if h.Process == number {
		return number
	}
	return fmt.Sprintf("%s (%s)", h.Process, number)
}

// modelWords replaces reasons about a recipe's claims by reasons about a model's claims.
var modelWords = map[account.What]account.What{account.NotFenced: account.ModelUnfenced, account.NotReentrant: account.ModelNotReentrant}

// OfModel changes the reasons of verdicts on a history without a recipe: the reasons then speak of
// the model that the user named, not of a recipe.
func OfModel(verdicts []checker.Verdict) {
	for i, v := range verdicts {
		if len(v.Reasons) == 1 && modelWords[v.Reasons[0].What] != "" {
			verdicts[i] = checker.Judged(v.Oracle, v.Result, account.Fact{What: modelWords[v.Reasons[0].What]})
		}
	}
}

// maybe says which holds may overlap, and which information would decide whether they do.
func maybe(possible checker.Verdict, log *applog.Log, r applog.Readings) string {
	first := possible.Findings[0]
	var lines []int
	for _, i := range first.Ops {
		if i < len(r.LinesPossible) {
			lines = append(lines, r.LinesPossible[i])
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	numbers := make([]string, len(lines))
	for i, n := range lines {
		numbers[i] = strconv.Itoa(n)
	}
	why := fmt.Sprintf("clock errors and rounded times leave a doubt of %s", r.Slack)
	for _, h := range log.Holds {
		if h.To == applog.Never && slices.Contains(lines, h.Line) {
			why = fmt.Sprintf("line %d does not say when its hold ended", h.Line)
			break
		}
	}
	text := fmt.Sprintf("the holds of lines %s may overlap: %s", wording.List(numbers), why)
	if n := len(possible.Findings); n > 1 {
		text += fmt.Sprintf("; there are %d such overlaps", n)
	}
	return text
}

// LogNotes say how the log was read.
func LogNotes(log *applog.Log, r applog.Readings, clockError time.Duration) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	note("times count from %s", log.Holds[0].SaidFrom)
	note("processes by name: %s", clientNames(log))
	if r.Slack > clockError {
		note("times are written in whole units of %s: the missing digits count as doubt", r.Slack-clockError)
	}
	if r.Slack > 0 {
		note("a hold is certain from %s after its beginning until %s before its end; times below are of such spans", r.Slack, clockError)
	}
	if r.Brief > 0 {
		note("%d of %d holds have no moment that is certain: they are too short for the clocks' error, or the log does not say when they ended; nothing that they overlap is called violated", r.Brief, len(log.Holds))
	}
	return notes
}

// clientNames says which process each client in pictures is; it counts the rest if they are too many
// to read.
func clientNames(log *applog.Log) string {
	const most = 12
	names := map[int]string{}
	for _, h := range log.Holds {
		names[h.Client] = h.Process
	}
	var all []string
	for client := range min(len(names), most) {
		all = append(all, fmt.Sprintf("c%d is %s", client, names[client]))
	}
	if more := len(names) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}
