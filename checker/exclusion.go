package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// maxFindings bounds how many findings a verdict lists.
const maxFindings = 100

// exclusion decides whether no two believed holds overlap, twice.
func exclusion(ctx context.Context, f *caseFile) (Verdict, error) {
	return exclusionBy(ctx, f, sweepHolds, linearize)
}

func sweepHolds(f *caseFile) (overlaps, error) {
	holds, err := f.holds()
	if err != nil {
		return overlaps{}, err
	}
	return sweep(holds, permitsOf(f.Claims)), nil
}

// permitsOf is how many owners may hold a lock at a time. A read-write lock says
// that by its modes.
func permitsOf(c history.Claims) int {
	if c.ReadWrite {
		return 1
	}
	return max(1, c.Permits)
}

// exclusionBy decides with the two checkers it is given, so that tests can
// give it wrong ones.
func exclusionBy(ctx context.Context, f *caseFile,
	first func(*caseFile) (overlaps, error),
	second func(context.Context, *caseFile) (map[string]porcupine.CheckResult, error),
) (Verdict, error) {
	if !slices.ContainsFunc(f.Ops, func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK }) {
		return Verdict{Result: NotApplicable, Why: "nothing was acquired"}, nil
	}
	found, err := first(f)
	if err != nil {
		return impossible(err), nil
	}
	results, err := second(ctx, f)
	if err != nil {
		return impossible(err), nil
	}
	undecided, err := compare(found.locks, results)
	if err != nil {
		return Verdict{Result: Unknown, Why: err.Error()}, err
	}
	var findings []Finding
	for _, c := range found.list {
		if !slices.Contains(undecided, c.later.Lock) {
			findings = append(findings, conflictFinding(f.Evidence, c))
		}
	}
	v := conclude(f, findings, true)
	if found.total > len(found.list) && v.Result == Violated {
		v.Why = sentences(fmt.Sprintf("there are %d overlaps", found.total), v.Why)
	}
	if len(undecided) > 0 && v.Result != Violated {
		return Verdict{Result: Unknown, Why: "porcupine came to no answer in time for " + strings.Join(undecided, ", "), Doubtful: v.Doubtful}, nil
	}
	return v, nil
}

// impossible is the verdict on a history that cannot have happened.
func impossible(err error) Verdict {
	return Verdict{Result: Unknown, Why: "the history is impossible: " + err.Error()}
}

// compare holds the locks with overlaps against porcupine's answers and
// returns the locks that porcupine did not decide.
func compare(overlap map[string]bool, results map[string]porcupine.CheckResult) (undecided []string, err error) {
	locks := maps.Clone(overlap)
	if locks == nil {
		locks = map[string]bool{}
	}
	for lock := range results {
		locks[lock] = true
	}
	for _, lock := range slices.Sorted(maps.Keys(locks)) {
		result, asked := results[lock]
		switch {
		case result == porcupine.Unknown:
			undecided = append(undecided, lock)
		case !asked && overlap[lock], asked && overlap[lock] != (result == porcupine.Illegal):
			answer := "saw nothing"
			if asked {
				answer = "says " + string(result)
			}
			return nil, fmt.Errorf("%w: on lock %q the sweep found a violation: %v, porcupine %s", ErrDisagree, lock, overlap[lock], answer)
		}
	}
	return undecided, nil
}

// conclude makes a verdict of the findings of an oracle about who held what
// when: overlaps within our own slack do not count, and causes are told.
func conclude(f *caseFile, findings []Finding, overlaps bool) Verdict {
	if len(findings) == 0 {
		return Verdict{Result: Held}
	}
	kept, why := findings, ""
	var doubtful []Finding
	if overlaps {
		var short []Finding
		kept, short, why = beyondSlack(f.Evidence, findings)
		doubtful = oneOfEach(classifyFindings(f, short[:min(len(short), maxFindings)]))
		if len(kept) == 0 {
			return Verdict{Result: Unknown, Why: why, Doubtful: doubtful}
		}
	}
	if len(kept) > maxFindings {
		why = sentences(why, fmt.Sprintf("the first %d of %d findings are listed", maxFindings, len(kept)))
		kept = kept[:maxFindings]
	}
	kept = classifyFindings(f, kept)
	return Verdict{Result: Violated, Findings: kept, Why: why, Doubtful: doubtful}
}

// conflictFinding tells one overlap.
func conflictFinding(e history.Evidence, c conflict) Finding {
	f := Finding{
		Cause: Unclassified,
		Summary: fmt.Sprintf("c%d %s %s%s at %s while c%d still believed it held it%s (since %s, %s)",
			c.later.Client, became(c.later), c.later.Lock, inMode(c.later.Mode), seconds(c.later.From),
			c.earlier.Client, inMode(c.earlier.Mode), seconds(c.earlier.From), untilWhen(c.earlier)),
		Lock:    c.later.Lock,
		Clients: []int{c.later.Client, c.earlier.Client},
		From:    c.from(),
		To:      within(e, c.to()),
		lasted:  c.to() - c.from(),
		Ops:     indices(c.earlier.Acquire, c.earlier.End, c.later.Acquire, c.later.End),
	}
	for _, h := range []Hold{c.earlier, c.later} {
		if h.Extended > 0 {
			f.Ops = indices(append(f.Ops, h.Extended)...)
		}
	}
	if len(c.beside) < 2 {
		return f
	}
	f.Clients = f.Clients[:1]
	names := make([]string, len(c.beside))
	for i, h := range c.beside {
		names[i] = fmt.Sprintf("c%d (since %s, %s)", h.Client, seconds(h.From), untilWhen(h))
		f.Clients = append(f.Clients, h.Client)
		f.Ops = indices(append(f.Ops, h.Acquire, h.End)...)
	}
	f.Summary = fmt.Sprintf("c%d %s %s at %s while %d others still believed they held it, one too many: %s",
		c.later.Client, became(c.later), c.later.Lock, seconds(c.later.From), len(names), strings.Join(names, ", "))
	return f
}

// became says how a client came to believe in a hold.
func became(h Hold) string {
	if h.Extended > 0 {
		return "was told of an extension of"
	}
	return "was granted"
}

func inMode(m history.Mode) string {
	switch m {
	case history.Read:
		return " for reading"
	case history.Write:
		return " for writing"
	}
	return ""
}

func untilWhen(h Hold) string {
	switch h.ToWhy {
	case ByRelease:
		return "until its release at " + seconds(h.To)
	case ByDeadline:
		return "until its claimed deadline, which its clock showed at " + seconds(h.To)
	case ByLost:
		return "until it learnt of the loss at " + seconds(h.To)
	case ByCrash:
		return "until it crashed at " + seconds(h.To)
	}
	return "and never gave it back"
}

// seconds writes an instant as texts do: 1.204s, with microseconds where
// milliseconds would hide something.
func seconds(d time.Duration) string {
	if d%time.Millisecond == 0 {
		return fmt.Sprintf("%.3fs", d.Seconds())
	}
	return fmt.Sprintf("%.6fs", d.Seconds())
}

// sentences joins what there is to say.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// within clips an instant to the history's last entry.
func within(e history.Evidence, d time.Duration) time.Duration {
	if len(e.Ops) == 0 {
		return d
	}
	return min(d, e.Ops[len(e.Ops)-1].Time)
}

// indices sorts the indices of entries and drops those that are none.
func indices(all ...int) []int {
	kept := slices.DeleteFunc(all, func(i int) bool { return i < 0 })
	slices.Sort(kept)
	return slices.Compact(kept)
}
