package node

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Witness receives the changes of a node's keys while the node serves clients.
type Witness interface {
	// Ends converts an instant of the node's wall clock to the history's clock, using the
	// present offset of the node's clock.
	Ends(deadline time.Time) time.Duration
	// Changed receives one change, after it has happened. The contents are immutable; nil
	// means that the key is absent.
	Changed(key string, by history.ChangedBy, before, after *history.KeyContent)
}

// record is the state of the reports to a witness.
type record struct {
	witness Witness // nil = no reports
	// on says that changes are reported. It is false for a replica and for a node that is
	// down.
	on      bool
	touched []string                       // keys changed since the last report
	last    map[string]*history.KeyContent // contents as last reported; a missing key does not exist
}

// Watch makes the node report its changes to w, until Reset, whenever it serves clients. The
// node must be empty or a replica. The reports about a replica begin at its promotion, with
// all its data.
func (n *Node) Watch(w Witness) {
	n.record = record{witness: w, on: !n.readOnly, last: map[string]*history.KeyContent{}}
}

// Unwatch stops reports until the node serves clients again. Call Unwatch when the node's
// process ends.
func (n *Node) Unwatch() { n.record.on, n.record.touched = false, nil }

// ClockSet reports the keys' new expiry times to the witness after the clock was set.
func (n *Node) ClockSet() {
	if n.record.on {
		n.record.touched = slices.AppendSeq(n.record.touched, maps.Keys(n.deadlines))
		n.report(history.ByClock)
	}
}

// serve starts the reports. It reports the difference between the last reported contents and
// the node's present data as changes by the given cause.
func (k *keyspace) serve(by history.ChangedBy) {
	r := &k.record
	if r.witness == nil || r.on {
		return
	}
	r.on, r.touched = true, slices.AppendSeq(k.db.Keys(), maps.Keys(r.last))
	k.report(by)
}

// touch notes that a key may have changed.
func (r *record) touch(key string) {
	if r.on {
		r.touched = append(r.touched, key)
	}
}

// report reports the changes of the touched keys, sorted by key.
func (k *keyspace) report(by history.ChangedBy) {
	r := &k.record
	if len(r.touched) == 0 {
		return
	}
	slices.Sort(r.touched)
	for _, key := range slices.Compact(r.touched) {
		before, after := r.last[key], k.content(key)
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

// content returns the content of a key, nil if the key does not exist.
func (k *keyspace) content(key string) *history.KeyContent {
	e := k.storedKey(key)
	if e == nil {
		return nil
	}
	c := e.content()
	if e.mortal {
		c.Expires = max(k.record.witness.Ends(time.UnixMilli(e.deadline)), 1)
	}
	return c
}

// content returns the type and value of the key, without the expiry.
func (e *storedKey) content() *history.KeyContent {
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
