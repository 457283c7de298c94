package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// stages lists trials in which an oracle is violated. The test below removes parts of their
// evidence.
var stages = []struct {
	name, recipe string
	tale         func(*story)
}{
	{"a lease that is outlived", "set-nx-px", twoHoldersByExpiry},
	{"another's key is removed", "set-nx-px", func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.give(100, 1, "1", "DEL", "lock")
		s.take(200, 1, "OK", setPX("t1")...)
		s.give(300, 0, "0", s.cad("t0")...)
		s.give(400, 1, "1", s.cad("t1")...)
	}},
	{"another's key is set anew", "set-nx-px", func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.busy(20, 1, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
		s.give(30, 0, "0", s.cad("t0")...)
		s.cmd(40, 1, "1", "DEL", "lock")
	}},
	{"another's life is prolonged", "set-nx-px", func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.cmd(500, 1, "1", "PEXPIRE", "lock", "5000")
		s.give(600, 0, "1", s.cad("t0")...)
	}},
	{"two who both found it free", "exists-set", func(s *story) {
		s.invoke(9, 0, history.FAcquire)
		s.cmd(10, 0, "0", "EXISTS", "lock")
		s.invoke(10.5, 1, history.FAcquire)
		s.cmd(11, 1, "0", "EXISTS", "lock")
		s.cmd(12, 0, "OK", "SET", "lock", "1")
		s.cmd(13, 1, "OK", "SET", "lock", "2")
		s.done(14, 0, history.OK)
		s.done(15, 1, history.OK)
		s.give(30, 0, "1", "DEL", "lock")
		s.give(40, 1, "0", "DEL", "lock")
	}},
	{"a crashed holder", "set-nx-px", func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.nemesis(20, crash(0))
		s.queue(40, 1000, 1, "nil", setPX("t1")...)
		s.hold(1100, 1150, 1, "t1")
	}},
	{"a grant whose reply was lost", "setnx", func(s *story) {
		s.invoke(9, 0, history.FAcquire)
		s.unanswered(10, 0, "1", "SETNX", "lock", "1")
		s.done(1000, 0, history.Info)
		s.healed(1001)
		s.queue(1010, 3000, 1, "0", "SETNX", "lock", "1")
		s.keys(3100)
	}},
	{"a crashed holder's key without a life", "setnx", func(s *story) {
		s.take(10, 0, "1", "SETNX", "lock", "1")
		s.nemesis(20, crash(0))
		s.healed(30)
		s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
		s.keys(2100)
	}},
	{"watchdogs that outlive their attempt", "redlock-naive", watchdogsGoOn},
	{"a timer that goes on", "reentrant-hash-watchdog", timerGoesOn},
	{"a fence that is counted after another's grant", "set-nx-px", fenceCountedLate},
	{"a record beside another's key that is set anew", "set-nx-px", func(s *story) {
		s.asks(10, 0, history.OK, []string{"OK", "SET", "last", "c0"}, append([]string{"OK"}, setPX("t0")...))
		s.asks(20, 1, history.Fail, []string{"OK", "SET", "last", "c1"}, append([]string{"nil"}, setPX("t1")...))
		s.asks(30, 2, history.Fail, []string{"OK", "SET", "lock", "t2", "XX", "PX", "1000"})
		s.give(40, 0, "0", s.cad("t0")...)
	}},
}

// blanksOf returns copies of the evidence, each without one part. The map's key names the missing
// part, such as "all replies" or "key changes of lock".
func blanksOf(e history.Evidence) map[string]history.Evidence {
	all := map[string]history.Evidence{"all key changes": e, "all that was watched": e, "all replies": e}
	gone := e
	gone.Keys = nil
	all["all key changes"] = gone
	gone.Watched = false
	all["all that was watched"] = gone
	for _, k := range e.Keys {
		some := e
		some.Keys = slices.DeleteFunc(slices.Clone(e.Keys), func(o history.KeyChange) bool { return o.Key == k.Key })
		all["key changes of "+string(k.Key)] = some
	}
	mute := e
	mute.Commands = slices.Clone(e.Commands)
	for i := range e.Commands {
		mute.Commands[i].Reply = ""
		one := e
		one.Commands = slices.Clone(e.Commands)
		one.Commands[i].Reply = ""
		all[fmt.Sprintf("reply %d", i)] = one
		unanswered := e
		unanswered.Commands = slices.Clone(e.Commands)
		unanswered.Commands[i].Reply, unanswered.Commands[i].Replied = "", 0
		all[fmt.Sprintf("answer %d", i)] = unanswered
	}
	all["all replies"] = mute
	return all
}

// TestNothingHoldsWhereTheEvidenceIsBlank checks that without some of the evidence, a
// violated oracle may become unknown but never hold.
func TestNothingHoldsWhereTheEvidenceIsBlank(t *testing.T) {
	results := func(t *testing.T, e history.Evidence) map[string]Verdict {
		verdicts, err := Judge(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]Verdict{}
		for _, v := range verdicts {
			all[v.Oracle] = v
		}
		return all
	}
	for _, stage := range stages {
		t.Run(strings.ReplaceAll(stage.name, " ", "_"), func(t *testing.T) {
			s := tell(t, stage.recipe)
			stage.tale(s)
			e := s.evidence()
			before := results(t, e)
			blanks := blanksOf(e)
			for _, c := range e.Commands {
				blind := tell(t, stage.recipe)
				blind.nemesis(0, history.Op{Client: history.NoClient, F: history.FUnseen, Node: c.Node, Error: "a test"})
				stage.tale(blind)
				blanks["all of "+c.Node] = blind.evidence()
				if len(blanks) > 200 {
					break
				}
			}
			violated := 0
			for oracle, was := range before {
				if was.Result != Violated {
					continue
				}
				violated++
				for blank, e := range blanks {
					if v := results(t, e)[oracle]; v.Result == Held || v.Result == NotApplicable {
						t.Errorf("without %s, %s: %s (%s), was violated: %s", blank, oracle, v.Result, v.Why, was.Findings[0].Summary)
					}
				}
			}
			if violated == 0 {
				t.Error("nothing is violated on this stage")
			}
		})
	}
}
