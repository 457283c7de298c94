package checker

import "github.com/lockstorm/lockstorm/history"

// updates counts the writes of guarded resources, and those that were lost. It measures
// nothing if the lock lets several clients in at once: their writes may interleave.
func (m *measure) updates() {
	if permitsOf(m.replay.Claims) > 1 {
		return
	}
	byLock, sections := touches(m.replay.Evidence, m.replay.pairing)
	if ordered(byLock) != nil {
		return
	}
	for _, all := range byLock {
		for _, t := range all {
			if t.op.F == history.FWrite {
				m.Updates++
			}
		}
	}
	if m.Updates > 0 {
		m.Lasted = m.replay.end
	}
	lost := map[int]bool{} // by index of the write
	for _, s := range sections {
		for _, t := range between(s, byLock[s.lock]) {
			if s.overwrote(t) {
				lost[t.op.Index] = true
			}
		}
	}
	m.LostUpdates = len(lost)
}

// overwrote reports whether s wrote over t a value that it had computed from a read before
// t. Unlike lostBy, it does not count a write of s that follows a later read.
func (s *section) overwrote(t touch) bool {
	if t.op.F != history.FWrite {
		return false
	}
	read := false
	for _, u := range s.touches {
		switch {
		case u.op.F == history.FWrite && u.op.Seq > t.op.Seq:
			return read
		case u.op.F == history.FRead && u.op.Seq > t.op.Seq:
			return false
		case u.op.F == history.FRead:
			read = true
		}
	}
	return false
}
