package reports

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/nodetest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// ms is a time in a hand-made trial.
func ms(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }

// tape is a hand-made trial: entries and commands in any order of writing.
type tape struct {
	tb       testing.TB
	ops      []history.Op
	commands []history.Command
	claims   history.Claims
	seq      int64
	windows  int
	process  map[int]history.Process
}

func newTape(tb testing.TB) *tape { return newTapeOf(tb, "set-nx-px") }

// newTapeOf is a tape of a recipe with a lease of one second.
func newTapeOf(tb testing.TB, recipe string) *tape {
	r, ok := locks.ByID(recipe)
	if !ok {
		tb.Fatalf("no recipe %q", recipe)
	}
	return &tape{tb: tb, claims: r.Claims(time.Second, 1), process: map[int]history.Process{}}
}

// script is the SHA-1 of one of the recipe's scripts.
func (t *tape) script(name string) string {
	for sha, known := range t.claims.ScriptNames {
		if known == name {
			return sha
		}
	}
	t.tb.Fatalf("%s runs no script %q", t.claims.Lock, name)
	return ""
}

func (t *tape) proc(client int) history.Process {
	if p, ok := t.process[client]; ok {
		return p
	}
	return history.Process(client)
}

// op adds an operation that ends with typ at done; done < 0 leaves it open.
func (t *tape) op(client int, f string, start, done float64, typ history.Type, change func(*history.Op)) {
	op := history.Op{Time: ms(start), Process: t.proc(client), Client: client, Type: history.Invoke, F: f, Lock: "orders"}
	if change != nil {
		change(&op)
	}
	invoke := op
	invoke.Value, invoke.Seq, invoke.Error, invoke.Reason = nil, 0, "", ""
	t.ops = append(t.ops, invoke)
	if done >= 0 {
		op.Time, op.Type = ms(done), typ
		t.ops = append(t.ops, op)
	}
	if typ == history.Info {
		t.process[client] = t.proc(client) + 3
	}
}

func (t *tape) acquire(client int, start, done float64) {
	t.op(client, history.FAcquire, start, done, history.OK, func(o *history.Op) {
		o.Lease = &history.Lease{Token: "token-" + string(rune('a'+client))}
	})
}

func (t *tape) acquireMode(client int, mode history.Mode, start, done float64) {
	t.op(client, history.FAcquire, start, done, history.OK, func(o *history.Op) { o.Mode = mode })
}

func (t *tape) busy(client int, start, done float64) {
	t.op(client, history.FAcquire, start, done, history.Fail, func(o *history.Op) { o.Reason = history.Busy })
}

func (t *tape) unknown(client int, f string, start, done float64) {
	t.op(client, f, start, done, history.Info, func(o *history.Op) {
		o.Reason, o.Error = history.Unknown, "read tcp 127.0.0.1:4711: i/o timeout"
	})
}

func (t *tape) release(client int, start, done float64, typ history.Type) {
	t.op(client, history.FRelease, start, done, typ, func(o *history.Op) {
		if typ == history.Fail {
			o.Reason = history.NotHeld
		}
	})
}

func (t *tape) releaseMode(client int, mode history.Mode, start, done float64) {
	t.op(client, history.FRelease, start, done, history.OK, func(o *history.Op) { o.Mode = mode })
}

func (t *tape) touch(client int, f string, at float64, value ...int64) {
	t.seq++
	seq := t.seq
	t.op(client, f, at, at+1, history.OK, func(o *history.Op) { o.Value, o.Seq = value, seq })
}

// window adds a fault from start to end, as it is closed; end < 0 leaves it open.
func (t *tape) window(start, end float64, w history.Window) {
	t.windows++
	w.ID = t.windows
	closed, opened := w, w
	opened.Hits, opened.Impact = 0, nil
	opened.Planned = &history.Timing{At: ms(start)}
	op := history.Op{Time: ms(start), Process: history.Nemesis, Client: history.NoClient, Type: history.Invoke, F: w.Fault, Window: &opened}
	t.ops = append(t.ops, op)
	if end < 0 {
		return
	}
	i := history.Impact{At: history.Place{Client: history.NoClient}}
	if w.Impact != nil {
		i = *w.Impact
	}
	i.At.Time, i.From, i.For = ms(start), ms(start), ms(end-start)
	closed.Impact = &i
	op.Time, op.Type, op.Window = ms(end), history.Info, &closed
	t.ops = append(t.ops, op)
}

// before is where a client was about to send its first command of a step; at the
// step's beginning if there is no command.
func before(client int, step, command string) history.Place {
	p := history.Place{Client: client, Step: step}
	if command != "" {
		p.Node, p.N, p.When, p.Command, p.Key = "n0", 1, history.Before, command, "orders"
	}
	return p
}

// link is one over which a fault struck, in one direction or "" for both.
func link(from, to string, d history.Direction) []history.Link {
	return []history.Link{{From: from, To: to, Direction: d}}
}

// event adds an event of the nemesis.
func (t *tape) event(f string, at float64, change func(*history.Op)) {
	op := history.Op{Time: ms(at), Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: f}
	if change != nil {
		change(&op)
	}
	t.ops = append(t.ops, op)
}

func (t *tape) crash(client int, at float64) {
	t.event(history.FCrash, at, func(o *history.Op) { o.Client = client })
}

// command adds a command that took two milliseconds, answered with reply;
// "" leaves the answer unseen.
func (t *tape) command(client int, node string, sent float64, reply, text string) *history.Command {
	c := history.Command{Client: client, Node: node, Conn: 1, Op: -1, Sent: ms(sent), Arrived: ms(sent + 0.6), Served: ms(sent + 1), Replied: ms(sent + 1.8), Reply: history.Bytes(reply)}
	for _, f := range strings.Fields(text) {
		c.Args = append(c.Args, history.Bytes(f))
	}
	t.commands = append(t.commands, c)
	return &t.commands[len(t.commands)-1]
}

// evidence numbers everything in order of time, and has nodes say what their keys were.
func (t *tape) evidence() history.Evidence {
	slices.SortStableFunc(t.ops, func(a, b history.Op) int { return cmp.Compare(a.Time, b.Time) })
	for i := range t.ops {
		t.ops[i].Index = i
	}
	slices.SortStableFunc(t.commands, func(a, b history.Command) int { return cmp.Compare(a.Sent, b.Sent) })
	pairs, err := history.Pairs(t.ops)
	if err != nil {
		panic("impossible hand-made history: " + err.Error())
	}
	for i := range t.commands {
		c := &t.commands[i]
		c.Index = i
		for _, p := range pairs {
			if p.Invoke.Client == c.Client && p.Invoke.Time <= c.Sent && (p.Complete == nil || c.Sent <= p.Complete.Time) {
				c.Op = p.Invoke.Index
			}
		}
	}
	played := nodetest.Stage(t.tb, nodetest.Play{Ops: t.ops, Commands: t.run()})
	if played.Wrong != "" {
		t.tb.Errorf("no Redis does as the hand-made trial says: %s", played.Wrong)
	}
	return history.Evidence{Ops: played.Ops, Commands: t.commands, Keys: played.Keys, Watched: true, Claims: t.claims}
}

// run numbers the commands that reached their nodes, and returns all of them in the order
// of their answers.
func (t *tape) run() []history.Command {
	var all []*history.Command
	for i := range t.commands {
		all = append(all, &t.commands[i])
	}
	slices.SortStableFunc(all, func(a, b *history.Command) int { return cmp.Compare(a.Served, b.Served) })
	ran := map[string]int{}
	var played []history.Command
	for _, c := range all {
		if c.Served > 0 {
			ran[c.Node]++
			c.Exec = ran[c.Node]
		}
		p := *c
		p.Arrived = c.Served
		played = append(played, p)
	}
	return played
}

// sampleTrial is a hand-made trial with its evidence.
type sampleTrial struct {
	Name  string
	Trial trial.Result
	history.Evidence
}

// finding completes a hand-made finding with the indices of what its clients
// did in its interval, as the checker would give them.
func finding(e history.Evidence, cause checker.Cause, from, to float64, summary string, clients ...int) checker.Finding {
	f := checker.Finding{Cause: cause, Summary: summary, Lock: "orders", Clients: clients, From: ms(from), To: ms(to)}
	for _, op := range e.Ops {
		if slices.Contains(clients, op.Client) && op.F == history.FAcquire && op.Type == history.OK && op.Time <= f.To {
			f.Ops = append(f.Ops, op.Index)
		}
	}
	return f
}

func violated(oracle string, fs ...checker.Finding) checker.Verdict {
	return checker.Verdict{Oracle: oracle, Result: checker.Violated, Findings: fs}
}

// trial wraps verdicts into the trial of a cell.
func (t *tape) trial(lock, fault string, kind locks.Kind, e history.Evidence, verdicts ...checker.Verdict) trial.Result {
	out := trial.Result{
		Spec: trial.Spec{
			Lock: lock, Workload: "mutex", Fault: fault, Testbed: "process", Topology: "single", Seed: 7,
			Options: workloads.Options{Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Duration: 3 * time.Second, Seed: 7},
		},
		Outcome: trial.Violated, Kind: kind, Verdicts: verdicts,
		Hits: 1, Ops: len(e.Ops), Commands: len(e.Commands), Hash: history.Hash(e),
		Dir: "trials/" + lock + "/" + fault + "/mutex-0", Elapsed: 3 * time.Second, Virtual: 20 * time.Minute,
	}
	if p := checker.Measure(e); p != (checker.Progress{}) {
		out.Progress = &p
	}
	if fault != "none" {
		out.Spec.Plan = nemesis.Plan{{}}
	}
	for i, op := range e.Ops {
		if op.F == history.FAcquire && op.Type == history.OK {
			out.Acquires = append(out.Acquires, op.Time-invokedAt(e.Ops[:i+1], op))
		}
	}
	for _, v := range verdicts {
		for _, f := range v.Findings {
			out.Flaws = append(out.Flaws, trial.Flaw{Oracle: v.Oracle, Cause: string(f.Cause), Kind: kind, Forever: f.Forever})
			if v.Oracle == "liveness" && len(verdicts) == 1 {
				out.Outcome = trial.Blocked
			}
		}
	}
	return out
}
