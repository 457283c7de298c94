package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace/nodetest"
	redis "github.com/lockstorm/lockstorm/testbed/sim/node"
)

// play enacts a tale of keys on simulated nodes. Each line of a tale is an event:
//
//	10 c0+ SET lock a NX PX 1000   at 10 ms c0 acquires with this command and succeeds
//	20 c1? SET lock b NX           c1 acquires and fails
//	30 c0& EXPIRE lock 1           one more command of c0's last operation
//	40 c0- DEL lock                c0 releases
//	40 c0+@other SET other a       c0 acquires the lock "other" instead of "lock"
//	50 c0 EXPIRE lock 1            c0 sends a command outside any operation
//	60 n1:c0+ SETNX lock a         the command goes to n1; the default is n0
//	70 stranger DEL lock           a stranger changes the key; "unknown": an unknown source
//	80 evict | clock 500 | unseen | migrate n1 | restart 2 | promote n1 0 | split n1 3
//
// The last number of restart, promote and split selects the state that survives: the state
// of the node, or of the old primary, after so many key changes. Underscores stand for
// spaces.
type play struct {
	t     *testing.T
	world *nodetest.World
	e     history.Evidence
	ran   map[string]int // by node: the number of commands so far
	last  map[string]int // by client: position of its last operation in e.Ops
}

func enact(t *testing.T, tale string) history.Evidence {
	t.Helper()
	p := &play{t: t, world: nodetest.NewWorld(t), ran: map[string]int{}, last: map[string]int{}}
	defer p.world.Close()
	end := 0.0
	for line := range strings.Lines(tale) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at, err := strconv.ParseFloat(words[0], 64)
		if err != nil || at < end {
			t.Fatalf("%q begins with no time, or an earlier one", line)
		}
		end = at
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
		}
		p.world.Expire(ms(at))
		p.line(ms(at), words[1], words[2:])
	}
	p.e.Ops = append(p.e.Ops, history.Op{Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: history.FHealed, Time: ms(end + 100)})
	p.world.Expire(ms(end + 100))
	p.number()
	p.e.Keys, p.e.Watched = p.world.Changes, true
	return p.e
}

func ms(at float64) time.Duration { return time.Duration(at * float64(time.Millisecond)) }

// number sorts the entries by time, numbers them, and updates Command.Op accordingly.
func (p *play) number() {
	order := make([]int, len(p.e.Ops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.e.Ops[a].Time, p.e.Ops[b].Time) })
	index := map[int]int{-1: -1}
	var sorted []history.Op
	for i, was := range order {
		index[was] = i
		op := p.e.Ops[was]
		op.Index = i
		sorted = append(sorted, op)
	}
	p.e.Ops = sorted
	for i := range p.e.Commands {
		p.e.Commands[i].Index = i
		p.e.Commands[i].Op = index[p.e.Commands[i].Op]
	}
}

func (p *play) line(at time.Duration, who string, args []string) {
	on, who, isSaid := strings.Cut(who, ":")
	if !isSaid {
		on, who = "n0", on
	}
	n := p.world.Node(on)
	switch who {
	case "stranger":
		n.Meddle(at, history.ByStranger, args...)
	case "unknown":
		n.Meddle(at, history.ByUnknown, args...)
	case "evict", "clock", "unseen", "migrate", "restart", "promote", "split":
		p.event(at, on, who, args)
	default:
		p.command(at, on, who, args)
	}
}

func (p *play) event(at time.Duration, on, what string, args []string) {
	n := p.world.Node(on)
	op := history.Op{Process: history.Nemesis, Client: history.NoClient, Type: history.Info, Node: on, Time: at}
	state := func(past []redis.Snapshot) redis.Snapshot {
		if i, _ := strconv.Atoi(args[len(args)-1]); min(i, len(past)) > 0 {
			return past[min(i, len(past))-1]
		}
		return redis.Snapshot{}
	}
	switch what {
	case "evict":
		op.F, op.Keys = history.FEvict, n.Evict(at)
	case "clock":
		by, _ := strconv.ParseFloat(args[0], 64)
		op.F, op.Offset = history.FNodeClock, ms(by)
		n.SetClock(at, ms(by))
	case "unseen":
		op.F, op.Error = history.FUnseen, "it hung up"
		n.Unsee()
	case "migrate":
		op.F, op.Node, op.From = history.FMigrate, args[0], on
		op.Keys = n.MoveTo(at, p.world.Node(args[0]))
	case "restart":
		op.F = history.FNodeDown
		n.Restart(at, state(n.Past))
	default:
		op.F, op.Node = map[string]string{"promote": history.FPromote, "split": history.FSplit}[what], args[0]
		heir := p.world.Node(args[0])
		heir.Follow()
		heir.Promote(at, state(n.Past))
	}
	p.e.Ops = append(p.e.Ops, op)
}

func (p *play) command(at time.Duration, on, who string, args []string) {
	who, lock, isOther := strings.Cut(who, "@")
	if !isOther {
		lock = "lock"
	}
	name, kind := strings.TrimRight(who, "+?-&"), who[len(who)-1]
	client, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if err != nil {
		p.t.Fatalf("who is %q?", who)
	}
	op := -1
	if kind == '&' {
		op = p.last[name]
		p.e.Ops[op+1].Time = at + ms(1)
	} else if f := map[byte]string{'+': history.FAcquire, '?': history.FAcquire, '-': history.FRelease}[kind]; f != "" {
		invoke := history.Op{Process: history.Process(client), Client: client, Type: history.Invoke, F: f, Lock: lock, Time: at - ms(0.5)}
		done := invoke
		done.Type, done.Time = history.OK, at+ms(0.5)
		if kind == '?' {
			done.Type = history.Fail
		}
		op = len(p.e.Ops)
		p.last[name] = op
		p.e.Ops = append(p.e.Ops, invoke, done)
	}
	p.ran[on]++
	c := history.Command{Client: client, Node: on, Op: op, Exec: p.ran[on], Sent: at - ms(0.2), Arrived: at, Served: at + ms(0.1), Replied: at + ms(0.3)}
	for _, a := range args {
		c.Args = append(c.Args, history.Bytes(a))
	}
	c.Reply = p.world.Node(on).Run(at, c.Exec, args...)
	p.e.Commands = append(p.e.Commands, c)
}

// grantLine describes a grant in one line: "c0 n0:lock.field=1 @10 to 1010; expired @1010". Times are
// in milliseconds.
func grantLine(e history.Evidence, g *Grant) string {
	var b strings.Builder
	place := g.Key
	if g.Place != "" {
		place += "." + g.Place
	}
	fmt.Fprintf(&b, "%s %s:%s=%s @%s", whose(g), g.Node, place, g.Value, moment(g.At))
	for i, is := range []bool{g.Handed, g.Rested, g.JoinedOthers, g.Refused, g.Copied, len(g.Moved) > 0} {
		if is {
			b.WriteString([]string{" handed", " rested", " beside", " refused", " copied", " moved"}[i])
		}
	}
	b.WriteString(" to")
	for i, t := range g.Terms() {
		if i > 0 {
			b.WriteString(",")
		}
		switch {
		case !t.Mortal:
			b.WriteString(" ∞")
		case t.Moved != 0:
			fmt.Fprintf(&b, " %s not %s", moment(t.Expiry), moment(t.Fair))
		default:
			b.WriteString(" " + moment(t.Expiry))
		}
	}
	if g.Over != nil {
		fmt.Fprintf(&b, "; under %s's of @%s", whose(g.Over), moment(g.Over.At))
	}
	if end := g.End; end != nil {
		how := map[How]string{Deleted: "deleted", Expired: "expired", Lost: "lost", Unclear: "unclear"}[end.How]
		fmt.Fprintf(&b, "; %s @%s", how, moment(end.At))
		if end.Cmd >= 0 {
			fmt.Fprintf(&b, " by c%d's %s", e.Commands[end.Cmd].Client, e.Commands[end.Cmd].Args[0])
		}
		if end.Event >= 0 {
			fmt.Fprintf(&b, " by %s", e.Ops[end.Event].F)
		}
	}
	return b.String()
}

func whose(g *Grant) string {
	if g.Client == Stranger {
		return "someone"
	}
	return fmt.Sprintf("c%d", g.Client)
}

func moment(w When) string {
	if w.Lo == w.Hi {
		return strconv.FormatFloat(float64(w.Lo)/1e6, 'f', -1, 64)
	}
	return moment(At(w.Lo)) + "–" + moment(At(w.Hi))
}

// strikeLine describes a strike in one line: "c1's DEL @20 removed c0's of @10".
func strikeLine(e history.Evidence, s Strike) string {
	var on []string
	for _, g := range s.On {
		on = append(on, fmt.Sprintf("%s's of @%s", whose(g), moment(g.At)))
	}
	did := map[Kind]string{Removal: "removed", Replacement: "replaced", Prolonging: "timed"}[s.Kind]
	return fmt.Sprintf("c%d's %s @%s %s %s", e.Commands[s.Cmd].Client, e.Commands[s.Cmd].Args[0], moment(s.At), did, strings.Join(on, ", "))
}

// told describes the grants of a play, one per line, followed by the strikes on other
// clients' grants.
func told(e history.Evidence) (lines []string) {
	k := Read(e)
	for _, g := range k.Grants {
		lines = append(lines, grantLine(e, g))
	}
	for _, s := range k.Strikes {
		who := e.Commands[s.Cmd].Client
		if slices.ContainsFunc(s.On, func(g *Grant) bool { return g.Client != who }) {
			lines = append(lines, strikeLine(e, s))
		}
	}
	if node, blind := k.Blind(); blind && node != "" {
		lines = append(lines, node+"'s keys could not be watched: "+k.Unseen[node].Why)
	} else if blind {
		lines = append(lines, "no keys on record")
	}
	return lines
}
