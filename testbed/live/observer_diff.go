package live

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live/look"
)

// wallClock maps a node's wall clock to the history's clock.
type wallClock struct {
	known bool
	// Bounds of the node's lead over the history's clock, from all looks since the node's clock was
	// set.
	least, most time.Duration
}

// set narrows the bounds with a look. If anew is true, the harness may have set the node's clock,
// so set replaces the bounds. leapt is true if somebody else has set the clock.
func (w *wallClock) set(s look.Result, anew bool) (leapt bool) {
	least, most := s.Time-s.Got, s.Time-s.Sent
	leapt = w.known && !anew && (least > w.most+clockSlack || most < w.least-clockSlack)
	if w.known && !anew && least <= w.most && most >= w.least {
		least, most = max(least, w.least), min(most, w.most)
	} // else the clock was set or slewed: replace the bounds
	w.known, w.least, w.most = true, least, most
	return leapt
}

// at returns the history's time at which the node's clock shows ms milliseconds.
func (w *wallClock) at(ms int64) time.Duration {
	return time.Duration(ms)*time.Millisecond - (w.least+w.most)/2
}

// over returns the history's time at which a key that expires at ends is gone: the end of that
// millisecond.
func (w *wallClock) over(ends int64) time.Duration { return w.at(ends + 1) }

// notBefore returns the earliest possible value of over.
func (w *wallClock) notBefore(ends int64) time.Duration {
	return time.Duration(ends+1)*time.Millisecond - w.most
}

// jitter is the tolerance, in milliseconds, of an expiry computed from PTTL.
const jitter = 2

// diff compares two looks and attributes each change to its cause.
type diff struct {
	*observer
	cause   cause
	seen    look.Result
	changes []history.KeyChange
}

// run compares all keys, in the order of their names.
func (d *diff) run() {
	if d.cause.by == history.ByClock {
		d.moved(history.ByClock)
		d.cause.by = ""
	}
	names := map[string]bool{}
	for key := range d.last {
		names[key] = true
	}
	for key := range d.seen.Keys {
		names[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		d.key(key)
	}
}

// moved reports all expiries that moved because the clock was set.
func (d *diff) moved(by history.ChangedBy) {
	for _, key := range slices.Sorted(maps.Keys(d.last)) {
		was := d.last[key]
		if was.ends == 0 {
			continue
		}
		now := seen{was.ends, d.lasting(was.content, was.ends)}
		d.change(key, by, d.node.executed, d.since(d.cause.from), d.seen.Got, was.content, now.content)
		d.last[key] = now
	}
}

// lasting returns a copy of content with the expiry ends, converted to the history's clock.
func (d *diff) lasting(content *history.KeyContent, ends int64) *history.KeyContent {
	k := *content
	k.Expires = max(d.clock.at(ends), 1)
	return &k
}

// since returns at, limited to the period from the last look's start to this look's end.
func (d *diff) since(at time.Duration) time.Duration {
	return min(max(at, d.lastSent), d.seen.Got)
}

// key compares the key's present state with its state at the last look.
func (d *diff) key(key string) {
	was, had := d.last[key]
	now, has := d.now(key, was)
	switch {
	case !has && !had:
		return
	case !has:
		delete(d.last, key)
	case had && now.ends == was.ends && now.content.Same(was.content):
		return
	default:
		d.last[key] = now
	}
	over := had && was.ends > 0 && d.seen.Time.Milliseconds() > was.ends
	if d.cause.by != "" && (d.cause.only == nil || slices.Contains(d.cause.only, key)) {
		d.done(key, was, now, over)
		return
	}
	d.commanded(key, was, now, over)
}

// now returns the key's present state. was is the key's state at the last look.
func (d *diff) now(key string, was seen) (now seen, has bool) {
	k, has := d.seen.Keys[key]
	if !has {
		return seen{}, false
	}
	if d.looker.Reckons() && was.ends > 0 && max(k.Ends-was.ends, was.ends-k.Ends) <= jitter {
		k.Ends = was.ends
	}
	now = seen{k.Ends, k.Content}
	switch {
	case k.Ends == 0:
	case k.Ends == was.ends && (d.cause.by == "" || (d.clock.at(k.Ends)-was.content.Expires).Abs() <= clockSlack):
		now.content.Expires = was.content.Expires
	default:
		now.content = d.lasting(k.Content, k.Ends)
	}
	return now, true
}

// done attributes a change to d.cause, with one exception: a key that is gone after a restart expired, if its
// time was over by this look and the node's durability keeps keys.
func (d *diff) done(key string, was, now seen, over bool) {
	by := d.cause.by
	if by == history.ByRestart && now.content == nil && over && d.node.durability != testbed.Volatile {
		by = history.ByExpiry // the durability kept the key until its expiry
	}
	d.change(key, by, d.node.executed, d.since(d.cause.from), d.seen.Got, was.content, now.content)
}

// commanded attributes a change to the commands that may have changed the key, to the
// key's expiry, or to somebody else.
func (d *diff) commanded(key string, was, now seen, over bool) {
	suspects := slices.DeleteFunc(slices.Clone(d.effects), func(f *effect) bool { return !f.touches(key) })
	end := d.since(d.clock.notBefore(was.ends))
	switch {
	case !over && len(suspects) == 0:
		d.change(key, history.ByStranger, d.node.executed, d.lastSent, d.seen.Got, was.content, now.content)
		return
	case over && len(suspects) == 0:
		d.change(key, history.ByExpiry, d.node.executed, end, d.seen.Got, was.content, nil)
		was.content = nil
	case over:
		// The key expired before, during or after a command: the order is unknown.
		from, _ := d.bounds(suspects)
		d.change(key, history.ByUnknown, suspects[0].exec, min(from, end), d.seen.Got, was.content, nil)
		was.content = nil
	}
	if was.content == now.content {
		return // both contents are nil
	}
	if len(suspects) == 0 {
		d.change(key, history.ByStranger, d.node.executed, end, d.seen.Got, was.content, now.content)
		return
	}
	by := history.ByCommand
	if len(suspects) > 1 {
		by = history.ByUnknown
	}
	from, to := d.bounds(suspects)
	d.change(key, by, suspects[0].exec, from, to, was.content, now.content)
}

// bounds returns the period in which the suspects may have run.
func (d *diff) bounds(suspects []*effect) (from, to time.Duration) {
	from = suspects[0].from
	for _, f := range suspects {
		at := time.Duration(f.answered.Load())
		if at == 0 {
			return from, d.seen.Got
		}
		to = max(to, at)
	}
	return from, min(to, d.seen.Got)
}

func (d *diff) change(key string, by history.ChangedBy, exec int, from, to time.Duration, was, now *history.KeyContent) {
	d.changes = append(d.changes, history.KeyChange{
		Node: d.node.name, Key: history.Bytes(key), By: by, Exec: exec, From: min(from, to), To: to, Before: was, After: now,
	})
}
