package reporttest

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace/nodetest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// MS converts milliseconds to a duration.
func MS(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }

// Tape builds a trial by hand. Entries and commands may be added in any order. All times are in
// milliseconds since the trial's start.
type Tape struct {
	tb       testing.TB
	ops      []history.Op
	commands []history.Command
	claims   history.Claims
	seq      int64
	windows  int
	process  map[int]history.Process
}

// NewTape returns an empty tape for set-nx-px, with a lease of one second.
func NewTape(tb testing.TB) *Tape { return NewTapeOf(tb, "set-nx-px") }

// NewTapeOf returns an empty tape for a recipe, with a lease of one second.
func NewTapeOf(tb testing.TB, recipe string) *Tape {
	r, ok := locks.ByID(recipe)
	if !ok {
		tb.Fatalf("no recipe %q", recipe)
	}
	return &Tape{tb: tb, claims: r.Claims(time.Second, 1), process: map[int]history.Process{}}
}

// Script returns the SHA-1 of one of the recipe's scripts.
func (t *Tape) Script(name string) string {
	for sha, known := range t.claims.ScriptNames {
		if known == name {
			return sha
		}
	}
	t.tb.Fatalf("%s runs no script %q", t.claims.Lock, name)
	return ""
}

func (t *Tape) proc(client int) history.Process {
	if p, ok := t.process[client]; ok {
		return p
	}
	return history.Process(client)
}

// Op adds an operation on the lock "orders". It completes with typ at done; if done < 0, it stays
// open. change, if not nil, sets further fields of its entries.
func (t *Tape) Op(client int, f string, start, done float64, typ history.Type, change func(*history.Op)) {
	op := history.Op{Time: MS(start), Process: t.proc(client), Client: client, Type: history.Invoke, F: f, Lock: "orders"}
	if change != nil {
		change(&op)
	}
	invoke := op
	invoke.Value, invoke.Seq, invoke.Error, invoke.Reason = nil, 0, "", ""
	t.ops = append(t.ops, invoke)
	if done >= 0 {
		op.Time, op.Type = MS(done), typ
		t.ops = append(t.ops, op)
	}
	if typ == history.Info {
		t.process[client] = t.proc(client) + 3
	}
}

// Acquire adds a successful acquire.
func (t *Tape) Acquire(client int, start, done float64) {
	t.Op(client, history.FAcquire, start, done, history.OK, func(o *history.Op) {
		o.Lease = &history.Lease{Token: "token-" + string(rune('a'+client))}
	})
}

// Busy adds an acquire that fails because the lock is held.
func (t *Tape) Busy(client int, start, done float64) {
	t.Op(client, history.FAcquire, start, done, history.Fail, func(o *history.Op) { o.Reason = history.Busy })
}

// Release adds a release that completes with typ. If typ is history.Fail, the reason is NotHeld.
func (t *Tape) Release(client int, start, done float64, typ history.Type) {
	t.Op(client, history.FRelease, start, done, typ, func(o *history.Op) {
		if typ == history.Fail {
			o.Reason = history.NotHeld
		}
	})
}

// Touch adds a read or a write of the guarded resource (history.FRead or FWrite). It takes one
// millisecond.
func (t *Tape) Touch(client int, f string, at float64, value ...int64) {
	t.seq++
	seq := t.seq
	t.Op(client, f, at, at+1, history.OK, func(o *history.Op) { o.Value, o.Seq = value, seq })
}

// Window adds a fault from start to end. w is the window of its closing entry; if end < 0, the
// fault stays open.
func (t *Tape) Window(start, end float64, w history.Window) {
	t.windows++
	w.ID = t.windows
	closed, opened := w, w
	opened.Hits, opened.Impact = 0, nil
	opened.Planned = &history.Timing{At: MS(start)}
	op := history.Op{Time: MS(start), Process: history.Nemesis, Client: history.NoClient, Type: history.Invoke, F: w.Fault, Window: &opened}
	t.ops = append(t.ops, op)
	if end < 0 {
		return
	}
	i := history.Impact{At: history.Moment{Client: history.NoClient}}
	if w.Impact != nil {
		i = *w.Impact
	}
	i.At.Time, i.From, i.For = MS(start), MS(start), MS(end-start)
	closed.Impact = &i
	op.Time, op.Type, op.Window = MS(end), history.Info, &closed
	t.ops = append(t.ops, op)
}

// Before returns the moment at which a client is about to send the first command of a step; if
// command is "", it is the step's beginning.
func Before(client int, step, command string) history.Moment {
	p := history.Moment{Client: client, Step: step}
	if command != "" {
		p.Node, p.N, p.When, p.Command, p.Key = "n0", 1, history.Before, command, "orders"
	}
	return p
}

// Link returns the links of a fault that strikes one link; d is a direction, or "" for both.
func Link(from, to string, d history.Direction) []history.Link {
	return []history.Link{{From: from, To: to, Direction: d}}
}

// Event adds an event of the nemesis, such as history.FCrash, at a time in milliseconds. change, if
// not nil, sets further fields of the entry.
func (t *Tape) Event(f string, at float64, change func(*history.Op)) {
	op := history.Op{Time: MS(at), Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: f}
	if change != nil {
		change(&op)
	}
	t.ops = append(t.ops, op)
}

// Crash adds the crash of a client.
func (t *Tape) Crash(client int, at float64) {
	t.Event(history.FCrash, at, func(o *history.Op) { o.Client = client })
}

// Command adds a command that took 1.8 ms. reply is the node's reply; "" = not observed.
func (t *Tape) Command(client int, node string, sent float64, reply, text string) *history.Command {
	c := history.Command{Client: client, Node: node, Conn: 1, Op: -1, Sent: MS(sent), Arrived: MS(sent + 1), Served: MS(sent + 1), Replied: MS(sent + 1.8), Reply: history.Bytes(reply)}
	for _, f := range strings.Fields(text) {
		c.Args = append(c.Args, history.Bytes(f))
	}
	t.commands = append(t.commands, c)
	return &t.commands[len(t.commands)-1]
}

// Evidence numbers all entries in order of time. It runs the commands on simulated nodes to find
// the key changes.
func (t *Tape) Evidence() history.Evidence {
	slices.SortStableFunc(t.ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	for i := range t.ops {
		t.ops[i].Index = i
	}
	pairs, err := history.Pairs(t.ops)
	if err != nil {
		panic("impossible hand-made history: " + err.Error())
	}
	for i := range t.commands {
		c := &t.commands[i]
		if c.Served > 0 {
			c.Exec = 1
		}
		for _, p := range pairs {
			if p.Invoke.Client == c.Client && p.Invoke.Time <= c.Sent && (p.Complete == nil || c.Sent <= p.Complete.Time) {
				c.Op = p.Invoke.Index
			}
		}
	}
	return nodetest.Play{Ops: t.ops, Commands: t.commands}.Evidence(t.tb, t.claims)
}

// Trial is a hand-made or recorded trial with its evidence.
type Trial struct {
	Name, Lock, Fault, Workload string
	Topology                    testbed.Topology
	Nodes                       int
	// Kind is the kind that the recipe declares for every finding; "" = undeclared.
	Kind     locks.Kind
	Verdicts []checker.Verdict
	history.Evidence
}

// Flaws returns the findings as flaws of the declared kind.
func (t Trial) Flaws() []locks.Flaw {
	var all []locks.Flaw
	for _, v := range t.Verdicts {
		for _, f := range v.Findings {
			all = append(all, locks.Flaw{Oracle: v.Oracle, Cause: string(f.Cause), Kind: t.Kind})
		}
	}
	return all
}

// Finding returns a hand-made finding from one time to another, in milliseconds. Its Ops are the
// clients' successful acquires up to the later time.
func Finding(e history.Evidence, cause checker.Cause, from, to float64, summary string, clients ...int) checker.Finding {
	f := checker.Finding{Cause: cause, Summary: summary, Lock: "orders", Clients: clients, From: MS(from), To: MS(to)}
	for _, op := range e.Ops {
		if slices.Contains(clients, op.Client) && op.F == history.FAcquire && op.Type == history.OK && op.Time <= f.To {
			f.Ops = append(f.Ops, op.Index)
		}
	}
	return f
}

// Violated returns an oracle's verdict with these findings.
func Violated(oracle string, fs ...checker.Finding) checker.Verdict {
	return checker.Verdict{Oracle: oracle, Result: checker.Violated, Findings: fs}
}

// Trial returns the evidence as a trial with a name and verdicts.
func (t *Tape) Trial(name, lock, fault string, kind locks.Kind, e history.Evidence, verdicts ...checker.Verdict) Trial {
	return Trial{Name: name, Lock: lock, Fault: fault, Workload: "mutex", Topology: "single", Kind: kind, Verdicts: verdicts, Evidence: e}
}
