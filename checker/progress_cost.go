package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file measures the load that a lock puts on its nodes: the commands that clients
// sent. Commands of watchdogs and of waiting clients count; handshakes and PING do not.

// HeldRate returns the number of commands per second of held time; 0 if no lock was held.
func (p Progress) HeldRate() float64 {
	if p.HeldTime <= 0 {
		return 0
	}
	return float64(p.HeldCommands) / p.HeldTime.Seconds()
}

// costs counts commands by grant, and while locks were held.
func (m *measure) costs() {
	byGrant := map[clientLock][]int{}
	for at, times := range m.began {
		byGrant[at] = make([]int, len(times))
	}
	held := m.held()
	for _, intervals := range held {
		for _, s := range intervals {
			m.HeldTime += s.to - s.from
		}
	}
	for i := range m.replay.Commands {
		c := &m.replay.Commands[i]
		if c.N == 0 {
			continue
		}
		m.Commands++
		lock, ok := m.lockOf(c)
		if !ok {
			continue
		}
		if within, _ := intervalAt(held[lock], c.Sent); within {
			m.HeldCommands++
		}
		at := clientLock{c.Client, lock}
		n, _ := slices.BinarySearch(m.began[at], c.Sent+1)
		if n > 0 {
			byGrant[at][n-1]++
		}
	}
	var all []int
	for _, counts := range byGrant {
		all = append(all, counts...)
	}
	if len(all) > 0 {
		slices.Sort(all)
		m.GrantCommandsMedian, m.GrantCommandsMax = all[(len(all)-1)/2], all[len(all)-1]
	}
}

// held returns the times, by lock, in which some client believed that it held the lock.
func (m *measure) held() map[string][]interval {
	all := map[string][]interval{}
	for _, h := range m.replay.holds {
		all[h.Lock] = append(all[h.Lock], interval{h.From, min(h.To, m.replay.end)})
	}
	for lock := range all {
		all[lock] = merged(all[lock])
	}
	return all
}

// intervalAt reports whether t lies in one of the intervals, which must be merged, and returns
// the place of that interval.
func intervalAt(all []interval, t time.Duration) (within bool, at int) {
	at, _ = slices.BinarySearchFunc(all, t, func(s interval, t time.Duration) int {
		if s.to <= t {
			return -1
		}
		return 1
	})
	return at < len(all) && all[at].from <= t, at
}

// lockOf returns the lock that a command is about: the lock of the operation that sent it.
// For a watchdog's command it is the only lock that the client attended to, or the only
// lock of the trial. ok is false if the lock is unknown.
func (m *measure) lockOf(c *history.Command) (lock string, ok bool) {
	if m.replay.has(c.Op) {
		return m.replay.operation(c.Op).Invoke.Lock, true
	}
	if len(m.asked) == 1 {
		for lock := range m.asked {
			return lock, true
		}
	}
	for at := range m.began {
		if at.client != c.Client {
			continue
		}
		if in, _ := intervalAt(m.replay.attended[at], c.Sent); in {
			if ok {
				return "", false
			}
			lock, ok = at.lock, true
		}
	}
	return lock, ok
}
