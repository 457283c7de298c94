package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// tried adds an acquire with one command, whose token is known.
func (s *story) tried(at float64, client int, how history.Type, token, reply string, args ...string) {
	s.invoke(at-1, client, history.FAcquire)
	s.cmd(at, client, reply, args...)
	s.done(at+1, client, how, history.Lease{Token: token})
	if how == history.Info {
		s.jump[client]++
	}
}

func document(owner, asked string) string { return `{"owner":"` + owner + `","asked":` + asked + `}` }

// A value with the owner's token stays the owner's, whatever a refused client changes beside it. Each of
// these locks has a twin with a mistake, which is found.
func TestTheTokenInAValueTellsWhoseItIs(t *testing.T) {
	outlived := func(how history.Type) func(s *story) {
		return func(s *story) {
			s.tried(10, 0, history.OK, "t0", "OK", setPX("t0")...)
			s.tried(500, 1, how, "t1", "OK", "SET", "lock", "t0|t1", "KEEPTTL")
			s.tried(1100, 1, history.OK, "t2", "OK", setPX("t2")...)
			s.give(1500, 0, "0", s.cad("t0")...)
			s.give(1600, 1, "1", s.cad("t2")...)
		}
	}
	tales(t, []tale{
		{"a refused client counts itself in the owner's document", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "t0", "OK", "SET", "lock", document("t0", "0"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "t1", "OK", "SET", "lock", document("t0", "1"), "KEEPTTL")
			s.tried(200, 2, history.Fail, "t2", "OK", "SET", "lock", document("t0", "2"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
			s.tried(400, 1, history.OK, "t3", "OK", "SET", "lock", document("t3", "0"), "NX", "PX", "1000")
			s.give(500, 1, "1", "DEL", "lock")
		}, nil},
		{"a refused client puts its own token in the document", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "t0", "OK", "SET", "lock", document("t0", "0"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "t1", "OK", "SET", "lock", document("t1", "1"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a refused client sets the document's life anew", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "t0", "OK", "SET", "lock", document("t0", "0"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "t1", "OK", "SET", "lock", document("t0", "1"), "PX", "1000")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: foreign-renewal"}},
		{"the same, whose clients tell no tokens", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "", "OK", "SET", "lock", document("t0", "0"), "NX", "PX", "1000")
			s.tried(90, 1, history.Fail, "", quoted(document("t0", "0")), "GET", "lock")
			s.tried(100, 1, history.Fail, "", "OK", "SET", "lock", document("t0", "1"), "KEEPTTL")
			s.tried(120, 2, history.Fail, "", quoted(document("t0", "1")), "GET", "lock")
			s.tried(200, 2, history.Fail, "", "OK", "SET", "lock", document("t1", "2"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a refused client counts itself, and clients tell no tokens", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "", "OK", "SET", "lock", document("t0", "0"), "NX", "PX", "1000")
			s.tried(90, 1, history.Fail, "", quoted(document("t0", "0")), "GET", "lock")
			s.tried(100, 1, history.Fail, "", "OK", "SET", "lock", document("t0", "1"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, nil},
		{"a word that all clients send, and no tokens", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "", "OK", "SET", "lock", "locked 1", "NX", "PX", "1000")
			s.tried(90, 1, history.Fail, "", "nil", "SET", "lock", "locked 2", "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "", "OK", "SET", "lock", "locked 2", "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a number that is a token and a count", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "1", "OK", "SET", "lock", document("1", "1"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "2", "OK", "SET", "lock", document("2", "1"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: unknown"}},
		{"a refused client counts itself beside a token that is a number", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "7", "OK", "SET", "lock", document("7", "0"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "8", "OK", "SET", "lock", document("7", "7"), "KEEPTTL")
			s.tried(200, 2, history.Fail, "9", "OK", "SET", "lock", document("7", "8"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
			s.tried(400, 1, history.OK, "18", "OK", "SET", "lock", document("18", "0"), "NX", "PX", "1000")
			s.give(500, 1, "1", "DEL", "lock")
		}, nil},
		{"the same, and clients tell no tokens", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "", "OK", "SET", "lock", document("71", "0"), "NX", "PX", "1000")
			s.tried(90, 1, history.Fail, "", quoted(document("71", "0")), "GET", "lock")
			s.tried(100, 1, history.Fail, "", "OK", "SET", "lock", document("71", "1"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
			s.tried(400, 1, history.OK, "", "OK", "SET", "lock", document("81", "0"), "NX", "PX", "1000")
			s.give(500, 1, "1", "DEL", "lock")
		}, nil},
		{"a refused client puts its own number in the owner's place, and the owner's in the count's", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "7", "OK", "SET", "lock", document("7", "0"), "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "8", "OK", "SET", "lock", document("8", "7"), "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
			s.tried(400, 1, history.OK, "18", "OK", "SET", "lock", document("18", "0"), "NX", "PX", "1000")
			s.give(500, 1, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a token that all clients use", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "locked", "OK", "SET", "lock", "locked by c0", "NX", "PX", "1000")
			s.tried(100, 1, history.Fail, "locked", "OK", "SET", "lock", "locked by c1", "KEEPTTL")
			s.give(300, 0, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a value that names who asks, under a lease that is outlived", "set-nx-px", outlived(history.Fail), []string{"exclusion: lease-outlived"}},
		{"the same, whose asker heard nothing", "set-nx-px", outlived(history.Info), []string{"exclusion: lease-outlived"}},
		{"a value that names who asks, who is let in", "set-nx-px", func(s *story) {
			s.tried(10, 0, history.OK, "t0", "OK", setPX("t0")...)
			s.tried(500, 1, history.OK, "t1", "OK", "SET", "lock", "t0|t1", "KEEPTTL")
			s.give(700, 0, "0", s.cad("t0")...)
			s.give(800, 1, "1", "DEL", "lock")
		}, []string{"exclusion: unclassified", "ownership: unknown"}},
	})
}

// A lease that is over lets others in, whatever the keys are. While it lasts, it does not.
func TestALeaseIsOutlivedWhateverTheKeysAre(t *testing.T) {
	pool := func(back float64) func(s *story) {
		return func(s *story) {
			s.cmd(5, 2, "1", "RPUSH", "tokens", "a")
			s.take(10, 0, quoted("a"), "LPOP", "tokens")
			s.cmd(back, 2, "1", "RPUSH", "tokens", "a")
			s.take(back+10, 1, quoted("a"), "LPOP", "tokens")
			s.give(back+100, 1, "1", "RPUSH", "tokens", "a")
			s.give(2000, 0, "2", "RPUSH", "tokens", "a")
		}
	}
	tales(t, []tale{
		{"a token that a sweeper put back when the lease was over", "set-nx-px", pool(1100), []string{"exclusion: lease-outlived", "ownership: unknown"}},
		{"a token that a sweeper put back too early", "set-nx-px", pool(900), []string{"exclusion: unclassified", "ownership: unknown"}},
	})
}
