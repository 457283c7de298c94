package checker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file measures how long keys stand unattended, and how soon after a fault some
// client gets in again.

// orphaned measures, for each key, how long the key stood while no living client attended
// to its grants.
func (m *measure) orphaned() {
	byKey := map[keyspace.NodeKey][]*keyspace.Grant{}
	for _, l := range m.replay.Grants {
		if l.Lock != "" {
			byKey[l.NodeKey()] = append(byKey[l.NodeKey()], l)
		}
	}
	for _, lives := range byKey {
		stood, cared := m.replay.stood(lives), m.replay.caredFor(lives)
		for _, s := range subtract(stood, cared) {
			lasted := s.to - s.from
			if lasted <= orphanSlack {
				continue
			}
			m.Orphans++
			m.OrphanSum += lasted
			m.OrphanMax = max(m.OrphanMax, lasted)
		}
	}
}

// orphanSlack is the greatest time for which a key may stand unattended without counting
// as an orphan.
const orphanSlack = 2 * time.Millisecond

func (rp *replay) stood(lives []*keyspace.Grant) []interval {
	var all []interval
	for _, l := range lives {
		all = append(all, interval{max(l.At.Lo, l.Came), min(rp.end, l.Until())})
	}
	return merged(all)
}

// caredFor returns the times in which living owners of the grants attended to the lock.
func (rp *replay) caredFor(lives []*keyspace.Grant) []interval {
	var all []interval
	seen := map[clientLock]bool{}
	for _, l := range lives {
		alive := rp.crashOf(l.Client)
		if p := rp.operation(l.Op); rp.has(l.Op) {
			all = append(all, interval{p.Invoke.Time, min(rp.doneAt(p), alive)})
		}
		at := clientLock{l.Client, l.Lock}
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, s := range rp.attended[at] {
			all = append(all, interval{s.from, min(s.to, alive)})
		}
	}
	return merged(all)
}

// merged sorts intervals and joins those that overlap or touch. It drops empty ones.
func merged(all []interval) []interval {
	all = slices.DeleteFunc(all, func(s interval) bool { return s.to <= s.from })
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var joined []interval
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// subtract returns the parts of a that lie outside of b. Both must be merged.
func subtract(a, b []interval) []interval {
	var rest []interval
	next := 0
	for _, s := range a {
		for next < len(b) && b[next].to <= s.from {
			next++
		}
		for i := next; i < len(b) && b[i].from < s.to; i++ {
			if b[i].from > s.from {
				rest = append(rest, interval{s.from, b[i].from})
			}
			s.from = max(s.from, b[i].to)
		}
		if s.from < s.to {
			rest = append(rest, s)
		}
	}
	return rest
}

// recoveries measures how soon after each fault a lock was granted again. A fault whose
// client never gives back what it holds is counted from the client's crash or hang.
func (m *measure) recoveries() {
	var departures []int // indices of entries
	for _, op := range m.replay.Ops {
		if (op.F == history.FCrash || op.F == history.FHung) && op.Process == history.Nemesis && op.Window == nil {
			departures = append(departures, op.Index)
			for _, lock := range m.businessOf(op.Client, op.Time) {
				m.recovery(lock, op.Time)
			}
		}
	}
	for _, win := range m.replay.windows {
		if win.Complete == nil || win.Complete.Window == nil || win.Complete.Window.Hits == 0 {
			continue
		}
		// A crash or a hang within the window was measured above, from there on.
		i, _ := slices.BinarySearch(departures, win.Invoke.Index)
		if i < len(departures) && departures[i] < win.Complete.Index {
			continue
		}
		for _, lock := range slices.Sorted(maps.Keys(m.asked)) {
			m.recovery(lock, win.Complete.Time)
		}
	}
}

// businessOf lists the locks that the client held, asked for or gave back at t.
func (m *measure) businessOf(client int, t time.Duration) []string {
	var locks []string
	for _, lock := range slices.Sorted(maps.Keys(m.asked)) {
		attended := m.replay.attended[clientLock{client, lock}]
		i, _ := slices.BinarySearchFunc(attended, t, func(s interval, t time.Duration) int { return cmp.Compare(s.to, t) })
		asking := m.askedBy(client, lock, t)
		if i < len(attended) && attended[i].from <= t || asking {
			locks = append(locks, lock)
		}
	}
	return locks
}

// askedBy reports whether the client's last operation invoked by t was an acquire of the
// lock and under way at t.
func (m *measure) askedBy(client int, lock string, t time.Duration) bool {
	all := m.replay.pairing.all
	i, _ := slices.BinarySearchFunc(all, t, func(p history.Pair, t time.Duration) int {
		return cmp.Or(cmp.Compare(p.Invoke.Time, t), -1)
	})
	for _, p := range slices.Backward(all[:i]) {
		if p.Invoke.Process != history.Nemesis && p.Invoke.Client == client {
			return p.Invoke.F == history.FAcquire && p.Invoke.Lock == lock && (p.Complete == nil || p.Complete.Time >= t)
		}
	}
	return false
}

func (m *measure) recovery(lock string, since time.Duration) {
	if m.asked[lock] <= since {
		return // no client asked for the lock any more
	}
	times := m.granted[lock]
	i, _ := slices.BinarySearch(times, since+1)
	if i == len(times) {
		m.Unrecovered++
		return
	}
	m.Recoveries++
	m.RecoverySum += times[i] - since
	m.RecoveryMax = max(m.RecoveryMax, times[i]-since)
}
