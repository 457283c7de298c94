package checker

// hold adds an acquire of set-nx-px at the time from, and a release at the time to.
func (s *story) hold(from, to float64, client int, token string) {
	s.take(from, client, "OK", setPX(token)...)
	s.give(to, client, "1", s.cad(token)...)
}

// holdEX adds an acquire and a release of set-nx-ex.
func (s *story) holdEX(from, to float64, client int) {
	s.take(from, client, "OK", "SET", "lock", "1", "EX", "1", "NX")
	s.give(to, client, "1", "DEL", "lock")
}

// enter and leave return the commands that run the scripts of reentrant-hash: enter acquires, leave
// releases.
func (s *story) enter(owner string) []string {
	return s.script("hash-enter", []string{"lock"}, owner, "1")
}

func (s *story) leave(owner string) []string {
	return s.script("hash-leave", []string{"lock"}, owner)
}

// holdHash adds an acquire and a release of reentrant-hash.
func (s *story) holdHash(from, to float64, client int, owner string) {
	s.take(from, client, "1", s.enter(owner)...)
	s.give(to, client, "1", s.leave(owner)...)
}
