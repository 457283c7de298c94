package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

const falseAnswer = "conduct: false-answer"

// refuses adds a release with one command. The release completes as a fail: its client is told that
// it did not hold the lock.
func (s *story) refuses(at float64, client int, reply string, args ...string) *history.Command {
	s.invoke(at-1, client, history.FRelease)
	c := s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.Fail)
	return c
}

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

func TestAFalseAnswerIsToldInItsOwnWords(t *testing.T) {
	for name, test := range map[string]struct {
		recipe string
		tale   func(*story)
		says   string
	}{
		"a release": {"set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(100, 0, "1", s.cad("t0")...)
		}, "c0 was told at 0.101s that it did not hold lock, though its own script compare-and-delete had removed its own lock on n0 at 0.100s"},
		"an acquire": {"set-nx-px", func(s *story) {
			s.hold(1, 5, 1, "t1")
			s.denied(10, 0, set("OK", "t0"))
		}, "c0 was told at 0.011s that it had not got lock, though its own SET had set lock on n0 at 0.010s, and none of its commands undid that: c0 did not get the reply to that SET"},
		"a release of a quorum": {"redlock", func(s *story) {
			s.vote(10, 0, "t0", allNodes, nil)
			s.invoke(99, 0, history.FRelease)
			s.onNodes(100, 0, majority, "1", s.cad("t0")...)
			s.done(110, 0, history.Fail)
		}, "had removed its own lock on 3 nodes at 0.100s"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			s := tell(t, test.recipe)
			test.tale(s)
			v := conduct(t.Context(), NewCase(s.evidence()))
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
