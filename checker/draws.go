package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// draws decides whether what is to be done once was done once by those who had the lock one
// after another. If a client does again what another did before it left the lock, exclusion
// held: the clients' program is at fault, which did not note that the work was done. Two
// critical sections that overlap are no business of this oracle: exclusion and resource judge
// the lock.
func draws(ctx context.Context, f *caseFile) Verdict {
	pairs, err := f.pairs()
	if err != nil {
		return impossible(err)
	}
	if !f.Claims.Draws {
		return notApplicable(account.Fact{What: account.NothingOnce})
	}
	byLock, _ := touches(f.Evidence, pairs)
	if len(byLock) == 0 {
		return notApplicable(account.Fact{What: account.NothingTouched})
	}
	var findings []Finding
	for _, ts := range sortedByLock(byLock) {
		if ctx.Err() != nil {
			return outOfTime(ctx.Err())
		}
		findings = append(findings, repeated(ts, pairs)...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	return conclude(f, findings, false)
}

// repeated returns a finding for each critical section that repeated writes of earlier ones,
// with the latest of these. The touches are those of one lock, in order of Seq.
func repeated(all []touch, pairs pairing) (findings []Finding) {
	earlier := map[string][]int{} // places in all, by the values written
	found := map[*section]*Finding{}
	var order []*section
	for i, t := range all {
		if t.op.F != history.FWrite || t.section == nil {
			continue
		}
		values := fmt.Sprint(t.op.Value)
		granted := pairs.ops[pairs.place(t.section.acquire)].Time
		place, done := doneBefore(all, earlier[values], granted)
		earlier[values] = append(earlier[values], i)
		if !done || meddledWith(all[place:i], pairs) {
			continue
		}
		was := all[place]
		x := found[t.section]
		if x == nil {
			x = &Finding{
				Cause: Unmarked, Lock: t.section.lock, Clients: []int{t.op.Client, was.op.Client}, From: t.op.Time,
				Ops: []int{was.section.acquire, t.section.acquire},
				Account: account.Account{Fact: account.Fact{
					What: account.DoneAgain, Clients: []int{t.op.Client, was.op.Client}, At: t.op.Time, Since: was.op.Time,
					Until: was.section.over, Read: granted,
				}},
			}
			found[t.section] = x
			order = append(order, t.section)
		}
		x.To, x.Ops, x.Account.Count = t.op.Time, append(x.Ops, was.op.Index, t.op.Index), x.Account.Count+1
	}
	for _, s := range order {
		found[s].Ops = indices(found[s].Ops...)
		findings = append(findings, *found[s])
	}
	return findings
}

// doneBefore returns the last of these writes whose critical section was over when the lock
// was granted at that time.
func doneBefore(all []touch, writes []int, granted time.Duration) (place int, ok bool) {
	for _, i := range slices.Backward(writes) {
		if all[i].section.over <= granted && all[i].op.Time <= granted {
			return i, true
		}
	}
	return 0, false
}

// meddledWith reports whether, after the first of these touches, a client wrote without the
// lock, or in a critical section that overlapped that of the first: it may have wiped out
// the note that the first one made.
func meddledWith(touches []touch, pairs pairing) bool {
	first := touches[0].section
	return slices.ContainsFunc(touches[1:], func(t touch) bool {
		if t.op.F != history.FWrite || t.section == first {
			return false
		}
		return t.section == nil || pairs.ops[pairs.place(t.section.acquire)].Time < first.over
	})
}
