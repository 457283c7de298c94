package evidence

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// moded returns the entries of a read-write lock with their modes filled in, since a release need not name
// the mode. Every operation other than an acquire gets the mode of its acquire. If a client has several
// unreleased acquires, moded looks for these kinds in order, and takes the latest acquire of the first kind
// that it finds:
//
//   - an acquire with the operation's token;
//   - a granted acquire whose lease is not over;
//   - any granted acquire;
//   - an acquire of unknown outcome.
func moded(e history.Evidence) []history.Op {
	if !e.Claims.ReadWrite || !slices.ContainsFunc(e.Ops, modeless) {
		return e.Ops
	}
	clocks, _ := clocksOf(e.Ops)
	m := moder{clocks: clocks, taken: map[ClientLock][]taken{}, open: map[history.Process]history.Op{}}
	ops := slices.Clone(e.Ops)
	for i := range ops {
		if ops[i].Process != history.Nemesis {
			m.entry(&ops[i])
		}
	}
	return ops
}

func modeless(op history.Op) bool { return op.Process != history.Nemesis && op.Mode == "" }

// taken is an acquire that was not released yet.
type taken struct {
	mode  history.Mode
	token string
	sure  bool          // the acquire ended with ok
	until time.Duration // when the deadline passes on the client's clock, or the client is told of the loss
}

// moder goes through a history once, in order, and fills in modes.
type moder struct {
	clocks map[int]Clock
	taken  map[ClientLock][]taken
	open   map[history.Process]history.Op
}

func (m *moder) entry(op *history.Op) {
	at := ClientLock{Client: op.Client, Lock: op.Lock}
	switch {
	case op.F == history.FLost:
		for who, all := range m.taken {
			for i := range all {
				if who.Client == op.Client && (op.Lock == "" || op.Lock == who.Lock) && (op.Mode == "" || op.Mode == all[i].mode) {
					all[i].until = min(all[i].until, op.Time)
				}
			}
		}
	case op.Type != history.Invoke:
		in := m.open[op.Process]
		op.Mode = in.Mode
		if op.Type == history.Fail {
			return
		}
		lease := history.Pair{Invoke: &in, Complete: op}.Lease()
		until := m.clocks[op.Client].Ends(lease, in.Time)
		switch op.F {
		case history.FAcquire:
			m.taken[at] = append(m.taken[at], taken{op.Mode, lease.Token, op.Type == history.OK, until})
		case history.FExtend:
			for i := range m.taken[at] {
				if x := &m.taken[at][i]; lease.Deadline != 0 && x.until > op.Time {
					x.until = max(x.until, until)
				}
			}
		}
	default:
		if op.F != history.FAcquire {
			m.under(op, at)
		}
		m.open[op.Process] = *op
	}
}

// under sets the mode of an invocation to that of its acquire. If the invocation is a release, under
// removes the acquire from m.taken.
func (m *moder) under(op *history.Op, at ClientLock) {
	best, rank := -1, 0
	for i, x := range m.taken[at] {
		r := 1
		switch {
		case op.Mode != "" && x.mode != op.Mode && (x.mode != "" || op.Mode != history.Write):
			continue // an acquire without a mode is for writing
		case op.Lease != nil && op.Lease.Token != "" && op.Lease.Token == x.token:
			r = 4
		case x.sure && x.until > op.Time:
			r = 3
		case x.sure:
			r = 2
		}
		if r >= rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	op.Mode = m.taken[at][best].mode
	if op.F == history.FRelease {
		m.taken[at] = slices.Delete(m.taken[at], best, best+1)
	}
}
