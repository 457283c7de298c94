package linear

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Span is one successful acquire in porcupine's reading of the history: its invocation, its
// ok, and the end of its owner's belief. Spans are computed from the pairs of operations of each owner.
// They share no code with the sweep's holds, so that the two share no mistakes.
type Span struct {
	Owner           int
	Mode            history.Mode
	Invoke, OK, End time.Duration // End is Forever if nothing ended the belief
	Why             string        // what ended the belief, in words, such as "its release"
	Entry           int           // index of the acquire's ok; for merged spans, of the first acquire's ok
	Fence           int64         // the fence that the acquire returned
}

func (s Span) action(release bool) action {
	return action{release: release, owner: s.Owner, mode: s.Mode, fence: s.Fence}
}

// Forever is Span.End of a span that nothing in the history ended.
const Forever = time.Duration(1<<63 - 1)

// ownerOps lists the operations of one owner.
type ownerOps struct {
	acquires, releases, extends []*history.Pair
	// matched[i] is the time at which the release of acquires[i] was invoked; Forever if
	// there was no release.
	matched []time.Duration
}

// clientEvents lists the events that happened to a client: a crash, losses and clock changes.
type clientEvents struct {
	crash   *history.Op
	losses  []history.Op
	changes []history.Op // changes of the client's wall clock
}

// owner is one party that can hold a lock. The mode is empty unless the lock is a read-write lock.
type owner struct {
	client int
	lock   string
	mode   history.Mode
}

// Spans returns the believed acquires of a history, per lock and in order of OK. The pairs
// must be those that history.Pairs returns for the history's entries.
func Spans(e history.Evidence, pairs []history.Pair) map[string][]Span {
	events := clientEventsOf(e)
	byOwner := map[owner]*ownerOps{}
	for i := range pairs {
		p := &pairs[i]
		if p.Invoke.Process == history.Nemesis {
			continue
		}
		at := owner{lock: p.Invoke.Lock, client: p.Invoke.Client}
		if e.Claims.ReadWrite {
			at.mode = p.Invoke.Mode
		}
		if byOwner[at] == nil {
			byOwner[at] = &ownerOps{}
		}
		byOwner[at].note(p, events[at.client])
	}
	found := map[string][]Span{}
	for at, d := range byOwner {
		d.match()
		for i, p := range d.acquires {
			if p.Complete.Type != history.OK {
				continue
			}
			for _, c := range d.claimed(p, events[at.client]) {
				s := Span{
					Owner: at.client, Mode: at.mode, Entry: p.Complete.Index,
					Invoke: c.invoke, OK: c.ok, End: Forever, Why: "nothing", Fence: p.Lease().Fence,
				}
				s.endAt(d.matched[i], "its release")
				s.endAt(c.end, "its deadline")
				s.endAt(events[at.client].cutoff(p, at.lock, at.mode), "crash or loss")
				if s.End > s.OK {
					found[at.lock] = append(found[at.lock], s)
				}
			}
		}
	}
	for _, all := range found {
		slices.SortFunc(all, bySpan)
	}
	return found
}

func (s *Span) endAt(t time.Duration, why string) {
	if t < s.End {
		s.End, s.Why = t, why
	}
}

func bySpan(a, b Span) int { return cmp.Or(cmp.Compare(a.OK, b.OK), cmp.Compare(a.Entry, b.Entry)) }

func clientEventsOf(e history.Evidence) map[int]clientEvents {
	events := map[int]clientEvents{}
	for i := range e.Ops {
		op := &e.Ops[i]
		f := events[op.Client]
		switch {
		case op.F == history.FLost:
			loss := *op
			if !e.Claims.ReadWrite {
				loss.Mode = ""
			}
			f.losses = append(f.losses, loss)
		case op.Event(history.FCrash) && f.crash == nil:
			f.crash = op
		case op.Event(history.FClock):
			f.changes = append(f.changes, *op)
		default:
			continue
		}
		events[op.Client] = f
	}
	return events
}

// note adds an operation to the list. It skips an acquire or an extension that never completed, and any
// operation that took effect only after the client's crash.
func (d *ownerOps) note(p *history.Pair, f clientEvents) {
	counts := p.Invoke
	if p.Invoke.F != history.FRelease {
		counts = p.Complete // an acquire or extension takes effect with its completion
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

// match matches each release with the latest unreleased ok acquire that has the same token.
// If there is none, it takes the latest unreleased ok acquire, unless the token belongs to
// an acquire of unknown outcome: then the release matches none.
func (d *ownerOps) match() {
	slices.SortFunc(d.acquires, func(a, b *history.Pair) int { return cmp.Compare(a.Complete.Index, b.Complete.Index) })
	slices.SortFunc(d.extends, func(a, b *history.Pair) int { return cmp.Compare(a.Complete.Index, b.Complete.Index) })
	d.matched = make([]time.Duration, len(d.acquires))
	var owed []int // indices of ok acquires without a release yet, in order
	unsure := map[string]bool{}
	next := 0
	for _, r := range d.releases {
		for ; next < len(d.acquires) && d.acquires[next].Complete.Index < r.Invoke.Index; next++ {
			switch d.acquires[next].Complete.Type {
			case history.OK:
				d.matched[next] = Forever
				owed = append(owed, next)
			case history.Info:
				unsure[d.acquires[next].Lease().Token] = true
			}
		}
		token := history.Pair{Invoke: r.Invoke}.Lease().Token
		best := -1
		for k, i := range owed {
			if token != "" && d.acquires[i].Lease().Token == token {
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
		d.matched[next] = Forever
	}
}

// claim is a period in which a deadline lets an owner believe that it holds the lock.
// invoke and ok are the times of the operation that began the period. end is the time at
// which the deadline passes on the owner's clock.
type claim struct{ invoke, ok, end time.Duration }

// claimed returns the periods for which the acquire p and the later extensions claim the
// lock by the client's clock. An extension that is answered before the last period ends
// prolongs this period; a later answer begins a new period.
func (d *ownerOps) claimed(p *history.Pair, f clientEvents) []claim {
	all := []claim{{p.Invoke.Time, p.Complete.Time, f.ends(p.Lease(), p.Invoke.Time)}}
	if p.Lease().Deadline == 0 {
		return all
	}
	for _, x := range d.extends {
		if x.Complete.Type != history.OK || x.Complete.Index < p.Complete.Index || x.Lease().Deadline == 0 {
			continue
		}
		last := &all[len(all)-1]
		if end := f.ends(x.Lease(), x.Invoke.Time); x.Complete.Time < last.end {
			last.end = max(last.end, end)
		} else {
			all = append(all, claim{x.Invoke.Time, x.Complete.Time, end})
		}
	}
	return all
}

// cutoff returns the earlier of two times: the client's crash, and the notice that the
// client lost the lock that it had acquired with p. It returns Forever if neither happened.
func (f clientEvents) cutoff(p *history.Pair, lock string, mode history.Mode) time.Duration {
	end := Forever
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

// ends returns when the lease's deadline passes for the client, no earlier than the time since; Forever if it
// has none.
func (f clientEvents) ends(l history.Lease, since time.Duration) time.Duration {
	switch {
	case l.Deadline == 0:
		return Forever
	case l.Monotonic:
		return max(since, l.Deadline)
	}
	return f.reaches(l.Deadline, since)
}

// reaches returns the first instant, no earlier than the time since, at which the client's wall
// clock shows the time due or a later one.
func (f clientEvents) reaches(due, since time.Duration) time.Duration {
	start, ahead := time.Duration(0), time.Duration(0)
	for i := 0; ; i++ {
		stop := Forever
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
			return Forever
		}
		start, ahead = stop, f.changes[i].Offset
	}
}
