package story

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/keyspace"
)

// touches returns the steps of the first lost update by one of the finding's clients, with the
// values read and written. It returns none for a blockage.
func (t *teller) touches() []Step {
	if t.Finding.Blocks() {
		return nil
	}
	lost, ok := t.lostUpdate()
	if !ok {
		return nil
	}
	w, o, r := lost.write, lost.other, lost.read
	own := ""
	if before, ok := t.readBefore(o); ok {
		own = fmt.Sprintf(", having read %s", numbers(before.Value))
	}
	return []Step{
		{At: o.Time, On: placeOf(o), Weight: part, Text: fmt.Sprintf("c%d wrote %s%s", o.Client, numbers(o.Value), own)},
		{At: w.Time, On: placeOf(w), Weight: turning, Text: fmt.Sprintf("c%d wrote %s over it: it had read %s at %s and knew nothing of c%d's write. That update is lost",
			w.Client, numbers(w.Value), numbers(r.Value), wording.Instant(r.Time), o.Client)},
	}
}

// lostUpdate is a write that overwrites another client's write. The other client wrote after the
// writer's last read.
type lostUpdate struct{ read, other, write history.Op }

func (t *teller) lostUpdate() (lostUpdate, bool) {
	var touches []history.Op
	for _, op := range t.Ops {
		if op.Type == history.OK && op.Seq > 0 && op.Lock == t.Finding.Lock {
			touches = append(touches, op)
		}
	}
	slices.SortFunc(touches, func(a, b history.Op) int { return cmp.Compare(a.Seq, b.Seq) })
	read := map[int]int{}
	for i, op := range touches {
		if op.F == history.FRead {
			read[op.Client] = i + 1
			continue
		}
		from := read[op.Client]
		if from == 0 || op.Time < t.Start || op.Time > t.To || !slices.Contains(t.Finding.Clients, op.Client) {
			continue
		}
		for _, other := range touches[from:i] {
			if other.F == history.FWrite && other.Client != op.Client && slices.Contains(t.Cast, other.Client) {
				return lostUpdate{read: touches[from-1], other: other, write: op}, true
			}
		}
	}
	return lostUpdate{}, false
}

// readBefore returns the writer's last read before its write w.
func (t *teller) readBefore(w history.Op) (history.Op, bool) {
	var last history.Op
	for _, op := range t.Ops {
		if op.F == history.FRead && op.Type == history.OK && op.Client == w.Client && op.Lock == w.Lock && op.Seq < w.Seq && op.Seq > last.Seq {
			last = op
		}
	}
	return last, last.Seq > 0
}

// waits returns the steps of a blockage: which clients asked for the lock in vain, and for how
// long; if the blockage did not end, also which keys were left.
func (t *teller) waits() []Step {
	x := t.Finding
	if !x.Blocks() {
		return nil
	}
	refused := map[int]int{}
	from := t.inVainFrom()
	var first history.Op
	times := 0
	for _, p := range t.Pairs {
		in := p.Invoke
		if in.F != history.FAcquire || in.Time < from || in.Time > x.To || x.Lock != "" && in.Lock != x.Lock ||
			p.Complete != nil && p.Complete.Type == history.OK {
			continue
		}
		if times == 0 {
			first = *in
		}
		refused[in.Client]++
		times++
	}
	var who []string
	for c := range refused {
		who = append(who, fmt.Sprintf("c%d", c))
	}
	slices.SortFunc(who, wording.ByNumber)
	var out []Step
	if times > 0 {
		text := fmt.Sprintf("from now on %s asked for the lock in vain, %s, until %s", wording.List(who), many(times, "time"), wording.Instant(x.To))
		if x.Forever {
			text = fmt.Sprintf("from now on %s asked for the lock in vain, %s: nobody got in any more", wording.List(who), many(times, "time"))
		}
		out = append(out, Step{At: first.Time, On: placeOf(first), Text: text, Weight: turning})
	}
	if times == 0 || !x.Cause.Ownerless() {
		out = append(out, Step{At: x.To, Text: Words.Summary(x.Finding), Weight: turning})
	}
	if x.Forever {
		out = append(out, t.leftKeys()...)
	}
	return out
}

// inVainFrom returns the time from which the blockage made acquires fail. It can be earlier than
// the finding: when the blocking keys had been set and the last earlier hold had ended. It can be
// later if the client that left its key got in once more.
func (t *teller) inVainFrom() time.Duration {
	x := t.Finding
	from, ok := t.blockingKeysFrom()
	if !ok {
		return x.From
	}
	for _, h := range t.Focus.Holds {
		switch {
		case x.Lock != "" && h.Lock != x.Lock:
		case h.ToWhy == account.ByNothing && t.lasting(h.Client): // this hold causes the blockage
			from = max(from, min(h.From, x.From))
		case h.From < x.From:
			from = max(from, min(h.To, x.From))
		case x.Forever && h.To < x.To: // the client's own key let it in again, so that others asked in vain only later
			from = max(from, h.To)
		}
	}
	return from
}

// blockingKeysFrom returns the time from which keys of the story's clients (Focus.Cast) denied a
// quorum to other clients, but no later than the finding's beginning. Only keys that existed for
// most of the blockage count. If the lock needs a quorum of nodes and a quorum was free, it returns
// false. If one node suffices and no key blocks, it returns the finding's beginning.
func (t *teller) blockingKeysFrom() (time.Duration, bool) {
	blocked := map[string]time.Duration{} // the time of the first blocking key, by node
	for _, s := range t.Spans {
		if slices.Contains(t.Cast, s.Owner) && lasts(s, t.Finding) && slices.Contains(t.LockKeys, s.NodeKey) {
			if since, again := blocked[s.Node]; !again || s.From < since {
				blocked[s.Node] = s.From
			}
		}
	}
	times := slices.Sorted(maps.Values(blocked))
	enough := 1
	if q := t.Claims.NodeQuorum(); q > 1 {
		nodes := map[string]bool{}
		for _, c := range t.Commands {
			nodes[c.Node] = true
		}
		enough = max(1, len(nodes)-q+1)
	}
	switch {
	case len(times) >= enough:
		return min(t.Finding.From, times[enough-1]), true
	case t.Claims.NodeQuorum() > 1:
		return 0, false
	}
	return t.Finding.From, true
}

// leftKeys returns steps for the lock's keys that still existed at the end of the trial, without
// the counters of fencing tokens.
func (t *teller) leftKeys() []Step {
	var out []Step
	for _, op := range t.Ops {
		if op.F != history.FKeys {
			continue
		}
		for _, k := range op.Keys {
			at := keyspace.NodeKey{Node: op.Node, Key: k.Key}
			if !slices.Contains(t.LockKeys, at) || t.Counts(at) {
				continue
			}
			life := "with a TTL of " + wording.Length(k.TTL)
			if k.TTL < 0 {
				life = "without a TTL: it will stay there for ever"
			}
			out = append(out, Step{At: op.Time, On: op.Node, Text: fmt.Sprintf("in the end %s still has %s, %s", op.Node, wording.Printable(k.Key), life), Weight: part, Group: op.Node != ""})
		}
	}
	return out
}
