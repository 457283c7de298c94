package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

const falseAnswer = "conduct: false-answer"

// refuses is a release with one command, which says that the lock was not held.
func (s *story) refuses(at float64, client int, reply string, args ...string) *history.Command {
	s.invoke(at-1, client, history.FRelease)
	c := s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.Fail)
	return c
}

// denied is an acquire with these commands, each with its reply first, that says that the lock
// was busy. The reply to the first command is not heard. Then the client asks again.
func (s *story) denied(at float64, client int, first []string, more ...[]string) {
	s.invoke(at-1, client, history.FAcquire)
	s.unanswered(at, client, first[0], first[1:]...)
	for i, c := range more {
		s.cmd(at+float64(i+1), client, c[0], c[1:]...)
	}
	s.done(at+float64(len(more)+1), client, history.Fail)
	s.busy(at+50, client, "nil", setPX("later")...)
}

// goesOn lets the client send something to the node, which has nothing to do with the lock.
func (s *story) goesOn(at float64, client int) *history.Command {
	return s.cmd(at, client, "0", "EXISTS", "another")
}

func set(reply, token string) []string { return append([]string{reply}, setPX(token)...) }

func TestAReleaseThatDeniesWhatItRemovedIsTold(t *testing.T) {
	tales(t, []tale{
		{"by a script", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, []string{falseAnswer}},
		{"by a second command that finds nothing", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(99, 0, history.FRelease)
			s.cmd(100, 0, "1", "DEL", "lock")
			s.cmd(101, 0, "0", "DEL", "lock")
			s.done(102, 0, history.Fail)
		}, []string{falseAnswer}},
		{"on a majority of nodes", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.invoke(99, 0, history.FRelease)
			s.onNodes(100, 0, majority, "1", s.cad("t0")...)
			s.done(110, 0, history.Fail)
		}, []string{falseAnswer}},
		{"the last of two releases of a re-entrant lock", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.take(20, 0, "1", s.enter("owner-zero")...)
			s.give(30, 0, "0", s.leave("owner-zero")...)
			s.refuses(40, 0, "1", s.leave("owner-zero")...)
		}, []string{falseAnswer}},
		{"a lock that is handed to the next", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "nil", setPX("t1")...)
			s.refuses(100, 0, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
			s.cmd(102, 1, quoted("t1"), "GET", "lock")
			s.done(103, 1, history.OK)
			s.give(200, 1, "1", s.cad("t1")...)
		}, []string{falseAnswer}},
		{"a lease that was extended", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(899, 0, history.FExtend)
			s.cmd(900, 0, "1", "PEXPIRE", "lock", "1000")
			s.done(901, 0, history.OK)
			s.refuses(1500, 0, "1", s.cad("t0")...)
		}, []string{falseAnswer}},
		{"a lease that a watchdog renewed", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(343, 0, "1", "EXPIRE", "lock", "1")
			s.cmd(676, 0, "1", "EXPIRE", "lock", "1")
			s.refuses(1300, 0, "1", s.cad("t0")...)
		}, []string{falseAnswer}},
	})
}

func TestAReleaseThatMayBeRightIsNotAccused(t *testing.T) {
	told := func(s *story, client int) history.Op {
		return history.Op{Process: history.Process(client), Client: client, Type: history.Info, F: history.FLost, Lock: "lock"}
	}
	tales(t, []tale{
		{"it told the truth", "set-nx-px", func(s *story) {
			s.hold(10, 20, 0, "t0")
		}, nil},
		{"its outcome is unknown", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(99, 0, history.FRelease)
			s.cmd(100, 0, "1", s.cad("t0")...)
			s.done(101, 0, history.Info)
		}, nil},
		{"it removed nothing", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "0", s.cad("t1")...)
		}, nil},
		{"the first reply was lost, and the repetition found nothing", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(99, 0, history.FRelease)
			s.unanswered(100, 0, "1", s.cad("t0")...)
			s.cmd(101, 0, "0", s.cad("t0")...)
			s.done(102, 0, history.Fail)
		}, nil},
		{"the first reply came when the command had been repeated", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(99, 0, history.FRelease)
			s.cmd(100, 0, "1", s.cad("t0")...).Replied = ms(103)
			s.cmd(102, 0, "0", s.cad("t0")...).Conn = 2
			s.done(104, 0, history.Fail)
		}, nil},
		{"the reply came after the answer", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "1", s.cad("t0")...).Replied = ms(150)
		}, nil},
		{"the reply was an error", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "ERR boom", "EVAL", "redis.call('del', KEYS[1]) return redis.error_reply('ERR boom')", "1", "lock")
		}, nil},
		{"another command of the client removed the key", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(90, 0, "1", "DEL", "lock")
			s.refuses(100, 0, "0", s.cad("t0")...)
		}, nil},
		{"the lease was over, though the key was there", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "5000")
			s.refuses(1100, 0, "1", s.cad("t0")...)
		}, nil},
		{"the lease was over when it answered", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "5000")
			s.invoke(999, 0, history.FRelease)
			s.cmd(1000, 0, "1", s.cad("t0")...)
			s.done(1020, 0, history.Fail)
		}, nil},
		{"the deadline was over", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...)
			s.done(11, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(50)})
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"the deadline was over when it answered", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", setPX("t0")...)
			s.done(11, 0, history.OK, history.Lease{Token: "t0", Deadline: ms(101)})
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"the holder had been told of the loss", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.entry(50, told(s, 0))
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"the holder's clock was set", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(50, skew(0, 0, 60000))
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"the node's clock was set", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0")
			s.nemesis(50, history.Op{Client: history.NoClient, F: history.FNodeClock, Node: "n0", Offset: time.Minute})
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, nil},
		{"another had overwritten the key", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.busy(20, 1, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
			s.refuses(30, 0, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"the client's grant had gone, and it removed another's", "set-nx-ex", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.evict(50)
			s.take(60, 1, "OK", "SET", "lock", "1", "EX", "1", "NX")
			s.refuses(100, 0, "1", "DEL", "lock")
			s.give(110, 1, "0", "DEL", "lock")
		}, []string{"exclusion: server-lost-key", "ownership: foreign-delete"}},
		{"a minority of nodes", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.invoke(99, 0, history.FRelease)
			s.onNodes(100, 0, []int{0, 1}, "1", s.cad("t0")...)
			s.done(110, 0, history.Fail)
		}, nil},
		{"a majority of which some replies were lost", "redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.invoke(99, 0, history.FRelease)
			s.onNodes(100, 0, allNodes, "1", s.cad("t0")...)
			for i := range s.e.Commands {
				if c := &s.e.Commands[i]; c.Sent > ms(99) && c.Node >= "n2" {
					c.Replied = 0
				}
			}
			s.done(110, 0, history.Fail)
		}, nil},
		{"one of two keys had gone before", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, set("OK", "t0"), []string{"OK", "SET", "owner", "c0"})
			s.evict(50, "lock")
			s.refuses(100, 0, "1", "DEL", "owner")
		}, nil},
		{"nobody saw the keys", "set-nx-px", func(s *story) {
			s.unwatched = true
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, []string{"liveness: unknown", "ownership: unknown"}},
	})
}

func TestAnAcquireThatDeniesItsGrantIsTold(t *testing.T) {
	orphan := "liveness: orphaned-key"
	tales(t, []tale{
		{"the reply was lost", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"))
		}, []string{falseAnswer, orphan}},
		{"the reply was heard", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.busy(10, 0, "OK", setPX("t0")...)
			s.goesOn(60, 0)
		}, []string{falseAnswer}},
		{"it asked again with another token", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"), set("nil", "t2"))
		}, []string{falseAnswer, orphan}},
		{"it looked, and set a life", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"), []string{quoted("t0"), "GET", "lock"}, []string{"1", "PEXPIRE", "lock", "1000"})
		}, []string{falseAnswer, orphan}},
		{"a lock without a token", "setnx", func(s *story) {
			s.take(1, 1, "1", "SETNX", "lock", "1")
			s.give(5, 1, "1", "DEL", "lock")
			s.busy(10, 0, "1", "SETNX", "lock", "1")
			s.busy(60, 0, "0", "SETNX", "lock", "1")
		}, []string{falseAnswer}},
		{"a new connection after it", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(40, 0, history.Fail)
			s.cmd(58, 0, "PONG", "PING").Conn = 2
			s.goesOn(60, 0).Conn = 2
		}, []string{falseAnswer}},
		{"two keys", "set-nx-px", func(s *story) {
			s.asks(1, 1, history.OK, set("OK", "t1"), []string{"1", "INCR", "fence"})
			s.give(4, 1, "1", s.cad("t1")...)
			s.asks(6, 2, history.OK, set("OK", "t2"), []string{"2", "INCR", "fence"})
			s.give(9, 2, "1", s.cad("t2")...)
			s.denied(11, 0, set("OK", "t0"), []string{"3", "INCR", "fence"})
		}, []string{falseAnswer, orphan}},
		{"a majority of nodes", "redlock", func(s *story) {
			s.vote(10, 1, "t1", allNodes, nil)
			s.invoke(30, 1, history.FRelease)
			s.onNodes(31, 1, allNodes, "1", s.cad("t1")...)
			s.done(40, 1, history.OK)
			s.invoke(99, 0, history.FAcquire)
			s.onNodes(100, 0, majority, "OK", setPX("t0")...)
			s.done(110, 0, history.Fail)
			s.onNodes(150, 0, allNodes, "0", "EXISTS", "another")
		}, []string{falseAnswer}},
		{"a place of two", "set-nx-px", func(s *story) {
			s.e.Claims.Permits = 2
			s.take(1, 1, "1", "ZADD", "lock", "1", "t1")
			s.busy(10, 0, "1", "ZADD", "lock", "2", "t0")
			s.busy(60, 0, "0", "ZADD", "lock", "NX", "2", "t0")
			s.give(100, 1, "1", "ZREM", "lock", "t1")
		}, []string{falseAnswer}},
	})
}

func TestAnAcquireThatMayBeRightIsNotAccused(t *testing.T) {
	orphan := "liveness: orphaned-key"
	tales(t, []tale{
		{"its outcome is unknown", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(40, 0, history.Info)
			s.busy(60, 0, "nil", setPX("t2")...)
		}, []string{orphan}},
		{"it took its grant back", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.asks(10, 0, history.Fail, set("OK", "t0"), append([]string{"1"}, s.cad("t0")...))
			s.hold(60, 70, 0, "t2")
		}, nil},
		{"it tried to take its grant back", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.lost(20, 0, s.cad("t0")...)
			s.done(40, 0, history.Fail)
			s.busy(60, 0, "nil", setPX("t2")...)
		}, []string{orphan}},
		{"what takes its grant back comes late", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.late(20, 100, 0, "1", s.cad("t0")...)
			s.done(40, 0, history.Fail)
			s.busy(60, 0, "nil", setPX("t2")...)
		}, nil},
		{"it takes its grant back in the background", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.busy(10, 0, "OK", setPX("t0")...)
			s.cmd(20, 0, "1", s.cad("t0")...)
			s.hold(60, 70, 0, "t2")
		}, nil},
		{"the repetition was refused", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"), set("nil", "t0"))
		}, []string{orphan}},
		{"its key expired before the answer", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(1100, 0, history.Fail)
			s.hold(1200, 1210, 0, "t2")
		}, nil},
		{"its request arrived after the answer", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.late(10, 100, 0, "OK", setPX("t0")...)
			s.done(40, 0, history.Fail)
			s.busy(160, 0, "nil", setPX("t2")...)
		}, []string{orphan}},
		{"nobody ever got in", "set-nx-px", func(s *story) {
			s.denied(10, 0, set("OK", "t0"))
		}, []string{orphan}},
		{"nothing was heard of the client any more", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.busy(10, 0, "OK", setPX("t0")...)
		}, nil},
		{"a connection in between of which nothing is known", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(40, 0, history.Fail)
			s.invoke(59, 0, history.FAcquire)
			s.cmd(60, 0, "nil", setPX("t2")...).Conn = 3
			s.done(61, 0, history.Fail)
		}, []string{orphan}},
		{"a connection in between over which nothing was sent", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.lost(20, 0, "HELLO", "2")
			s.e.Commands[len(s.e.Commands)-1].Conn = 2
			s.done(40, 0, history.Fail)
			s.invoke(59, 0, history.FAcquire)
			s.cmd(60, 0, "nil", setPX("t2")...).Conn = 3
			s.done(61, 0, history.Fail)
		}, []string{orphan}},
		{"an older connection, while a fault was in force", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(6, 0, history.FAcquire)
			s.fault(9, history.Invoke, 0)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.e.Commands[len(s.e.Commands)-1].Conn = 2
			s.done(40, 0, history.Fail)
			s.fault(50, history.Info, 0)
			s.busy(60, 0, "nil", setPX("t2")...)
		}, []string{orphan}},
		{"a minority of nodes", "redlock", func(s *story) {
			s.vote(10, 1, "t1", allNodes, nil)
			s.invoke(30, 1, history.FRelease)
			s.onNodes(31, 1, allNodes, "1", s.cad("t1")...)
			s.done(40, 1, history.OK)
			s.invoke(99, 0, history.FAcquire)
			s.onNodes(100, 0, []int{0, 1}, "OK", setPX("t0")...)
			s.done(110, 0, history.Fail)
			s.onNodes(150, 0, allNodes, "0", "EXISTS", "another")
		}, nil},
		{"another had the lock", "set-nx-px", func(s *story) {
			s.take(10, 1, "OK", setPX("t1")...)
			s.busy(20, 0, "OK", "SET", "lock", "t0", "XX", "PX", "1000")
			s.busy(60, 0, "nil", setPX("t2")...)
			s.give(100, 1, "0", s.cad("t1")...)
		}, []string{"ownership: race"}},
		{"it left only its entry in a queue", "set-nx-px", func(s *story) {
			s.asks(1, 1, history.OK, []string{"1", "ZADD", "queue", "1", "c1"}, set("OK", "t1"), []string{"1", "ZREM", "queue", "c1"})
			s.asks(10, 0, history.Fail, []string{"1", "ZADD", "queue", "2", "c0"}, set("nil", "t0"))
			s.give(50, 1, "1", s.cad("t1")...)
			s.asks(60, 0, history.OK, []string{"0", "ZADD", "queue", "NX", "2", "c0"}, set("OK", "t2"), []string{"1", "ZREM", "queue", "c0"})
			s.give(90, 0, "1", s.cad("t2")...)
		}, nil},
		{"it found its entry later", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.busy(10, 0, "OK", setPX("t0")...)
			s.asks(60, 0, history.OK, set("nil", "t0"), []string{quoted("t0"), "GET", "lock"})
			s.give(90, 0, "1", s.cad("t0")...)
		}, nil},
		{"a mark of a writer that waits for readers", "set-nx-px", func(s *story) {
			s.e.Claims.ReadWrite = true
			acquire := func(at float64, client int, m history.Mode, how history.Type, commands ...[]string) {
				s.invoke(at-1, client, history.FAcquire, m)
				for i, c := range commands {
					s.cmd(at+float64(i), client, c[0], c[1:]...)
				}
				s.done(at+float64(len(commands)), client, how)
			}
			leave := func(at float64, client int, m history.Mode, key string) {
				s.invoke(at-1, client, history.FRelease, m)
				s.cmd(at, client, "1", "DEL", key)
				s.done(at+1, client, history.OK)
			}
			write := []string{"OK", "SET", "writer", "c0", "NX", "PX", "1000"}
			acquire(1, 0, history.Write, history.OK, write, []string{"0", "EXISTS", "reader"})
			leave(5, 0, history.Write, "writer")
			acquire(10, 1, history.Read, history.OK, []string{"OK", "SET", "reader", "c1", "NX", "PX", "1000"})
			acquire(20, 0, history.Write, history.Fail, write, []string{"1", "EXISTS", "reader"})
			leave(30, 1, history.Read, "reader")
			s.goesOn(40, 0)
		}, nil},
		{"the node was killed meanwhile", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.down(20)
			s.done(40, 0, history.Fail)
			s.up(50, allKeys)
			s.hold(60, 70, 0, "t2")
		}, nil},
		{"nobody saw the keys", "set-nx-px", func(s *story) {
			s.unwatched = true
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"))
		}, []string{"liveness: unknown", "ownership: unknown"}},
	})
}

func TestAFalseAnswerIsToldInItsOwnWords(t *testing.T) {
	for name, test := range map[string]struct {
		recipe string
		tale   func(*story)
		says   string
	}{
		"a release": {"set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, "c0 was told at 0.101s that it did not hold lock, though its own script compare-and-delete had removed lock on n0 at 0.100s, which was its own"},
		"an acquire": {"set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"))
		}, "c0 was told at 0.011s that it had not got lock, though its own SET had set lock on n0 at 0.010s, and it did not try to undo that: c0 did not get the reply to that SET"},
		"a release of a quorum": {"redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.invoke(99, 0, history.FRelease)
			s.onNodes(100, 0, majority, "1", s.cad("t0")...)
			s.done(110, 0, history.Fail)
		}, "had removed lock on 3 nodes at 0.100s"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			s := tell(t, test.recipe)
			test.tale(s)
			v := conduct(t.Context(), newCaseFile(s.evidence()))
			if len(v.Findings) != 1 {
				t.Fatalf("got %d findings, want 1", len(v.Findings))
			}
			f := v.Findings[0]
			if got := plain.Summary(f); !strings.Contains(got, test.says) {
				t.Errorf("got %q, want %q", got, test.says)
			}
			if f.Broken != "" || f.Account.Broken != nil || !slices.Equal(f.Clients, []int{0}) || f.Lock != "lock" || len(f.Ops) < 2 || len(f.Commands) == 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
}
