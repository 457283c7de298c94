package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace/nodetest"
	"github.com/lockstorm/lockstorm/locks"
)

// story builds small evidence by hand, as a trial of a real recipe would record it. All
// times are milliseconds since the trial's start. A command belongs to its client's open
// operation and runs on the current node at the given time. By default its reply arrives
// within half a millisecond.
type story struct {
	t    *testing.T
	e    history.Evidence
	open map[int]history.Op
	node string      // the current node, on which the next command runs
	jump map[int]int // by client: how often the client continued as a new process
	conn int         // the current connection, which ends when a node is killed
	// killed: the run ended before its faults were healed.
	killed bool
	// conns maps the index of a node's down event to the last connection before that event.
	conns   map[int]int
	meddled []nodetest.ForeignCommand
	// blurred: a key change was observed only when its command was answered.
	blurred bool
	// unwatched: the nodes' keys were not observed.
	unwatched bool
}

// tell begins the story of a trial of a built-in recipe, with leases of one second.
func tell(t *testing.T, recipe string) *story {
	t.Helper()
	r, ok := locks.ByID(recipe)
	if !ok {
		t.Fatalf("no recipe %q", recipe)
	}
	nodes := 1
	if r.Topology == locks.Independent {
		nodes = 5
	}
	return &story{
		t: t, e: history.Evidence{Claims: r.Claims(time.Second, nodes)},
		open: map[int]history.Op{}, node: "n0", jump: map[int]int{}, conn: 1, conns: map[int]int{},
	}
}

func ms(at float64) time.Duration { return time.Duration(at * float64(time.Millisecond)) }

func (s *story) entry(at float64, op history.Op) history.Op {
	op.Index, op.Time = len(s.e.Ops), ms(at)
	s.e.Ops = append(s.e.Ops, op)
	return op
}

// invoke adds the invocation of an operation on the lock; f is its kind, such as history.FAcquire.
// The operation stays open until done.
func (s *story) invoke(at float64, client int, f string, mode ...history.Mode) {
	op := history.Op{Process: history.Process(client + 100*s.jump[client]), Client: client, Type: history.Invoke, F: f, Lock: "lock"}
	if len(mode) > 0 {
		op.Mode = mode[0]
	}
	s.open[client] = s.entry(at, op)
}

// done adds the completion of the client's open operation. how is its type: OK, Fail or Info.
func (s *story) done(at float64, client int, how history.Type, lease ...history.Lease) {
	op := s.open[client]
	delete(s.open, client)
	op.Type = how
	switch {
	case len(lease) > 0:
		op.Lease = &lease[0]
	case how == history.Info:
		op.Reason = history.Unknown
		s.jump[client]++
	case how == history.Fail && op.F == history.FAcquire:
		op.Reason = history.Busy
	case how == history.Fail:
		op.Reason = history.NotHeld
	}
	s.entry(at, op)
}

// nemesis adds the event op of the nemesis to the history, such as crash(0).
func (s *story) nemesis(at float64, op history.Op) {
	op.Process, op.Type = history.Nemesis, history.Info
	op = s.entry(at, op)
	if op.F == history.FNodeDown {
		s.conns[op.Index] = s.conn
		s.conn++
	}
}

// dying calls told. The commands that told adds run after the history records the node's
// death, but before the node really dies.
func (s *story) dying(told func()) {
	s.conn--
	told()
	s.conn++
}

// fault records that the window of a fault on a client opens or closes. effect is the
// fault's effect, if given.
func (s *story) fault(at float64, how history.Type, client int, effect ...history.FaultEffect) {
	w := &history.Window{Fault: "some-fault", ID: 1, Hits: 1}
	for _, e := range effect {
		w.Effect = e
	}
	s.entry(at, history.Op{Process: history.Nemesis, Client: client, Type: how, F: "some-fault", Window: w})
}

func (s *story) healed(at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FHealed})
}

// keys adds the event that lists the keys of the current node.
func (s *story) keys(at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FKeys, Node: s.node})
}

// evict makes the current node evict the keys with these names, or all its keys if no name is
// given.
func (s *story) evict(at float64, names ...string) {
	op := history.Op{Client: history.NoClient, F: history.FEvict, Node: s.node}
	for _, n := range names {
		op.Keys = append(op.Keys, history.KeyState{Key: n})
	}
	s.nemesis(at, op)
}

// split moves these clients to n1, while the other clients continue at n0.
func (s *story) split(at float64, clients ...int) {
	for i, c := range clients {
		s.nemesis(at+float64(i)/100, history.Op{Client: c, F: history.FSplit, Node: "n1"})
	}
}

// promote makes a node the primary. All later commands run there.
func (s *story) promote(at float64, node string) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FPromote, Node: node})
	s.node = node
}

// at sets the node on which the following commands run.
func (s *story) at(node string) { s.node = node }

// down kills the current node; up starts it again.
func (s *story) down(at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: s.node})
}

func (s *story) up(at float64, lost *history.Lost) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: s.node, Lost: lost})
}

// These say what a restarted node has lost. With someWrites, later replies show which
// writes.
var allKeys, noKeys, someWrites = &history.Lost{Keys: true}, &history.Lost{}, &history.Lost{Writes: 1}

// cmd adds a command that runs as soon as it arrives.
func (s *story) cmd(at float64, client int, reply string, args ...string) *history.Command {
	return s.late(at-0.2, at, client, reply, args...)
}

// late adds a command that runs some time after it was sent. It belongs to the operation
// that is open when it is sent.
func (s *story) late(sent, at float64, client int, reply string, args ...string) *history.Command {
	c := history.Command{
		Client: client, Node: s.node, Conn: s.conn, Op: -1, Sent: ms(sent), Arrived: ms(at), Served: ms(at + 0.1), Replied: ms(at + 0.3),
		Exec: 1, Reply: history.Bytes(reply),
	}
	for _, op := range s.e.Ops {
		if op.Client == client && op.Type == history.Invoke && op.Process != history.Nemesis && op.Time <= c.Sent {
			c.Op = op.Index
		}
		if op.Client == client && op.Type != history.Invoke && op.Process != history.Nemesis && op.Time <= c.Sent {
			c.Op = -1
		}
	}
	for _, a := range args {
		c.Args = append(c.Args, history.Bytes(a))
	}
	s.e.Commands = append(s.e.Commands, c)
	return &s.e.Commands[len(s.e.Commands)-1]
}

// stranger adds a command of somebody who is no client of the trial.
func (s *story) stranger(at float64, args ...string) {
	s.meddle(at, history.ByStranger, args)
}

// unexplained adds the key change that this command would make, but no command.
func (s *story) unexplained(at float64, args ...string) {
	s.meddle(at, history.ByUnknown, args)
}

func (s *story) meddle(at float64, by history.ChangedBy, args []string) {
	s.meddled = append(s.meddled, nodetest.ForeignCommand{At: ms(at), Node: s.node, By: by, Args: args})
}

// lost adds a command that never reaches its node.
func (s *story) lost(sent float64, client int, args ...string) {
	c := s.late(sent, sent, client, "", args...)
	c.Arrived, c.Served, c.Replied, c.Exec = 0, 0, 0, 0
}

// unanswered adds a command that runs, but whose reply does not reach its client.
func (s *story) unanswered(at float64, client int, reply string, args ...string) {
	s.cmd(at, client, reply, args...).Replied = 0
}

// script returns the EVALSHA command for one of the recipe's scripts.
func (s *story) script(name string, keys []string, argv ...string) []string {
	for sha, known := range s.e.Claims.ScriptNames {
		if known == name {
			return slices.Concat([]string{"EVALSHA", sha, fmt.Sprint(len(keys))}, keys, argv)
		}
	}
	s.t.Fatalf("%s runs no script %q", s.e.Claims.Lock, name)
	return nil
}

// cad returns the compare-and-delete command for a token.
func (s *story) cad(token string) []string {
	return s.script("compare-and-delete", []string{"lock"}, token)
}

// evidence returns the story's evidence, including the key changes of simulated nodes.
// Unless the story heals all faults itself, they heal at the end.
func (s *story) evidence() history.Evidence {
	s.t.Helper()
	heals := slices.ContainsFunc(s.e.Ops, func(op history.Op) bool { return op.F == history.FHealed })
	if !heals && !s.killed {
		s.entry(float64(s.e.Ops[len(s.e.Ops)-1].Time)/1e6+1, history.Op{
			Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: history.FHealed})
	}
	e := s.play().Evidence(s.t, s.e.Claims)
	if s.unwatched {
		e.Watched, e.Keys = false, nil
	}
	if s.blurred {
		blur(e)
	}
	return e
}

// play returns the part of the story that simulated nodes perform.
func (s *story) play() nodetest.Play {
	return nodetest.Play{Ops: s.e.Ops, Commands: s.e.Commands, Foreign: s.meddled, Conns: s.conns}
}

// blur widens the times of key changes: the evidence then says only that a command changed
// the key before it was answered.
func blur(e history.Evidence) {
	for i := range e.Keys {
		for _, c := range e.Commands {
			if k := &e.Keys[i]; k.By == history.ByCommand && c.Node == k.Node && c.Exec == k.Exec {
				k.To = max(k.To, c.Served)
			}
		}
	}
}

// take adds a complete acquire. Its one command runs at the given time and takes the lock.
func (s *story) take(at float64, client int, reply string, args ...string) {
	s.invoke(at-1, client, history.FAcquire)
	s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.OK)
}

// busy adds a complete acquire that fails, with one command that finds the lock taken.
func (s *story) busy(at float64, client int, reply string, args ...string) {
	s.invoke(at-1, client, history.FAcquire)
	s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.Fail)
}

// give adds a complete release with one command.
func (s *story) give(at float64, client int, reply string, args ...string) {
	s.invoke(at-1, client, history.FRelease)
	s.cmd(at, client, reply, args...)
	s.done(at+1, client, history.OK)
}

// judged returns the oracles' findings, sorted and without duplicates, as "oracle: cause"
// (with "for ever") or "oracle: unknown". Oracles that hold or do not apply are left out.
func judged(t *testing.T, e history.Evidence) []string {
	t.Helper()
	verdicts, err := Judge(context.Background(), e)
	if err != nil {
		t.Fatalf("Judge: %v", err)
	}
	found := map[string]bool{}
	for _, v := range verdicts {
		if v.Result == Unknown {
			found[v.Oracle+": unknown"] = true
		}
		for _, f := range v.Findings {
			said := fmt.Sprintf("%s: %s", v.Oracle, f.Cause)
			if f.Forever {
				said += " for ever"
			}
			found[said] = true
			t.Logf("%s: %s", said, plain.Summary(f))
			if plain.Broken(f) == "" && isLimit(e.Claims.Lock, v.Oracle, f.Cause) {
				t.Errorf("%s is declared a limit, but nothing is said to have been broken", said)
			}
		}
		if v.Why != "" {
			t.Logf("%s: %s: %s", v.Oracle, v.Result, v.Why)
		}
	}
	all := make([]string, 0, len(found))
	for said := range found {
		all = append(all, said)
	}
	slices.Sort(all)
	return all
}

// isLimit reports whether the recipe declares this flaw as a limit.
func isLimit(recipe, oracle string, cause Cause) bool {
	r, _ := locks.ByID(recipe)
	return slices.ContainsFunc(r.Flaws, func(f locks.Flaw) bool {
		return f.Oracle == oracle && f.Cause == string(cause) && f.Kind == locks.Limit
	})
}

// judgement judges a story, first with exact and then with blurred times, and compares the
// results with want.
func judgement(t *testing.T, recipe string, tale func(*story), want ...string) {
	t.Helper()
	s := tell(t, recipe)
	tale(s)
	e := s.evidence()
	if got := judged(t, e); !slices.Equal(got, want) {
		t.Errorf("%s was judged\n got %s\nwant %s", recipe, strings.Join(got, ", "), strings.Join(want, ", "))
	}
	blur(e)
	if got := judged(t, e); !slices.Equal(got, want) {
		t.Errorf("%s was judged, when it was seen less exactly,\n got %s\nwant %s", recipe, strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

type tale struct {
	name   string
	recipe string
	tale   func(*story)
	want   []string
}

func tales(t *testing.T, all []tale) {
	t.Helper()
	for _, c := range all {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { judgement(t, c.recipe, c.tale, c.want...) })
	}
}

func TestAStoryThatNoRedisTellsIsRefused(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", setPX("t0")...)
	s.take(20, 1, "OK", setPX("t1")...)
	if nodetest.Stage(t, s.play()).Wrong == "" {
		t.Error("two SET NX were granted")
	}
}
