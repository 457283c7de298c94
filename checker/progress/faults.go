package progress

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file measures what goes wrong: how long keys stand unattended, what refused attempts
// leave behind, how soon after a fault some client gets in again, and which updates were lost.

// orphaned measures, for each key, how long the key stood while no living client attended
// to its grants.
func (m *measure) orphaned() {
	byKey := map[keyspace.NodeKey][]*keyspace.Grant{}
	for _, l := range m.replay.Grants {
		if l.Lock != "" {
			byKey[l.NodeKey()] = append(byKey[l.NodeKey()], l)
		}
	}
	for _, grants := range byKey {
		stood, cared := m.stood(grants), m.caredFor(grants)
		for _, s := range evidence.Subtract(stood, cared) {
			lasted := s.To - s.From
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

func (m *measure) stood(grants []*keyspace.Grant) []evidence.Interval {
	var all []evidence.Interval
	for _, l := range grants {
		all = append(all, evidence.Interval{From: max(l.At.Lo, l.Came), To: min(m.replay.End, l.Until())})
	}
	return evidence.Merged(all)
}

// caredFor returns the times in which an owner of these grants attended to the lock, or ran the
// operation that made its grant. An owner's times end at its crash.
func (m *measure) caredFor(grants []*keyspace.Grant) []evidence.Interval {
	var all []evidence.Interval
	seen := map[evidence.ClientLock]bool{}
	for _, l := range grants {
		alive := m.replay.CrashOf(l.Client)
		if p := m.replay.Operation(l.Op); m.replay.Has(l.Op) {
			all = append(all, evidence.Interval{From: p.Invoke.Time, To: min(m.replay.DoneAt(p), alive)})
		}
		at := evidence.ClientLock{Client: l.Client, Lock: l.Lock}
		if seen[at] {
			continue
		}
		seen[at] = true
		for _, s := range m.replay.Attended[at] {
			all = append(all, evidence.Interval{From: s.From, To: min(s.To, alive)})
		}
	}
	return evidence.Merged(all)
}

// recoveries measures how soon after each fault a lock was granted again. If a client crashed or
// hung and so never gives back what it holds, the time counts from the crash or hang.
func (m *measure) recoveries() {
	var departures []int // indices of entries
	for _, op := range m.replay.Ops {
		if op.EventKind().Leaves {
			departures = append(departures, op.Index)
			for _, lock := range m.businessOf(op.Client, op.Time) {
				m.recovery(lock, op.Time)
			}
		}
	}
	for _, win := range m.replay.Windows {
		if win.Complete == nil || win.Complete.Window == nil || win.Complete.Window.Hits == 0 {
			continue
		}
		// A crash or a hang within the window was measured above, from its own time on.
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
		attended := m.replay.Attended[evidence.ClientLock{Client: client, Lock: lock}]
		i, _ := slices.BinarySearchFunc(attended, t, func(s evidence.Interval, t time.Duration) int { return cmp.Compare(s.To, t) })
		asking := m.askedBy(client, lock, t)
		if i < len(attended) && attended[i].From <= t || asking {
			locks = append(locks, lock)
		}
	}
	return locks
}

// askedBy reports whether, at t, the client's latest operation was an acquire of the lock and still
// under way.
func (m *measure) askedBy(client int, lock string, t time.Duration) bool {
	all := m.replay.Pairing.All
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

// Leftover is a key that an acquire of a living client left behind. The acquire was refused, or its
// outcome is unknown.
type Leftover struct {
	Client int    `json:"client"`
	Node   string `json:"node"`
	Key    string `json:"key"`
	// From is the first time at which the key stood there and the attempt was over. Until is the
	// time at which the key was gone, another client took it over, or the client crashed; at most
	// the history's end.
	From  time.Duration `json:"from"`
	Until time.Duration `json:"until"`
}

// lasted returns the time for which the key was in the way of others.
func (l Leftover) lasted() time.Duration { return l.Until - l.From }

// Leftovers lists the keys that attempts left behind, in order of From. Keys that were
// gone within two milliseconds do not count. An impossible history has none.
func Leftovers(e history.Evidence) []Leftover {
	return strays(evidence.New(e).Replay())
}

func strays(rp *evidence.Replay) []Leftover {
	var all []Leftover
	for _, l := range rp.Grants {
		if !rp.Has(l.Op) {
			continue
		}
		p := rp.Operation(l.Op)
		if p.Invoke.F != history.FAcquire || p.Complete == nil || p.Complete.Type == history.OK {
			continue
		}
		found := Leftover{Client: l.Client, Node: l.Node, Key: l.Key, From: max(l.At.Lo, l.Came, rp.DoneAt(p)), Until: min(rp.End, rp.CrashOf(l.Client), l.Until())}
		if found.lasted() > orphanSlack {
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b Leftover) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Client, b.Client))
	})
	return all
}

func (m *measure) leftovers() {
	for _, l := range strays(m.replay) {
		m.Leftovers++
		m.LeftoverSum += l.lasted()
		if l.lasted() > m.LeftoverMost.lasted() {
			m.LeftoverMost = l
		}
	}
}

// updates counts the writes of guarded resources, and those that were lost. It measures
// nothing if the lock lets several clients in at once: their writes may interleave.
func (m *measure) updates() {
	if evidence.Permits(m.replay.Claims) > 1 {
		return
	}
	byLock, sections := evidence.Sections(m.replay.Evidence, m.replay.Pairing)
	if evidence.Ordered(byLock) != nil {
		return
	}
	for _, all := range byLock {
		for _, t := range all {
			if t.Op.F == history.FWrite {
				m.Updates++
			}
		}
	}
	if m.Updates > 0 {
		m.Lasted = m.replay.End
	}
	lost := map[int]bool{} // by index of the write
	for _, s := range sections {
		for _, t := range evidence.Between(s, byLock[s.Lock]) {
			if overwrote(s, t) {
				lost[t.Op.Index] = true
			}
		}
	}
	m.LostUpdates = len(lost)
}

// overwrote reports whether the section s overwrote the write t with a value that s had computed from
// a read before t. If s read again after t, its write does not count; the oracle resource counts it.
func overwrote(s *evidence.Section, t evidence.Touch) bool {
	if t.Op.F != history.FWrite {
		return false
	}
	read := false
	for _, u := range s.Touches {
		switch {
		case u.Op.F == history.FWrite && u.Op.Seq > t.Op.Seq:
			return read
		case u.Op.F == history.FRead && u.Op.Seq > t.Op.Seq:
			return false
		case u.Op.F == history.FRead:
			read = true
		}
	}
	return false
}
