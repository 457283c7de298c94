package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// draws decides whether the successive holders of a lock did each job only once. If a client
// repeats a job that an earlier holder did before its release, exclusion held, but the clients'
// program is at fault: it did not note that the job was done. This oracle ignores critical sections
// that overlap. The oracles exclusion and resource judge these.
func draws(ctx context.Context, f *Case) Verdict {
	if !f.Claims.Draws {
		return notApplicable(account.Fact{What: account.NothingOnce})
	}
	byLock, _ := evidence.Sections(f.Evidence, f.Pairs())
	if len(byLock) == 0 {
		return notApplicable(account.Fact{What: account.NothingTouched})
	}
	var findings []Finding
	for lock := range untilDone(ctx, slices.Sorted(maps.Keys(byLock))) {
		findings = append(findings, repeated(byLock[lock], f.Pairs())...)
	}
	return conclude(f, findings, false)
}

// repeated returns a finding for each critical section that repeated writes of earlier sections.
// Each repeated write is paired with the latest earlier write of the same values. The touches are
// those of one lock, in order of Seq.
func repeated(all []evidence.Touch, pairs history.Pairing) (findings []Finding) {
	earlier := map[string][]int{} // places in all, by the values written
	found := map[*evidence.Section]*Finding{}
	var order []*evidence.Section
	for i, t := range all {
		if t.Op.F != history.FWrite || t.Section == nil {
			continue
		}
		values := fmt.Sprint(t.Op.Value)
		granted := pairs.Ops[pairs.Place(t.Section.Acquire)].Time
		place, done := doneBefore(all, earlier[values], granted)
		earlier[values] = append(earlier[values], i)
		if !done || meddledWith(all[place:i], pairs) {
			continue
		}
		was := all[place]
		x := found[t.Section]
		if x == nil {
			x = &Finding{
				Cause: Unmarked, Lock: t.Section.Lock, Clients: []int{t.Op.Client, was.Op.Client}, From: t.Op.Time,
				Ops: []int{was.Section.Acquire, t.Section.Acquire},
				Account: account.Account{Fact: account.Fact{
					What: account.DoneAgain, Clients: []int{t.Op.Client, was.Op.Client}, At: t.Op.Time, Since: was.Op.Time,
					Until: was.Section.Over, Read: granted,
				}},
			}
			found[t.Section] = x
			order = append(order, t.Section)
		}
		x.To, x.Ops, x.Account.Count = t.Op.Time, append(x.Ops, was.Op.Index, t.Op.Index), x.Account.Count+1
	}
	for _, s := range order {
		found[s].Ops = indices(found[s].Ops...)
		findings = append(findings, *found[s])
	}
	return findings
}

// doneBefore returns the place of the last of the writes whose critical section ended before the
// lock was granted again, which happened at the time granted; ok is false if there is none.
func doneBefore(all []evidence.Touch, writes []int, granted time.Duration) (place int, ok bool) {
	for _, i := range slices.Backward(writes) {
		if all[i].Section.Over <= granted && all[i].Op.Time <= granted {
			return i, true
		}
	}
	return 0, false
}

// meddledWith reports whether, after the first touch, a client wrote without the lock, or in a
// critical section that overlapped the section of the first touch. Such a write may have wiped out
// the note that the first job was done.
func meddledWith(touches []evidence.Touch, pairs history.Pairing) bool {
	first := touches[0].Section
	return slices.ContainsFunc(touches[1:], func(t evidence.Touch) bool {
		if t.Op.F != history.FWrite || t.Section == first {
			return false
		}
		return t.Section == nil || pairs.Ops[pairs.Place(t.Section.Acquire)].Time < first.Over
	})
}
