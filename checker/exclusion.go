package checker

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// maxFindings is the greatest number of findings that a verdict lists.
const maxFindings = 100

// exclusion decides, by two independent methods, whether no two believed holds overlap.
func exclusion(ctx context.Context, f *Case) (Verdict, error) {
	return exclusionBy(ctx, f, sweepHolds, linearize)
}

func sweepHolds(f *Case) overlaps { return sweep(f.Holds(), evidence.Permits(f.Claims)) }

// overlaps holds the overlaps that a sweep found, and all holds that it searched.
type overlaps struct {
	linear.Overlaps
	holds []Hold // in order of From
}

func sweep(holds []Hold, permits int) overlaps {
	plain := make([]linear.Hold, len(holds))
	for i, h := range holds {
		plain[i] = linear.Hold{Lock: h.Lock, Client: h.Client, Mode: h.Mode, From: h.From, To: h.To}
	}
	return overlaps{linear.Sweep(plain, permits), holds}
}

func linearize(ctx context.Context, f *Case) map[string]linear.Answer {
	return linear.CheckSpans(ctx, f.Claims, spans(f))
}

// spans returns the believed acquires in the form that porcupine needs.
func spans(f *Case) map[string][]linear.Span { return linear.Spans(f.Evidence, f.Pairs().All) }

// exclusionBy decides exclusion with the given checkers, so that tests can pass wrong
// ones.
func exclusionBy(ctx context.Context, f *Case,
	first func(*Case) overlaps,
	second func(context.Context, *Case) map[string]linear.Answer,
) (Verdict, error) {
	if !slices.ContainsFunc(f.Ops, func(op history.Op) bool { return op.F == history.FAcquire && op.Type == history.OK }) {
		return notApplicable(account.Fact{What: account.NothingAcquired}), nil
	}
	found := first(f)
	undecided, err := compare(found.Locks, second(ctx, f))
	if err != nil {
		return unknown(account.Fact{What: account.CheckersDisagree, Text: err.Error()}), err
	}
	var findings []Finding
	for _, o := range found.List {
		if !slices.Contains(undecided, found.holds[o.Later].Lock) {
			findings = append(findings, found.finding(f.Evidence, o))
		}
	}
	v := conclude(f, findings, true)
	if found.Total > len(found.List) && v.Result == Violated {
		v.Reasons = append([]account.Fact{{What: account.OverlapsCounted, Count: found.Total}}, v.Reasons...)
	}
	if len(undecided) > 0 && v.Result != Violated {
		return Verdict{Result: Unknown, Reasons: []account.Fact{{What: account.NotDecided, Locks: undecided}}, Doubtful: v.Doubtful}, nil
	}
	return v, nil
}

// compare returns an error if the sweep and porcupine disagree on a lock. It also returns
// the locks that porcupine did not decide.
func compare(overlap map[string]bool, results map[string]linear.Answer) (undecided []string, err error) {
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
		case result == linear.Undecided:
			undecided = append(undecided, lock)
		case !asked && overlap[lock], asked && overlap[lock] != (result == linear.Illegal):
			answer := "saw nothing"
			if asked {
				answer = "says " + string(result)
			}
			return nil, fmt.Errorf("%w: on lock %q the sweep found a violation: %v, porcupine %s", ErrDisagree, lock, overlap[lock], answer)
		}
	}
	return undecided, nil
}

// conclude returns the verdict on an oracle's findings, in order of From, after classifyFindings has found
// their causes.
// If overlaps is true, the findings are overlaps of beliefs: those shorter than the harness's longest
// stall do not count.
func conclude(f *Case, findings []Finding, overlaps bool) Verdict {
	if len(findings) == 0 {
		return Verdict{Result: Held}
	}
	slices.SortStableFunc(findings, byFrom)
	kept := findings
	var doubtful []Finding
	var reasons []account.Fact
	if overlaps {
		var short []Finding
		var why account.Fact
		kept, short, why = beyondSlack(f.Evidence, findings)
		doubtful, reasons = oneOfEach(classifyFindings(f, short[:min(len(short), maxFindings)])), saying(why)
		if len(kept) == 0 {
			reasons[0].Example = string(doubtful[0].Cause)
			return Verdict{Result: Unknown, Reasons: reasons, Doubtful: doubtful}
		}
	}
	kept, why := firstOf(kept)
	return Verdict{Result: Violated, Findings: classifyFindings(f, kept), Reasons: append(reasons, why...), Doubtful: doubtful}
}

// firstOf returns up to maxFindings of the findings, and a reason if it leaves any out.
func firstOf(findings []Finding) (first []Finding, why []account.Fact) {
	if len(findings) <= maxFindings {
		return findings, nil
	}
	return findings[:maxFindings], []account.Fact{{What: account.FirstListed, Count: maxFindings, Of: len(findings)}}
}

func byFrom(a, b Finding) int { return cmp.Compare(a.From, b.From) }

func (found overlaps) finding(e history.Evidence, o linear.Overlap) Finding {
	later, earlier := found.holds[o.Later], found.holds[o.Earlier]
	f := Finding{
		Lock:    later.Lock,
		Clients: []int{later.Client, earlier.Client},
		From:    later.From,
		To:      within(e, o.Until),
		lasted:  o.Until - later.From,
		Ops:     indices(earlier.Acquire, earlier.End, later.Acquire, later.End),
	}
	f.Account.Fact = account.Fact{What: account.Overlap, At: later.From, Clients: f.Clients}
	f.Account.Holds = []account.Believed{believed(later), believed(earlier)}
	for _, h := range []Hold{earlier, later} {
		if h.Extended > 0 {
			f.Ops = indices(append(f.Ops, h.Extended)...)
		}
	}
	if len(o.Beside) < 2 {
		return f
	}
	f.Clients, f.Account.Holds = f.Clients[:1], f.Account.Holds[:1]
	for _, i := range o.Beside {
		h := found.holds[i]
		f.Clients = append(f.Clients, h.Client)
		f.Ops = indices(append(f.Ops, h.Acquire, h.End)...)
		f.Account.Holds = append(f.Account.Holds, believed(h))
	}
	f.Account.What, f.Account.Clients, f.Account.Count = account.Crowd, f.Clients, len(o.Beside)
	return f
}

// within limits an instant to the time of the history's last entry.
func within(e history.Evidence, d time.Duration) time.Duration {
	if len(e.Ops) == 0 {
		return d
	}
	return min(d, e.Ops[len(e.Ops)-1].Time)
}

// indices sorts the indices of entries and drops duplicates and negative ones.
func indices(all ...int) []int {
	kept := slices.DeleteFunc(all, func(i int) bool { return i < 0 })
	slices.Sort(kept)
	return slices.Compact(kept)
}

// Visualize writes porcupine's picture of the history, as one HTML page: see linear.Page. ctx
// limits the search for the model behind the picture, but not the drawing.
func Visualize(ctx context.Context, w io.Writer, e history.Evidence, words linear.WindowWords) error {
	f := NewCase(e)
	if err := f.Sound(); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	byLock := spans(f)
	page := linear.Page{Claims: f.Claims, Spans: byLock, Ops: e.Ops, Windows: words, Instant: account.Plain.Instant}
	given, err := readFences(f)
	if f.Claims.Fenced && err == nil && len(sweepFences(f.Claims, given)) == 0 {
		page.Claims = linear.Drawable(ctx, f.Claims, byLock)
	}
	if err := page.Draw(w); err != nil {
		return fmt.Errorf("draw the history: %w", err)
	}
	return nil
}
