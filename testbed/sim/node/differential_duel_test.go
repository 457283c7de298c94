package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// step is one step of a script of commands: a command of a session or, if args is empty, a
// pause. An argument such as "@ms+5" or "@s-1" stands for the server's time plus an offset, in
// milliseconds or seconds. The command "@replica" makes the nodes replicas ("yes") or primaries
// ("no").
type step struct {
	session int
	args    []string
	pause   time.Duration
}

func (s step) String() string {
	if len(s.args) == 0 {
		return fmt.Sprintf("   pause %v", s.pause)
	}
	quoted := make([]string, len(s.args))
	for i, a := range s.args {
		quoted[i] = strconv.Quote(a)
	}
	return fmt.Sprintf("s%d %s", s.session, strings.Join(quoted, " "))
}

// GoString returns the form in which rapid prints a step.
func (s step) GoString() string { return s.String() }

func transcript(steps []step) string {
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}

const replicaOrder = "@replica"

// errStraddled says that a millisecond ended while a command ran, so that the command's time is
// uncertain.
var errStraddled = errors.New("the millisecond changed during a command")

// errDiverged ends a script of commands after a listed difference that leaves the two nodes
// with different data.
var errDiverged = errors.New("listed: the nodes now differ")

// sessions is the number of sessions that a duel opens on each of the two nodes.
const sessions = 3

// duel runs scripts of commands on a real node and on a simulated node, and compares them.
type duel struct {
	real     *realNode
	sim      *node.Node
	sessions []*node.Session
	queued   [][][]string      // by session: the commands queued since MULTI
	heard    [][]resp.Message  // by session: pushes of the simulated node that are not compared yet
	scripts  map[string]string // names of the recipes' scripts, by SHA1 and by source
	now      time.Time         // the server's time after the last command
	tracking bool              // CLIENT TRACKING was used, so that any write may push a message
	typed    bool              // keys of typedPool may exist
	count    *coverage         // the coverage of this attempt
}

func newDuel(t testing.TB) *duel {
	t.Helper()
	sim, err := node.New()
	if err != nil {
		t.Fatal(err)
	}
	return &duel{real: connectReal(t, sessions), sim: sim}
}

// attempts limits how often a script of commands starts again because a millisecond ended
// during a command.
const attempts = 20_000

// run runs a script of commands on both nodes and returns the first difference that is not listed.
// If a millisecond ends during a command, run starts again from the beginning. Only the coverage of
// the last attempt is added to total.
func (d *duel) run(steps []step, total *coverage) error {
	for range attempts {
		d.count = newCoverage()
		err := d.attempt(steps)
		if errors.Is(err, errStraddled) {
			continue
		}
		total.add(d.count)
		if errors.Is(err, errDiverged) {
			return nil
		}
		return err
	}
	return fmt.Errorf("%w, %d times over: the machine is too busy", errStraddled, attempts)
}

func (d *duel) attempt(steps []step) error {
	if err := d.reset(); err != nil {
		return err
	}
	for i, s := range steps {
		if len(s.args) == 0 {
			time.Sleep(s.pause)
			continue
		}
		if err := d.step(s); err != nil {
			return wrapStep(i, s, err)
		}
	}
	return d.finish()
}

func wrapStep(i int, s step, err error) error {
	return fmt.Errorf("step %d, %v: %w", i, s, err)
}

func (d *duel) reset() error {
	if err := d.real.reset(); err != nil {
		return err
	}
	d.sim.Reset()
	d.sim.SetReadOnly(false)
	d.tracking, d.typed = false, false
	d.sessions, d.heard, d.queued = nil, make([][]resp.Message, sessions), make([][][]string, sessions)
	for range sessions {
		d.sessions = append(d.sessions, d.sim.Connect())
	}
	var err error
	d.now, err = d.real.clock.time()
	return err
}

// finish ends open transactions, and compares pushed messages and the data of both nodes.
func (d *duel) finish() error {
	for i, s := range d.real.sessions {
		if s.multi || s.caching {
			if err := d.step(step{session: i, args: []string{"DISCARD"}}); err != nil {
				return fmt.Errorf("at the end: %w", err)
			}
		}
		if err := d.compareHeard(i, nil); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	looker := slices.IndexFunc(d.real.sessions, func(s *realSession) bool { return s.subscriptions == 0 })
	if looker < 0 {
		return nil
	}
	if err := d.look(looker, keyPool, "TYPE", "PEXPIRETIME", "GET", "HGETALL"); err != nil || !d.typed {
		return err
	}
	return d.look(looker, typedPool, "TYPE", "PEXPIRETIME", "LLEN", "SMEMBERS", "ZCARD")
}

func (d *duel) look(session int, keys []string, commands ...string) error {
	for _, key := range keys {
		for _, c := range commands {
			if err := d.step(step{session: session, args: []string{c, key}}); err != nil {
				return fmt.Errorf("at the end: %s %q: %w", c, key, err)
			}
		}
	}
	return nil
}

// step runs one command on the real and on the simulated node, and compares replies and pushed
// messages.
func (d *duel) step(s step) error {
	if s.args[0] == replicaOrder {
		yes := s.args[1] == "yes"
		d.sim.SetReadOnly(yes)
		return d.real.setReadOnly(yes)
	}
	args := d.resolve(s.args)
	d.align()
	reply, at, err := d.real.sessions[s.session].do(args)
	if err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	d.now = at.to
	if !at.exact() {
		return errStraddled
	}
	simReply, pushes := d.sessions[s.session].Exec(at.from, args)
	for _, p := range pushes {
		to := slices.Index(d.sessions, p.To)
		if to < 0 {
			return errors.New("a message for a session that is not there")
		}
		d.heard[to] = append(d.heard[to], p.Message)
	}
	if err := d.compareReply(s.session, args, reply, simReply, at); err != nil {
		return err
	}
	d.typed = d.typed || len(args) > 1 && slices.Contains(typedPool, args[1])
	d.tracking = d.tracking || commandName(args) == "CLIENT TRACKING"
	if !publishes[strings.ToUpper(args[0])] && len(pushes) == 0 && !d.tracking {
		return nil
	}
	for i := range d.sessions {
		if err := d.compareHeard(i, args); err != nil {
			return err
		}
	}
	return nil
}

var publishes = map[string]bool{"PUBLISH": true, "EVAL": true, "EVALSHA": true, "EXEC": true}

// early is the part of a millisecond in which commands are sent, so that they end in the same
// millisecond.
const early = 600 * time.Microsecond

// align returns in the early part of a millisecond; if necessary, it waits for the next
// millisecond. The server runs on this machine and so has the same clock. It sleeps, since the system
// interrupts in favour of others who has used the processor for long.
func (d *duel) align() {
	for at := time.Duration(time.Now().Nanosecond()) % time.Millisecond; at > early; {
		time.Sleep(time.Millisecond - at)
		at = time.Duration(time.Now().Nanosecond()) % time.Millisecond
	}
}

// resolve replaces arguments such as "@ms+5" by times, based on the server's time.
func (d *duel) resolve(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		for prefix, now := range map[string]int64{"@ms": d.now.UnixMilli(), "@s": d.now.Unix()} {
			if offset, ok := strings.CutPrefix(a, prefix); ok {
				if n, err := strconv.ParseInt(offset, 10, 64); err == nil {
					out[i] = strconv.FormatInt(now+n, 10)
				}
			}
		}
	}
	return out
}

// compareHeard compares the messages that the two nodes pushed to a session. cause is the
// command that caused the messages, if it is known.
func (d *duel) compareHeard(session int, cause []string) error {
	if s := d.real.sessions[session]; s.multi || s.caching {
		return nil // a PING now would be queued, or use up CLIENT CACHING; a later call compares the messages
	}
	want, err := d.real.sessions[session].drain()
	if err != nil {
		return fmt.Errorf("redis-server: %w", err)
	}
	sim := d.heard[session]
	d.heard[session] = nil
	d.count.heard += len(want)
	if !slices.EqualFunc(patternsSorted(want), patternsSorted(sim), equal) {
		return fmt.Errorf("unasked messages to s%d after %q:\nredis %q\nnode  %q", session, cause, want, sim)
	}
	return nil
}

// compareReply compares the replies to one command. It compares the elements of EXEC's reply as
// replies to the queued commands.
func (d *duel) compareReply(session int, args []string, real []resp.Message, sim []byte, at interval) error {
	queue := d.followQueue(session, args, real)
	got := messages(sim)
	if len(got) != len(real) {
		return difference(args, fmt.Sprintf("%q", real), fmt.Sprintf("%q", got))
	}
	if leavesAll(args) {
		real, got = sortedLeaving(real), sortedLeaving(got)
	}
	for i := range real {
		r, s := parse(real[i]), parse(got[i])
		if queue == nil || r.kind != '*' || s.kind != '*' || len(r.elems) != len(s.elems) || len(queue) != len(r.elems) {
			if err := d.compareValue(args, r, s, at, string(real[i]) == string(got[i])); err != nil {
				return err
			}
			continue
		}
		d.count.compared(commandName(args), r)
		for j := range queue {
			if err := d.compareValue(queue[j], r.elems[j], s.elems[j], at, false); err != nil {
				return fmt.Errorf("in a transaction: %w", err)
			}
		}
	}
	return nil
}

// followQueue notes the commands that a transaction has queued. For EXEC it returns them.
func (d *duel) followQueue(session int, args []string, reply []resp.Message) [][]string {
	switch name := strings.ToUpper(args[0]); {
	case len(reply) == 1 && string(reply[0]) == "+QUEUED\r\n":
		d.queued[session] = append(d.queued[session], args)
	case name == "EXEC":
		queue := d.queued[session]
		d.queued[session] = nil
		return queue
	case name == "DISCARD":
		d.queued[session] = nil
	}
	return nil
}

// compareValue compares a reply of the real node with the simulated node's. same says that
// their bytes are known to be equal.
func (d *duel) compareValue(args []string, real, sim value, at interval, same bool) error {
	name := commandName(args)
	d.count.compared(name, real)
	for _, v := range d.variants(args) {
		d.count.compared(v, real)
	}
	if commandName(args) == "TIME" && real.kind == '*' {
		if err := timely(sim, at); err != nil {
			return err
		}
	}
	if same {
		return nil
	}
	r, s := real, sim
	if normal, ok := normalisers[commandName(args)]; ok && r.kind != '-' && s.kind != '-' {
		r, s = normal(r), normal(s)
	}
	if equal(r, s) {
		return nil
	}
	if e, ok := listed(args, r, s); ok {
		d.count.listed(name, e.ID)
		if e.Diverges {
			return errDiverged
		}
		return nil
	}
	return difference(args, show(real), show(sim))
}

// variants returns the further names under which the coverage counts a command: one for each
// of its options, and one for a recipe's script.
func (d *duel) variants(args []string) []string {
	name := commandName(args)
	if name == "EVAL" || name == "EVALSHA" {
		if len(args) > 1 && d.scripts[args[1]] != "" {
			return []string{name + " " + d.scripts[args[1]]}
		}
		return nil
	}
	var all []string
	for _, a := range args[1:] {
		if o := name + " " + strings.ToUpper(a); slices.Contains(optionsOf[name], strings.ToUpper(a)) && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// timely checks that the simulated node's TIME is the time at which it ran the command.
func timely(v value, at interval) error {
	sec, usec := at.from.Unix(), at.from.Nanosecond()/1000
	if len(v.elems) == 2 && v.elems[0].text == strconv.FormatInt(sec, 10) && v.elems[1].text == strconv.Itoa(usec) {
		return nil
	}
	return fmt.Errorf("TIME at %v: node answers %s", at.from, show(v))
}

func difference(args []string, real, sim string) error {
	return fmt.Errorf("%v\nredis %s\nnode  %s", step{args: args}, real, sim)
}

// show formats a value for a human reader.
func show(v value) string {
	if v.null {
		return string(v.kind) + "null"
	}
	if v.kind == 0 {
		return "nonsense"
	}
	if len(v.elems) == 0 {
		return string(v.kind) + strconv.Quote(v.text)
	}
	parts := make([]string, len(v.elems))
	for i, e := range v.elems {
		parts[i] = show(e)
	}
	return string(v.kind) + "[" + strings.Join(parts, " ") + "]"
}
