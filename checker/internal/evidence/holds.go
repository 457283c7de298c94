package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Never is the time of an event that the history does not have, such as Hold.To of a hold that nothing
// ended.
const Never = keyspace.Forever

// Hold is one span of time during which a client believed that it held a lock. It begins
// with the acquire's ok. It ends with the first of these: the invocation of the release,
// the claimed deadline on the client's own clock, a reported loss of the lock, the
// client's crash. Nested acquires of one client belong to the same hold.
type Hold struct {
	Lock   string
	Mode   history.Mode // empty unless the recipe claims a read-write lock
	Client int
	// From and To are on the history's clock; To is Never if nothing ended the hold.
	// A deadline may lie beyond the history's last entry.
	From, To time.Duration
	ToWhy    string // ByRelease, ByDeadline, ByLost, ByCrash or ByNothing
	// Acquire is the index of the (outermost) acquire's ok. End is the index of the entry
	// that ended the hold; -1 if the deadline or nothing ended it.
	Acquire, End int
	// Extended is the index of the ok of the extension that began the hold after the old
	// deadline had passed. 0 = the hold began with Acquire.
	Extended int
	// Nested lists, for each nested acquire, the index of its ok.
	Nested []int
	// Released lists the indices of the release invocations that left the hold open, because the client
	// still believed in another acquire of the same hold.
	Released []int
}

// Owner identifies one party that can hold a lock: a client in one mode. The mode is empty unless
// the lock is a read-write lock.
type Owner struct {
	Client int
	Lock   string
	Mode   history.Mode
}

// Permits returns the number of owners that may hold a lock at a time. It is 1 for a
// read-write lock, where the modes decide.
func Permits(c history.Claims) int {
	if c.ReadWrite {
		return 1
	}
	return max(1, c.Permits)
}

func readHolds(e history.Evidence, pairs history.Pairing) []Hold {
	clocks, _ := clocksOf(e.Ops)
	s := scan{
		modes:   e.Claims.ReadWrite,
		clocks:  clocks,
		beliefs: map[Owner]*belief{},
		crashed: map[int]bool{},
		holds:   make([]Hold, 0, len(pairs.All)/2), // about half of all operations are acquires
	}
	for i := range e.Ops {
		var p *history.Pair
		if at := pairs.Of[i]; at >= 0 {
			p = &pairs.All[at]
		}
		s.entry(&e.Ops[i], p)
	}
	return s.finish()
}

// openAcquire is a successful acquire that was not released yet.
type openAcquire struct {
	token  string
	ok     int           // index of the acquire's ok
	until  time.Duration // when the deadline passes on the client's clock; Never without a deadline
	live   bool          // the client still believes in the acquire
	lapsed bool          // the deadline, and nothing else, ended that belief
}

// belief is the state of one owner's beliefs about one lock.
type belief struct {
	openAcquires []openAcquire
	unknown      map[string]bool // tokens of acquires that ended with info
	open         *Hold           // the hold that has begun and not ended; nil for none
}

// scan goes through a history once, in order, and collects holds.
type scan struct {
	modes   bool
	clocks  map[int]Clock
	beliefs map[Owner]*belief
	crashed map[int]bool
	holds   []Hold
}

func (s *scan) owner(op *history.Op) Owner {
	p := Owner{Client: op.Client, Lock: op.Lock}
	if s.modes {
		p.Mode = op.Mode
	}
	return p
}

func (s *scan) belief(p Owner) *belief {
	b := s.beliefs[p]
	if b == nil {
		b = &belief{unknown: map[string]bool{}}
		s.beliefs[p] = b
	}
	return b
}

// entry processes the next entry; p is the operation that it belongs to, if any.
func (s *scan) entry(op *history.Op, p *history.Pair) {
	switch op.F {
	case history.FCrash:
		if op.Event(history.FCrash) {
			s.endAll(op, account.ByCrash, func(p Owner) bool { return p.Client == op.Client })
			s.crashed[op.Client] = true
		}
	case history.FLost:
		s.endAll(op, account.ByLost, func(p Owner) bool {
			return p.Client == op.Client && (op.Lock == "" || p.Lock == op.Lock) &&
				(op.Mode == "" || !s.modes || p.Mode == op.Mode)
		})
	case history.FAcquire:
		if p != nil && op.Process != history.Nemesis && op.Type != history.Invoke {
			s.acquired(p)
		}
	case history.FExtend:
		if p != nil && op.Process != history.Nemesis && op.Type == history.OK {
			s.extended(p)
		}
	case history.FRelease:
		if op.Process != history.Nemesis && op.Type == history.Invoke {
			s.release(op)
		}
	}
}

func (s *scan) acquired(p *history.Pair) {
	at := s.owner(p.Invoke)
	if s.crashed[at.Client] {
		return
	}
	b := s.belief(at)
	lease := p.Lease()
	if p.Complete.Type == history.Info && lease.Token != "" {
		b.unknown[lease.Token] = true
	}
	if p.Complete.Type != history.OK {
		return
	}
	now := p.Complete.Time
	s.expire(b, now)
	a := openAcquire{token: lease.Token, ok: p.Complete.Index, until: s.clocks[at.Client].Ends(lease, p.Invoke.Time)}
	a.live = a.until > now
	a.lapsed = !a.live
	b.openAcquires = append(b.openAcquires, a)
	switch {
	case !a.live: // the deadline passed before the acquire returned: no hold
	case b.open != nil:
		b.open.Nested = append(b.open.Nested, p.Complete.Index)
	default:
		b.open = &Hold{Lock: at.Lock, Mode: at.Mode, Client: at.Client, From: now, Acquire: p.Complete.Index, End: -1}
	}
}

// extended moves the deadlines of all open acquires of the owner. It revives an open acquire
// whose old deadline has passed if the client hears of the extension before the new deadline.
func (s *scan) extended(p *history.Pair) {
	at := s.owner(p.Invoke)
	if s.crashed[at.Client] {
		return
	}
	b := s.belief(at)
	s.expire(b, p.Complete.Time)
	lease := p.Lease()
	if lease.Deadline == 0 {
		return
	}
	until := s.clocks[at.Client].Ends(lease, p.Invoke.Time)
	for i := range b.openAcquires {
		a := &b.openAcquires[i]
		if a.until = max(a.until, until); !a.lapsed || a.until <= p.Complete.Time {
			continue
		}
		a.live, a.lapsed = true, false
		if b.open == nil {
			b.open = &Hold{
				Lock: at.Lock, Mode: at.Mode, Client: at.Client, From: p.Complete.Time,
				Acquire: a.ok, Extended: p.Complete.Index, End: -1,
			}
		}
	}
}

// release processes the invocation of a release, whatever its outcome.
func (s *scan) release(op *history.Op) {
	if s.crashed[op.Client] {
		return
	}
	b := s.belief(s.owner(op))
	s.expire(b, op.Time)
	token := ""
	if op.Lease != nil {
		token = op.Lease.Token
	}
	i := len(b.openAcquires) - 1
	if token != "" {
		for i >= 0 && b.openAcquires[i].token != token {
			i--
		}
		if i < 0 && !b.unknown[token] {
			i = len(b.openAcquires) - 1
		}
	}
	if i < 0 {
		return
	}
	wasLive := b.openAcquires[i].live
	b.openAcquires = slices.Delete(b.openAcquires, i, i+1)
	if !wasLive || b.open == nil {
		return
	}
	if slices.ContainsFunc(b.openAcquires, func(a openAcquire) bool { return a.live }) {
		b.open.Released = append(b.open.Released, op.Index)
		return
	}
	s.end(b, op.Time, account.ByRelease, op.Index)
}

// expire ends the open acquires of b whose deadlines have passed on the client's clock by now.
func (s *scan) expire(b *belief, now time.Duration) {
	last, live := time.Duration(0), false
	for i := range b.openAcquires {
		a := &b.openAcquires[i]
		if a.live && a.until <= now {
			a.live, a.lapsed = false, true
			last = max(last, a.until)
		}
		live = live || a.live
	}
	if !live && b.open != nil {
		s.end(b, last, account.ByDeadline, -1)
	}
}

// endAll ends the beliefs of every owner p for which at(p) is true.
func (s *scan) endAll(op *history.Op, why string, at func(Owner) bool) {
	for p, b := range s.beliefs {
		if !at(p) {
			continue
		}
		s.expire(b, op.Time)
		for i := range b.openAcquires {
			b.openAcquires[i].live, b.openAcquires[i].lapsed = false, false
		}
		if b.open != nil {
			s.end(b, op.Time, why, op.Index)
		}
	}
}

// end closes b's open hold. It drops a hold that is empty.
func (s *scan) end(b *belief, at time.Duration, why string, index int) {
	h := *b.open
	b.open = nil
	h.To, h.ToWhy, h.End = at, why, index
	if h.To > h.From {
		s.holds = append(s.holds, h)
	}
}

// finish closes the open holds and returns all holds, sorted.
func (s *scan) finish() []Hold {
	for _, b := range s.beliefs {
		s.expire(b, Never-1)
		if b.open != nil {
			s.end(b, Never, account.ByNothing, -1)
		}
	}
	slices.SortFunc(s.holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Acquire, b.Acquire))
	})
	return s.holds
}

// sound returns an error if the entries are out of order, a time is out of range, or a client acts after
// its crash. It interprets nothing: the sweep and porcupine each read the entries in their own way.
func sound(ops []history.Op) error {
	inRange := func(d time.Duration) bool { return -keyspace.Lifetime < d && d < keyspace.Lifetime }
	dead := map[int]bool{}
	for i, op := range ops {
		if op.Event(history.FCrash) {
			dead[op.Client] = true
		}
		switch {
		case op.Process != history.Nemesis && dead[op.Client]:
			return fmt.Errorf("entry %d: c%d has crashed before", op.Index, op.Client)
		case op.Time < 0 || !inRange(op.Time) || !inRange(op.Offset) || (op.Lease != nil && !inRange(op.Lease.Deadline)):
			return fmt.Errorf("entry %d: a time is out of range", op.Index)
		case i > 0 && op.Index <= ops[i-1].Index:
			return fmt.Errorf("entry %d comes after entry %d", op.Index, ops[i-1].Index)
		case i > 0 && op.Time < ops[i-1].Time:
			return fmt.Errorf("entry %d: time goes back from %v to %v", op.Index, ops[i-1].Time, op.Time)
		}
	}
	return nil
}
