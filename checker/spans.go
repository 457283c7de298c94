package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// span is one ok acquire as porcupine's side reads the history: its
// invocation, its ok, and when its owner stopped believing in it. It is
// derived from the pairs alone, per owner and not per entry, so that a mistake
// here is not also one of Holds.
type span struct {
	owner           int
	mode            history.Mode
	invoke, ok, end time.Duration // end is forever if nothing ended it
	why             string        // what ended it, for people
	entry           int           // index of the acquire's ok, of the first one if merged
	fence           int64         // of the acquire's lease
}

// action is the span's acquire, or its release.
func (s span) action(release bool) action {
	return action{release: release, owner: s.owner, mode: s.mode, fence: s.fence}
}

const forever = time.Duration(1<<63 - 1)

// diary is what one owner did with one lock in one mode.
type diary struct {
	acquires, releases, extends []*history.Pair
	// matched[i] is when the release of acquires[i] was invoked; forever if it
	// was not.
	matched []time.Duration
}

// fate is what befell a client from outside.
type fate struct {
	crash   *history.Op
	losses  []history.Op
	changes []history.Op // of its wall clock
}

// spans reads the believed acquires out of a history, per lock in order of ok.
func spans(f *caseFile) (map[string][]span, error) {
	pairs, err := f.pairs()
	if err != nil {
		return nil, err
	}
	fates := fatesOf(f.Evidence)
	diaries := map[seat]*diary{}
	for i := range pairs.all {
		p := &pairs.all[i]
		if p.Invoke.Process == history.Nemesis {
			continue
		}
		at := seat{lock: p.Invoke.Lock, client: p.Invoke.Client}
		if f.Claims.ReadWrite {
			at.mode = p.Invoke.Mode
		}
		if diaries[at] == nil {
			diaries[at] = &diary{}
		}
		diaries[at].note(p, fates[at.client])
	}
	found := map[string][]span{}
	for at, d := range diaries {
		d.match()
		for i, p := range d.acquires {
			if p.Complete.Type != history.OK {
				continue
			}
			for _, c := range d.claimed(p, fates[at.client]) {
				s := span{
					owner: at.client, mode: at.mode, entry: p.Complete.Index,
					invoke: c.invoke, ok: c.ok, end: forever, why: "nothing", fence: leaseOf(p).Fence,
				}
				s.endAt(d.matched[i], "its release")
				s.endAt(c.end, "its deadline")
				s.endAt(fates[at.client].cutoff(p, at.lock, at.mode), "crash or loss")
				if s.end > s.ok {
					found[at.lock] = append(found[at.lock], s)
				}
			}
		}
	}
	for _, all := range found {
		slices.SortFunc(all, bySpan)
	}
	return found, nil
}

func (s *span) endAt(t time.Duration, why string) {
	if t < s.end {
		s.end, s.why = t, why
	}
}

func bySpan(a, b span) int { return cmp.Or(cmp.Compare(a.ok, b.ok), cmp.Compare(a.entry, b.entry)) }

func fatesOf(e history.Evidence) map[int]fate {
	fates := map[int]fate{}
	for _, op := range e.Ops {
		f := fates[op.Client]
		byNemesis := op.Process == history.Nemesis && op.Window == nil
		switch {
		case op.F == history.FLost:
			if !e.Claims.ReadWrite {
				op.Mode = ""
			}
			f.losses = append(f.losses, op)
		case op.F == history.FCrash && byNemesis && f.crash == nil:
			f.crash = &op
		case op.F == history.FClock && byNemesis:
			f.changes = append(f.changes, op)
		}
		fates[op.Client] = f
	}
	return fates
}

// note writes down what happened before the client's crash.
func (d *diary) note(p *history.Pair, f fate) {
	counts := &p.Invoke
	if p.Invoke.F != history.FRelease {
		counts = p.Complete // an acquire or extension counts when it is known how it ended
	}
	if counts == nil || f.crash != nil && counts.Index > f.crash.Index {
		return
	}
	switch p.Invoke.F {
	case history.FAcquire:
		d.acquires = append(d.acquires, p)
	case history.FRelease:
		d.releases = append(d.releases, p)
	case history.FExtend:
		d.extends = append(d.extends, p)
	}
}

// match gives every release to the acquire that it gives back: the latest ok
// one, preferring the release's own token; none if the token is that of an
// acquire of unknown outcome only.
func (d *diary) match() {
	slices.SortFunc(d.acquires, func(a, b *history.Pair) int { return cmp.Compare(a.Complete.Index, b.Complete.Index) })
	slices.SortFunc(d.extends, func(a, b *history.Pair) int { return cmp.Compare(a.Complete.Index, b.Complete.Index) })
	d.matched = make([]time.Duration, len(d.acquires))
	var owed []int // indices of ok acquires that wait for a release, latest last
	unsure := map[string]bool{}
	next := 0
	for _, r := range d.releases {
		for ; next < len(d.acquires) && d.acquires[next].Complete.Index < r.Invoke.Index; next++ {
			switch d.acquires[next].Complete.Type {
			case history.OK:
				d.matched[next] = forever
				owed = append(owed, next)
			case history.Info:
				unsure[tokenOf(d.acquires[next])] = true
			}
		}
		token := tokenOf(&history.Pair{Invoke: r.Invoke})
		best := -1
		for k, i := range owed {
			if token != "" && tokenOf(d.acquires[i]) == token {
				best = k
			}
		}
		if best < 0 && (token == "" || !unsure[token]) {
			best = len(owed) - 1
		}
		if best >= 0 {
			d.matched[owed[best]] = r.Invoke.Time
			owed = slices.Delete(owed, best, best+1)
		}
	}
	for ; next < len(d.acquires); next++ {
		d.matched[next] = forever
	}
}

// claim is a time for which deadlines let an owner believe: what was invoked and
// answered to begin it, and when the owner's clock shows its end.
type claim struct{ invoke, ok, end time.Duration }

// claimed are the times for which the acquire p and the extensions after it claim the
// lock, by the client's clock. An extension that was answered before the end moves
// the end; a later one begins anew.
func (d *diary) claimed(p *history.Pair, f fate) []claim {
	due := deadlineOf(p)
	if due == 0 {
		return []claim{{p.Invoke.Time, p.Complete.Time, forever}}
	}
	all := []claim{{p.Invoke.Time, p.Complete.Time, f.reaches(due, p.Invoke.Time)}}
	for _, x := range d.extends {
		due := deadlineOf(x)
		if x.Complete.Type != history.OK || x.Complete.Index < p.Complete.Index || due == 0 {
			continue
		}
		last := &all[len(all)-1]
		if end := f.reaches(due, x.Invoke.Time); x.Complete.Time < last.end {
			last.end = max(last.end, end)
		} else {
			all = append(all, claim{x.Invoke.Time, x.Complete.Time, end})
		}
	}
	return all
}

// cutoff is when the client crashed or was told that it lost what it acquired with p.
func (f fate) cutoff(p *history.Pair, lock string, mode history.Mode) time.Duration {
	end := forever
	if f.crash != nil {
		end = f.crash.Time
	}
	for _, l := range f.losses {
		sameLock := l.Lock == "" || l.Lock == lock
		sameMode := l.Mode == "" || l.Mode == mode
		if l.Index > p.Complete.Index && sameLock && sameMode {
			return min(end, l.Time)
		}
	}
	return end
}

// reaches finds the first instant, at or after since, at which the wall clock
// reads due or more, going through the stretches between its changes.
func (f fate) reaches(due, since time.Duration) time.Duration {
	start, ahead := time.Duration(0), time.Duration(0)
	for i := 0; ; i++ {
		stop := forever
		if i < len(f.changes) {
			stop = f.changes[i].Time
		}
		if first := max(start, since); first < stop {
			if first+ahead >= due {
				return first
			}
			if at := due - ahead; at < stop {
				return at
			}
		}
		if i == len(f.changes) {
			return forever
		}
		start, ahead = stop, f.changes[i].Offset
	}
}

func deadlineOf(p *history.Pair) time.Duration {
	l := p.Complete.Lease
	if l == nil {
		l = p.Invoke.Lease
	}
	if l == nil {
		return 0
	}
	return l.Deadline
}

func tokenOf(p *history.Pair) string {
	if p.Complete != nil && p.Complete.Lease != nil {
		return p.Complete.Lease.Token
	}
	if p.Invoke.Lease != nil {
		return p.Invoke.Lease.Token
	}
	return ""
}
