package node

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Witness is told of changes of a node's keys while the node serves clients.
type Witness interface {
	// Ends converts an instant of the node's wall clock to the history's clock, as
	// the node's clock runs now.
	Ends(deadline time.Time) time.Duration
	// Changed tells of one change, when it has happened. Nobody changes the contents
	// afterwards; nil is absence.
	Changed(key string, by history.ChangedBy, before, after *history.KeyContent)
}

// record is what a witness has been told.
type record struct {
	witness Witness // nil = nobody wants to know
	// on: changes are told. A replica's are not, nor are those of a node that is down.
	on      bool
	touched []string                       // since changes were last told
	last    map[string]*history.KeyContent // as last told; a missing key is absent
}

// Watch reports every change to w from now on: from an empty node's first key on, or from
// the data that a replica has when it is promoted. It holds until Reset.
func (n *Node) Watch(w Witness) {
	n.record = record{witness: w, on: !n.readOnly, last: map[string]*history.KeyContent{}}
}

// Unwatch ends the record until the node serves again: its process is down.
func (n *Node) Unwatch() { n.record.on, n.record.touched = false, nil }

// ClockSet tells the witness when keys' lives end by the clock just set.
func (n *Node) ClockSet() {
	if n.record.on {
		n.record.touched = slices.AppendSeq(n.record.touched, maps.Keys(n.keys.deadlines))
		n.tell(history.ByClock)
	}
}

// serve begins the node's record: by says how it got its present data.
func (n *Node) serve(by history.ChangedBy) {
	r := &n.record
	if r.witness == nil || r.on {
		return
	}
	r.on, r.touched = true, slices.AppendSeq(n.db.Keys(), maps.Keys(r.last))
	n.tell(by)
}

// touch notes that a key may have changed.
func (r *record) touch(key string) {
	if r.on {
		r.touched = append(r.touched, key)
	}
}

// tell reports the changes of the touched keys, in their order.
func (n *Node) tell(by history.ChangedBy) {
	r := &n.record
	if len(r.touched) == 0 {
		return
	}
	slices.Sort(r.touched)
	for _, key := range slices.Compact(r.touched) {
		before, after := r.last[key], n.content(key)
		switch {
		case before.Same(after):
			continue
		case after == nil:
			delete(r.last, key)
		default:
			r.last[key] = after
		}
		r.witness.Changed(key, by, before, after)
	}
	r.touched = r.touched[:0]
}

// content is what the node has under a key, nil if nothing.
func (n *Node) content(key string) *history.KeyContent {
	e := n.entry(key)
	if e == nil {
		return nil
	}
	k := e.content()
	if e.mortal {
		k.Expires = max(n.record.witness.Ends(time.UnixMilli(e.deadline)), 1)
	}
	return k
}

// content is the key's, without its life.
func (e *entry) content() *history.KeyContent {
	k := &history.KeyContent{Type: e.kind}
	switch e.kind {
	case "string":
		k.Value = history.Bytes(e.text)
	case "hash":
		for i := 0; i < len(e.list); i += 2 {
			k.Fields = append(k.Fields, history.Field{Name: history.Bytes(e.list[i]), Value: history.Bytes(e.list[i+1])})
		}
	case "zset":
		for i, m := range e.list {
			k.Fields = append(k.Fields, history.Field{Name: history.Bytes(m), Value: history.Bytes(formatNumber(e.scores[i], 17))})
		}
	default:
		for _, m := range e.list {
			k.Members = append(k.Members, history.Bytes(m))
		}
	}
	k.Canonical()
	return k
}
