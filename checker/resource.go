package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// section is one critical section: the time from an acquire's ok to its release, by the
// same client on the same lock. Deadlines do not matter.
type section struct {
	lock    string
	mode    history.Mode
	client  int
	acquire int // index of the acquire's ok
	// over is the time at which the client left the section: the release's invocation, its
	// crash, or the reported loss; Never if it did not.
	over    time.Duration
	touches []touch // in order of seq
}

// touch is one read or write of the guarded resource.
type touch struct {
	op      history.Op // the ok entry
	began   time.Duration
	section *section // nil outside of any section
}

// resource decides the property that users need of a lock: no other owner's operation came
// between the operations of a critical section. It trusts the resource's own order, Seq,
// and no clock. Operations that the resource refused because of a newer fence do not
// count.
func resource(ctx context.Context, f *caseFile) Verdict {
	pairs, err := f.pairs()
	if err != nil {
		return impossible(err)
	}
	byLock, sections := touches(f.Evidence, pairs)
	if len(byLock) == 0 {
		return notApplicable(account.Fact{What: account.NothingTouched})
	}
	if n := permitsOf(f.Claims); n > 1 {
		return notApplicable(account.Fact{What: account.SeveralUsers, Count: n})
	}
	if err := ordered(byLock); err != nil {
		return impossible(err)
	}
	var findings []Finding
	told := map[*section]bool{}
	for _, s := range sections {
		if ctx.Err() != nil {
			return outOfTime(ctx.Err())
		}
		for _, t := range intruders(s, byLock[s.lock], f.Claims.ReadWrite) {
			findings = append(findings, intrusion(s, t))
			told[s] = true
			if t.section != nil {
				told[t.section] = true
			}
		}
	}
	if f.Claims.ReadWrite {
		findings = append(findings, torn(byLock, told)...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	return conclude(f, findings, false)
}

// ordered returns an error if two touches of one resource have the same Seq.
func ordered(byLock map[string][]touch) error {
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		at := map[int64]int{}
		for _, t := range byLock[lock] {
			if other, taken := at[t.op.Seq]; taken {
				return fmt.Errorf("entries %d and %d touch %s with the same seq %d", other, t.op.Index, lock, t.op.Seq)
			}
			at[t.op.Seq] = t.op.Index
		}
	}
	return nil
}

// owner identifies what holds a lock: one client, one lock, one mode. The mode is empty unless
// the lock is a read-write lock.
type owner struct {
	client int
	lock   string
	mode   history.Mode
}

// sectionScan goes through a history once, in order, and collects touches and critical sections.
type sectionScan struct {
	claims   history.Claims
	depth    map[owner]int
	inside   map[owner]*section
	byLock   map[string][]touch
	sections []*section
}

// touches returns the reads and writes of a history, per lock in order of Seq, and the
// critical sections, in order of acquisition.
func touches(e history.Evidence, pairs pairing) (map[string][]touch, []*section) {
	x := sectionScan{claims: e.Claims, depth: map[owner]int{}, inside: map[owner]*section{}, byLock: map[string][]touch{}}
	for place, op := range e.Ops {
		began := op.Time
		// Only the invocation is sure to have the client, the lock and the mode.
		if at := pairs.of[place]; at >= 0 && op.Type != history.Invoke {
			i := pairs.all[at].Invoke
			op.Client, op.Lock, op.Mode, began = i.Client, i.Lock, i.Mode, i.Time
			if op.Lease == nil {
				op.Lease = i.Lease
			}
		}
		x.entry(op, began)
	}
	bySeq := func(a, b touch) int { return cmp.Compare(a.op.Seq, b.op.Seq) }
	for _, ts := range x.byLock {
		slices.SortStableFunc(ts, bySeq)
	}
	for _, s := range x.sections {
		slices.SortStableFunc(s.touches, bySeq)
	}
	return x.byLock, x.sections
}

func (x *sectionScan) entry(op history.Op, began time.Duration) {
	at := owner{client: op.Client, lock: op.Lock}
	if x.claims.ReadWrite {
		at.mode = op.Mode
	}
	switch {
	case op.Event(history.FCrash):
		for _, s := range x.inside {
			if s.client == op.Client {
				s.over = min(s.over, op.Time)
			}
		}
	case op.F == history.FLost:
		if s := x.inside[at]; s != nil {
			s.over = min(s.over, op.Time)
		}
	case op.Process == history.Nemesis:
	case op.F == history.FAcquire && op.Type == history.OK:
		x.enter(at, op)
	case op.F == history.FRelease && op.Type == history.Invoke && x.depth[at] > 0:
		if x.depth[at]--; x.depth[at] == 0 {
			x.inside[at].over = min(x.inside[at].over, op.Time)
			delete(x.inside, at)
		}
	case (op.F == history.FRead || op.F == history.FWrite) && op.Type == history.OK && op.Seq > 0:
		t := touch{op: op, began: began, section: x.inside[at]}
		x.byLock[op.Lock] = append(x.byLock[op.Lock], t)
		if t.section != nil {
			t.section.touches = append(t.section.touches, t)
		}
	}
}

// enter begins a critical section. Only a reentrant lock can be acquired again inside a
// section. With any other lock an acquire begins a new section, even if the last one was
// never released.
func (x *sectionScan) enter(at owner, op history.Op) {
	if x.claims.Reentrant && x.depth[at] > 0 {
		x.depth[at]++
		return
	}
	x.depth[at] = 1
	x.inside[at] = &section{lock: at.lock, mode: at.mode, client: at.client, acquire: op.Index, over: Never}
	x.sections = append(x.sections, x.inside[at])
}

// intruders returns one touch for each other owner that touched the resource between two
// operations of s: its first write there, or else its first read. Readers do not disturb
// readers.
func intruders(s *section, all []touch, readWrite bool) []touch {
	var found []touch
	for _, t := range between(s, all) {
		if readWrite && s.mode == history.Read && t.op.Mode == history.Read && t.op.F == history.FRead {
			continue
		}
		i := slices.IndexFunc(found, func(f touch) bool { return f.op.Client == t.op.Client })
		switch {
		case i < 0:
			found = append(found, t)
		case found[i].op.F == history.FRead && t.op.F == history.FWrite:
			found[i] = t
		}
	}
	return found
}

// between returns the touches of other clients between the first and the last touch of s.
// All are the touches of its resource in order of Seq.
func between(s *section, all []touch) (others []touch) {
	if len(s.touches) < 2 {
		return nil
	}
	bySeq := func(t touch, seq int64) int { return cmp.Compare(t.op.Seq, seq) }
	first, _ := slices.BinarySearchFunc(all, s.touches[0].op.Seq, bySeq)
	for _, t := range all[first:] {
		if t.op.Seq >= s.touches[len(s.touches)-1].op.Seq {
			break
		}
		if t.op.Client != s.client {
			others = append(others, t)
		}
	}
	return others
}

func intrusion(s *section, t touch) Finding {
	i, _ := slices.BinarySearchFunc(s.touches, t.op.Seq, func(u touch, seq int64) int { return cmp.Compare(u.op.Seq, seq) })
	before, after := s.touches[i-1], s.touches[i]
	f := Finding{
		Cause:   Unclassified,
		Lock:    s.lock,
		Clients: []int{t.op.Client, s.client},
		From:    before.op.Time,
		To:      max(after.op.Time, t.op.Time),
		Ops:     indices(s.acquire, before.op.Index, t.op.Index, after.op.Index),
	}
	if t.section != nil {
		f.Ops = indices(append(f.Ops, t.section.acquire)...)
	}
	if lost, read := s.lostBy(t); lost {
		last := s.touches[len(s.touches)-1]
		for j := i; j < len(s.touches); j++ {
			if s.touches[j].op.F == history.FWrite {
				last = s.touches[j]
				break
			}
		}
		f.To = max(f.To, last.op.Time)
		f.Ops = indices(append(f.Ops, read.op.Index, last.op.Index)...)
		f.Account = meddled(account.LostUpdate, s, t, read, last)
		return f
	}
	f.Account = meddled(account.Interleaved, s, t, before, after)
	return f
}

// meddled returns the account of a touch between two touches of another's critical
// section.
func meddled(what account.What, s *section, t, before, after touch) account.Account {
	return account.Account{
		Fact:       account.Fact{What: what, Clients: []int{t.op.Client, s.client}, At: t.op.Time, Since: before.op.Time, Until: after.op.Time},
		Operations: []account.Operation{touched(t.op), touched(before.op), touched(after.op)},
	}
}

// lostBy reports whether s read before t wrote and wrote after it, and returns the last
// such read.
func (s *section) lostBy(t touch) (lost bool, read touch) {
	if t.op.F != history.FWrite {
		return false, touch{}
	}
	hasRead, wrote := false, false
	for _, u := range s.touches {
		if u.op.F == history.FRead && u.op.Seq < t.op.Seq {
			hasRead, read = true, u
		}
		wrote = wrote || u.op.F == history.FWrite && u.op.Seq > t.op.Seq
	}
	return hasRead && wrote, read
}

// torn finds reads that returned a pair of unequal values while the writer of the pair was
// still in its critical section. A writer that crashed, or that stopped because its lease
// was lost, may leave unequal values under any lock.
func torn(byLock map[string][]touch, told map[*section]bool) []Finding {
	var findings []Finding
	for _, ts := range sortedByLock(byLock) {
		var wrote *touch
		for i, t := range ts {
			if t.op.F == history.FWrite {
				wrote = &ts[i]
				continue
			}
			if len(t.op.Value) != 2 || t.op.Value[0] == t.op.Value[1] || wrote == nil || wrote.section == nil ||
				wrote.op.Client == t.op.Client || told[wrote.section] || t.began >= wrote.section.over {
				continue
			}
			told[wrote.section] = true
			ops := []int{wrote.section.acquire, wrote.op.Index, t.op.Index}
			if t.section != nil {
				ops = append(ops, t.section.acquire) // this section may have begun after the write
			}
			findings = append(findings, Finding{
				Cause: Unclassified,
				Account: account.Account{
					Fact: account.Fact{
						What: account.TornRead, Clients: []int{t.op.Client, wrote.op.Client}, At: t.op.Time, Since: wrote.op.Time, Values: t.op.Value,
					},
					Operations: []account.Operation{touched(t.op), touched(wrote.op)},
				},
				Lock:    t.op.Lock,
				Clients: []int{t.op.Client, wrote.op.Client},
				From:    wrote.op.Time,
				To:      t.op.Time,
				Ops:     indices(ops...),
			})
		}
	}
	return findings
}

func sortedByLock(byLock map[string][]touch) [][]touch {
	var all [][]touch
	for _, ts := range byLock {
		all = append(all, ts)
	}
	slices.SortFunc(all, func(a, b []touch) int { return cmp.Compare(a[0].op.Lock, b[0].op.Lock) })
	return all
}
