package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// ownership decides whether no DEL or EXPIRE took effect on a key that, at that
// node, certainly carried another owner's grant.
//
// A grant is what a set of an acquire that ended with ok put there, from that
// set on until the owner stops believing: its release, its claimed deadline,
// the loss that it was told of, or its crash. So neither the leftover of a
// failed RedLock attempt is anybody's, nor the key of a dead owner. Where it
// cannot be told whether the grant still stood, the answer is unknown.
func ownership(ctx context.Context, f *caseFile) Verdict {
	if _, err := f.ledger(); err != nil {
		return impossible(err)
	}
	if len(f.Commands) == 0 {
		return Verdict{Result: NotApplicable, Why: "no commands were recorded"}
	}
	w, err := f.wire()
	if err != nil {
		return impossible(err)
	}
	var findings []Finding
	var doubts []string
	for _, s := range w.strikes {
		if ctx.Err() != nil {
			return Verdict{Result: Unknown, Why: ctx.Err().Error()}
		}
		found, doubt := w.trespass(s)
		findings = append(findings, found...)
		if doubt != "" {
			doubts = append(doubts, doubt)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return int(min(1, max(-1, a.From-b.From))) })
	if key, cmd, ok := w.firstBlind(); ok {
		doubt := "what c%d's %s did to %s at %s cannot be read: no declaration says it"
		if !readCommand(w.Commands[cmd], w.scripts).opaque {
			doubt = "whether c%d's %s of %s ran at %s cannot be told"
		}
		doubts = append(doubts, fmt.Sprintf(doubt, w.Commands[cmd].Client, w.name(cmd), key, seconds(w.ran(cmd).lo)))
	}
	switch {
	case len(findings) > maxFindings:
		return Verdict{Result: Violated, Findings: findings[:maxFindings],
			Why: fmt.Sprintf("the first %d of %d findings are listed", maxFindings, len(findings))}
	case len(findings) > 0:
		return Verdict{Result: Violated, Findings: findings}
	case len(doubts) > 0:
		return Verdict{Result: Unknown, Why: doubts[0]}
	}
	return Verdict{Result: Held}
}

// firstBlind is the first command that made a key unreadable on which claims
// are made, or that only such commands touched.
func (w *wire) firstBlind() (key string, cmd int, ok bool) {
	for k, pos := range w.blind {
		if ok && (pos > cmd || pos == cmd && k > key) {
			continue
		}
		if w.isScript(pos) && !w.declared(pos) || w.carries(k) {
			key, cmd, ok = k, pos, true
		}
	}
	return key, cmd, ok
}

func (w *wire) isScript(pos int) bool {
	args := w.Commands[pos].Args
	return len(args) > 0 && strings.HasPrefix(strings.ToUpper(string(args[0])), "EVAL")
}

// declared says whether the command runs a script that the recipe declares.
func (w *wire) declared(pos int) bool {
	args := w.Commands[pos].Args
	if !w.isScript(pos) || len(args) < 2 {
		return false
	}
	_, ok := w.scripts[digestOf(string(args[0]), string(args[1]))]
	return ok
}

// carries says whether the key ever carried a claim.
func (w *wire) carries(key string) bool {
	for _, keys := range w.holders {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// trespass judges one strike: a finding for each owner that it robbed, or what
// could not be told.
func (w *wire) trespass(s strike) (findings []Finding, doubt string) {
	if s.owned {
		return nil, ""
	}
	who := w.Commands[s.cmd].Client
	if s.blind && len(s.on) == 0 {
		return nil, fmt.Sprintf("whose %s was when c%d's %s ran at %s cannot be told", s.key, who, w.name(s.cmd), seconds(s.at.lo))
	}
	mine := func(l *life) bool { return l.client == who }
	if s.kind == history.EffectExpire && slices.ContainsFunc(s.on, mine) {
		return nil, "" // its own claim is on the key too
	}
	for _, l := range s.on {
		until := w.grantedUntil(l)
		if l.client == who || s.at.lo >= until {
			continue
		}
		if s.at.hi > until || !s.sure || !l.sure || l.copied || s.blind || l.mayBeOver(s.on) {
			doubt = fmt.Sprintf("whether %s still carried c%d's grant of %s when c%d's %s ran at %s cannot be told",
				l.key, l.client, seconds(l.at.lo), who, w.name(s.cmd), seconds(s.at.lo))
			continue
		}
		findings = append(findings, w.robbery(s, l, until))
	}
	return findings, doubt
}

// mayBeOver says whether another of the key's claims may have taken this one's place.
func (l *life) mayBeOver(all []*life) bool {
	return l.field == "" && slices.ContainsFunc(all, func(by *life) bool { return !by.sure && by.field == "" && by.seq > l.seq })
}

// grantedUntil is when the owner stopped believing in what l put there; 0 if it
// never believed.
func (w *wire) grantedUntil(l *life) time.Duration {
	if h := w.hold(l); h != nil {
		return h.To
	}
	return 0
}

// hold is the hold that the claim belongs to; nil if its acquire did not end
// with ok.
func (w *wire) hold(l *life) *Hold {
	p, isAcquire := w.acquired(l.op)
	if !isAcquire || p.Complete == nil {
		return nil
	}
	if i, ok := w.holdOf[p.Complete.Index]; ok {
		return &w.holds[i]
	}
	return nil
}

func (w *wire) robbery(s strike, l *life, until time.Duration) Finding {
	c := w.Commands[s.cmd]
	f := Finding{
		Cause: ForeignDelete, Lock: l.lock, Clients: []int{c.Client, l.client}, From: s.at.lo, To: max(s.at.lo, within(w.Evidence, until)),
		Commands: w.indexOf(l.cmd, s.cmd), Ops: w.entries(l.op, c.Op),
	}
	did := "removed"
	if s.kind == history.EffectExpire {
		f.Cause, did = ForeignRenewal, "set the life of"
	}
	late := ""
	if p := w.operation(c.Op); w.has(c.Op) && !w.openAt(c.Op, s.at.lo) {
		late = fmt.Sprintf(", which belonged to an operation of %s and arrived late,", seconds(p.Invoke.Time))
	}
	f.Summary = fmt.Sprintf("c%d's %s at %s%s %s %s on %s, which carried c%d's grant of %s",
		c.Client, w.name(s.cmd), seconds(s.at.lo), late, did, l.key, l.node, l.client, seconds(l.at.lo))
	f.Broken = w.broken(suspicion{f, l, []int{l.cmd, s.cmd}})
	return f
}

// entries gives the indices of the entries of these operations.
func (w *wire) entries(ops ...int) []int {
	var all []int
	for _, op := range ops {
		if p := w.operation(op); w.has(op) {
			all = append(all, p.Invoke.Index)
			if p.Complete != nil {
				all = append(all, p.Complete.Index)
			}
		}
	}
	return indices(all...)
}

// name is what a command is called in texts: "DEL", or its script's name.
func (w *wire) name(pos int) string {
	args := w.Commands[pos].Args
	if w.declared(pos) {
		return "script " + w.scripts[digestOf(string(args[0]), string(args[1]))].Name
	}
	if len(args) == 0 {
		return "command"
	}
	return strings.ToUpper(string(args[0]))
}
