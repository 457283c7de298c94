package checker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
)

// resource decides the property for which users take a lock: no other owner's operation
// comes between the operations of a critical section. It trusts the resource's own order,
// Seq, and no clock. Operations that the resource refused because of a newer fence do not
// count.
func resource(ctx context.Context, f *Case) Verdict {
	byLock, sections := evidence.Sections(f.Evidence, f.Pairs())
	if len(byLock) == 0 {
		return notApplicable(account.Fact{What: account.NothingTouched})
	}
	if n := evidence.Permits(f.Claims); n > 1 {
		return notApplicable(account.Fact{What: account.SeveralUsers, Count: n})
	}
	if err := evidence.Ordered(byLock); err != nil {
		return impossible(err)
	}
	var findings []Finding
	reported := map[*evidence.Section]bool{}
	for s := range untilDone(ctx, sections) {
		for _, t := range intruders(s, byLock[s.Lock], f.Claims.ReadWrite) {
			findings = append(findings, intrusion(s, t))
			reported[s] = true
			if t.Section != nil {
				reported[t.Section] = true
			}
		}
	}
	if f.Claims.ReadWrite {
		stopAtDeadlines(sections, f.Holds())
		findings = append(findings, torn(byLock, reported)...)
	}
	return conclude(f, findings, false)
}

// intruders returns one touch for each other owner that touched the resource between two
// operations of s: that owner's first write there, or else its first read. Readers do not
// disturb readers.
func intruders(s *evidence.Section, all []evidence.Touch, readWrite bool) []evidence.Touch {
	var found []evidence.Touch
	for _, t := range evidence.Between(s, all) {
		if readWrite && s.Mode == history.Read && t.Op.Mode == history.Read && t.Op.F == history.FRead {
			continue
		}
		i := slices.IndexFunc(found, func(f evidence.Touch) bool { return f.Op.Client == t.Op.Client })
		switch {
		case i < 0:
			found = append(found, t)
		case found[i].Op.F == history.FRead && t.Op.F == history.FWrite:
			found[i] = t
		}
	}
	return found
}

func intrusion(s *evidence.Section, t evidence.Touch) Finding {
	i, _ := slices.BinarySearchFunc(s.Touches, t.Op.Seq, func(u evidence.Touch, seq int64) int { return cmp.Compare(u.Op.Seq, seq) })
	before, after := s.Touches[i-1], s.Touches[i]
	f := Finding{
		Lock:    s.Lock,
		Clients: []int{t.Op.Client, s.Client},
		From:    before.Op.Time,
		To:      max(after.Op.Time, t.Op.Time),
		Ops:     indices(s.Acquire, before.Op.Index, t.Op.Index, after.Op.Index),
	}
	if t.Section != nil {
		f.Ops = indices(append(f.Ops, t.Section.Acquire)...)
	}
	if lost, read := updateLostBy(s, t); lost {
		last := s.Touches[len(s.Touches)-1]
		for j := i; j < len(s.Touches); j++ {
			if s.Touches[j].Op.F == history.FWrite {
				last = s.Touches[j]
				break
			}
		}
		f.To = max(f.To, last.Op.Time)
		f.Ops = indices(append(f.Ops, read.Op.Index, last.Op.Index)...)
		f.Account = meddled(account.LostUpdate, s, t, read, last)
		return f
	}
	f.Account = meddled(account.Interleaved, s, t, before, after)
	return f
}

// meddled returns the account of a touch between two touches of another owner's critical
// section.
func meddled(what account.What, s *evidence.Section, t, before, after evidence.Touch) account.Account {
	return account.Account{
		Fact:       account.Fact{What: what, Clients: []int{t.Op.Client, s.Client}, At: t.Op.Time, Since: before.Op.Time, Until: after.Op.Time},
		Operations: []account.Operation{touched(t.Op), touched(before.Op), touched(after.Op)},
	}
}

// updateLostBy reports whether s read before the write t and wrote after it. It returns the
// last such read.
func updateLostBy(s *evidence.Section, t evidence.Touch) (lost bool, read evidence.Touch) {
	if t.Op.F != history.FWrite {
		return false, evidence.Touch{}
	}
	hasRead, wrote := false, false
	for _, u := range s.Touches {
		if u.Op.F == history.FRead && u.Op.Seq < t.Op.Seq {
			hasRead, read = true, u
		}
		wrote = wrote || u.Op.F == history.FWrite && u.Op.Seq > t.Op.Seq
	}
	return hasRead && wrote, read
}

// stopAtDeadlines moves Section.Over of each section to the end of the client's belief in its lease, if
// that is earlier. A client leaves its section when its lease's deadline passes, even if the history shows
// only later, or never, that it did: it may be at work, frozen, or hang.
func stopAtDeadlines(sections []*evidence.Section, holds []Hold) {
	believed := map[int]time.Duration{} // by the acquire of the hold; an extension may revive a hold
	for _, h := range holds {
		believed[h.Acquire] = max(believed[h.Acquire], h.To)
	}
	for _, s := range sections {
		if until, ok := believed[s.Acquire]; ok {
			s.Over = min(s.Over, until)
		}
	}
}

// torn finds reads that returned a pair of unequal values while the writer of the pair was still in its
// critical section. A writer that crashed, or stopped because its lease was lost or over, may leave unequal
// values under any lock. torn skips writers whose sections are in reported, and adds the sections of
// the writers that it finds.
func torn(byLock map[string][]evidence.Touch, reported map[*evidence.Section]bool) []Finding {
	var findings []Finding
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		var wrote *evidence.Touch
		for i, t := range byLock[lock] {
			if t.Op.F == history.FWrite {
				wrote = &byLock[lock][i]
				continue
			}
			if len(t.Op.Value) != 2 || t.Op.Value[0] == t.Op.Value[1] || wrote == nil || wrote.Section == nil ||
				wrote.Op.Client == t.Op.Client || reported[wrote.Section] || t.Began >= wrote.Section.Over {
				continue
			}
			reported[wrote.Section] = true
			ops := []int{wrote.Section.Acquire, wrote.Op.Index, t.Op.Index}
			if t.Section != nil {
				ops = append(ops, t.Section.Acquire) // the reader's section may have begun after the write
			}
			findings = append(findings, Finding{
				Account: account.Account{
					Fact: account.Fact{
						What: account.TornRead, Clients: []int{t.Op.Client, wrote.Op.Client}, At: t.Op.Time, Since: wrote.Op.Time, Values: t.Op.Value,
					},
					Operations: []account.Operation{touched(t.Op), touched(wrote.Op)},
				},
				Lock:    t.Op.Lock,
				Clients: []int{t.Op.Client, wrote.Op.Client},
				From:    wrote.Op.Time,
				To:      t.Op.Time,
				Ops:     indices(ops...),
			})
		}
	}
	return findings
}
