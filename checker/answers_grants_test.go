package checker

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// denied adds an acquire that completes as busy, although its first command set the lock's key. A
// command is given as its reply and its arguments, such as "OK", "SET", "lock", "t0". The client
// never gets the reply to the first command. Later it asks for the lock again.
func (s *story) denied(at float64, client int, first []string, more ...[]string) {
	s.invoke(at-1, client, history.FAcquire)
	s.unanswered(at, client, first[0], first[1:]...)
	for i, c := range more {
		s.cmd(at+float64(i+1), client, c[0], c[1:]...)
	}
	s.done(at+float64(len(more)+1), client, history.Fail)
	s.busy(at+50, client, "nil", setPX("later")...)
}

// goesOn makes the client send the node a command that has nothing to do with the lock.
func (s *story) goesOn(at float64, client int) *history.Command {
	return s.cmd(at, client, "0", "EXISTS", "another")
}

func set(reply, token string) []string { return append([]string{reply}, setPX(token)...) }

// gaveUp tells of an acquire that takes back its grant by a PEXPIRE, which never arrives.
func gaveUp(life string) func(s *story) { return gaveUpBy("PEXPIRE", "lock", life) }

// gaveUpBy tells of an acquire that takes back its grant by a command that never arrives.
func gaveUpBy(command ...string) func(s *story) {
	return func(s *story) {
		s.hold(1, 5, 1, "t1")
		s.invoke(9, 0, history.FAcquire)
		s.unanswered(10, 0, "OK", setPX("t0")...)
		s.lost(11, 0, command...)
		s.done(12, 0, history.Fail)
		s.busy(60, 0, "nil", setPX("later")...)
	}
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
		{"a life of nothing, which would have removed the key, was lost", "set-nx-px", gaveUp("0"), []string{orphan}},
		{"a life of a moment, which is as good as a release, was lost", "set-nx-px", gaveUp("1"), []string{orphan}},
		{"it looked in other ways, and kept the life", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"), []string{quoted("t0"), "GETRANGE", "lock", "0", "-1"}, []string{quoted("t0"), "GETEX", "lock"},
				[]string{quoted("t0"), "GETEX", "lock", "PX", "2000"}, []string{"1", "TOUCH", "lock"})
		}, []string{falseAnswer, orphan}},
		{"a life too short, which would have removed the key, was lost", "set-nx-px", gaveUpBy("GETEX", "lock", "PX", "1"), []string{orphan}},
		{"a command that would have overwritten the key was lost", "set-nx-px", gaveUpBy("SET", "lock", "free", "XX", "PX", "1"), []string{orphan}},
		{"one script takes the lock and gives it back", "set-nx-px", func(s *story) {
			const cas = `if (redis.call("GET", KEYS[1]) or "free") ~= ARGV[1] then return 0 end redis.call("SET", KEYS[1], ARGV[2]) return 1`
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "EVAL", cas, "1", "lock", "free", "t0")
			s.cmd(11, 0, "1", "EVAL", cas, "1", "lock", "t0", "free")
			s.done(12, 0, history.Fail)
			s.goesOn(60, 0)
			s.take(100, 1, "1", "EVAL", cas, "1", "lock", "free", "t1")
			s.give(120, 1, "1", "EVAL", cas, "1", "lock", "t1", "free")
		}, nil},
		{"a lock without a token", "setnx", func(s *story) {
			s.take(1, 1, "1", "SETNX", "lock", "1")
			s.give(5, 1, "1", "DEL", "lock")
			s.busy(10, 0, "1", "SETNX", "lock", "1")
			s.busy(60, 0, "0", "SETNX", "lock", "1")
		}, []string{falseAnswer}},
		{"connections that came to nothing after it", "set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.done(40, 0, history.Fail)
			s.cmd(58, 0, "PONG", "PING").Conn = 4
			s.goesOn(60, 0).Conn = 4
		}, []string{falseAnswer}},
		{"two keys", "set-nx-px", func(s *story) {
			s.asks(1, 1, history.OK, set("OK", "t1"), []string{"1", "INCR", "fence"})
			s.give(4, 1, "1", s.cad("t1")...)
			s.asks(6, 2, history.OK, set("OK", "t2"), []string{"2", "INCR", "fence"})
			s.give(9, 2, "1", s.cad("t2")...)
			s.denied(11, 0, set("OK", "t0"), []string{"3", "INCR", "fence"})
		}, []string{falseAnswer, orphan}},
		{"a majority of nodes", "redlock", deniedVote(majority, 1), []string{falseAnswer}},
		{"a majority of nodes, then a new connection", "redlock", deniedVote(majority, 2), []string{falseAnswer}},
		{"a majority of nodes, and an older connection that was idle", "redlock", func(s *story) {
			deniedVote(majority, 7)(s)
			s.asksBefore(ms(60), 7)
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

// setOrNot answers 1 even if the key exists.
const setOrNot = `redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 1000) return 1`

// A client that goes on although Redis refused it did not remove or replace the holder's key.
func TestAnAcquireThatRedisRefusedIsTold(t *testing.T) {
	tales(t, []tale{
		{"a refusal that nobody looked at", "set-nx-px", func(s *story) {
			s.take(1, 0, "OK", setPX("t0")...)
			s.take(10, 1, "nil", setPX("t1")...)
			s.give(20, 0, "1", s.cad("t0")...)
			s.give(30, 1, "0", s.cad("t1")...)
		}, []string{falseAnswer, "exclusion: false-answer"}},
		{"a refusal, after which it found its own token", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "OK", setPX("t0")...)
			s.cmd(11, 0, "nil", setPX("t0")...)
			s.done(12, 0, history.OK)
			s.give(20, 0, "1", s.cad("t0")...)
			s.hold(30, 40, 1, "t1")
		}, nil},
		{"a script that told the second reader that it joined", "set-nx-px", func(s *story) {
			const join = `if redis.call("EXISTS", KEYS[1]) == 1 then return 2 end redis.call("SET", KEYS[1], ARGV[1], "PX", 1000) return 1`
			s.take(1, 0, "1", "EVAL", join, "1", "lock", "t0")
			s.take(10, 1, "2", "EVAL", join, "1", "lock", "t1")
		}, []string{"exclusion: race"}},
		{"a script that told refusals by the same number", "set-nx-px", func(s *story) {
			const join = `if redis.call("EXISTS", KEYS[1]) == 1 then return 2 end redis.call("SET", KEYS[1], ARGV[1], "PX", 1000) return 1`
			s.take(1, 0, "1", "EVAL", join, "1", "lock", "t0")
			s.busy(5, 2, "2", "EVAL", join, "1", "lock", "t2")
			s.take(10, 1, "2", "EVAL", join, "1", "lock", "t1")
		}, []string{falseAnswer, "exclusion: false-answer"}},
		{"a refusal that was taken for its own key, which its first command set too late", "set-nx-px", func(s *story) {
			s.take(1, 0, "OK", setPX("t0")...)
			s.invoke(9, 1, history.FAcquire)
			s.late(10, 25, 1, "OK", setPX("t1")...).Replied = 0
			s.cmd(15, 1, "nil", setPX("t1")...)
			s.done(16, 1, history.OK)
			s.give(20, 0, "1", s.cad("t0")...)
			s.give(30, 1, "1", s.cad("t1")...)
		}, []string{falseAnswer, "exclusion: false-answer"}},
		{"a script that answers 1 whatever its SET said", "set-nx-px", func(s *story) {
			s.take(1, 0, "1", "EVAL", setOrNot, "1", "lock", "t0")
			s.take(10, 1, "1", "EVAL", setOrNot, "1", "lock", "t1")
			s.give(20, 0, "1", s.cad("t0")...)
			s.give(30, 1, "0", s.cad("t1")...)
		}, []string{falseAnswer, "exclusion: false-answer"}},
		{"a script that answers 1 to a client that was handed the key", "set-nx-px", func(s *story) {
			s.take(1, 0, "1", "EVAL", setOrNot, "1", "lock", "t0")
			s.give(10, 0, "OK", "SET", "lock", "t1", "PX", "1000")
			s.take(20, 1, "1", "EVAL", setOrNot, "1", "lock", "t1")
			s.give(30, 1, "1", s.cad("t1")...)
		}, nil},
		{"a key that another client had handed over", "set-nx-px", func(s *story) {
			s.take(1, 0, "OK", setPX("t0")...)
			s.busy(5, 1, "nil", setPX("t1")...)
			s.give(10, 0, "OK", "SET", "lock", "t1", "PX", "1000")
			s.take(20, 1, "nil", setPX("t1")...)
			s.give(30, 1, "1", s.cad("t1")...)
		}, nil},
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
		{"the repetition was refused, and entered it among those who ask", "set-nx-px", func(s *story) {
			const takeOrAsk = `if redis.call("EXISTS", KEYS[1]) == 1 then redis.call("ZADD", KEYS[1], 1, ARGV[2]) return 0 end redis.call("ZADD", KEYS[1], 0, ARGV[1]) return 1`
			ask := []string{"EVAL", takeOrAsk, "1", "lock", "t0", "c0"}
			s.take(1, 1, "1", "EVAL", takeOrAsk, "1", "lock", "t1", "c1")
			s.give(5, 1, "1", "DEL", "lock")
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "1", ask...)
			s.cmd(11, 0, "0", ask...)
			s.done(12, 0, history.Fail)
			s.goesOn(60, 0)
		}, nil},
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
		{"a connection to a majority in between of which nothing is known", "redlock", deniedVote(majority, 3), nil},
		{"a connection to a majority in between over which nothing was asked", "redlock", func(s *story) {
			deniedVote(majority, 3)(s)
			for _, n := range majority {
				s.node = fmt.Sprintf("n%d", n)
				s.lost(120, 0, "PING")
				s.e.Commands[len(s.e.Commands)-1].Conn = 2
			}
		}, nil},
		{"an older connection to a majority that was in use", "redlock", func(s *story) {
			deniedVote(majority, 7)(s)
			s.asksBefore(ms(140), 7)
		}, nil},
		{"a minority of nodes", "redlock", deniedVote([]int{0, 1}, 1), nil},
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

// deniedVote returns a tale in which c0's acquire sets its key on these nodes, but completes as
// busy. Afterwards c0 sends a command to every node, over its connection number conn.
func deniedVote(nodes []int, conn int) func(s *story) {
	return func(s *story) {
		s.vote(10, 1, "t1", allNodes, nil)
		s.invoke(30, 1, history.FRelease)
		s.onNodes(31, 1, allNodes, "1", s.cad("t1")...)
		s.done(40, 1, history.OK)
		s.invoke(99, 0, history.FAcquire)
		s.onNodes(100, 0, nodes, "OK", setPX("t0")...)
		s.done(110, 0, history.Fail)
		s.onNodes(150, 0, allNodes, "0", "EXISTS", "another")
		for i := range s.e.Commands {
			if c := &s.e.Commands[i]; c.Sent > ms(140) {
				c.Conn = conn
			}
		}
	}
}

// asksBefore adds a command of c0 to each node. c0 sends it over connection number conn before the
// acquire of deniedVote, and gets the reply at the time answered.
func (s *story) asksBefore(answered time.Duration, conn int) {
	s.onNodes(50, 0, allNodes, "0", "EXISTS", "another")
	for i := range s.e.Commands {
		if c := &s.e.Commands[i]; ms(49) < c.Sent && c.Sent < ms(60) {
			c.Replied, c.Conn = answered, conn
		}
	}
}
