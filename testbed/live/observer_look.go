package live

import (
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/live/look"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// cause describes what may have changed keys since the last look.
type cause struct {
	// by is the operation on the node since the last look; "" = commands and expiry only. The last
	// look saw all changes from before the operation.
	by   history.ChangedBy
	from time.Duration // when the operation began, on the history's clock
	// only is the keys that the operation affected; nil = all keys.
	only   []string
	likely []string // keys that may have been created since the last look
}

// look reads the node's keys and logs the changes. It reports whether it could read the keys.
func (o *observer) look(c cause) bool {
	if o == nil || o.blind {
		return false
	}
	s, err := o.readKeys(c)
	switch {
	case err == nil:
		o.compare(c, s)
	case final(err):
		o.giveUp(err)
	case !errors.Is(err, look.ErrNotNow):
		o.disconnect()
	}
	o.plan(err == nil)
	return err == nil
}

// readKeys reads the node's keys. If the old connection is broken, it makes a new one.
func (o *observer) readKeys(c cause) (s look.Result, err error) {
	likely := append(slices.Collect(maps.Keys(o.last)), c.likely...)
	fresh := o.looker == nil
	s, err = o.try(likely)
	if err == nil || fresh || errors.Is(err, os.ErrDeadlineExceeded) || final(err) || errors.Is(err, look.ErrNotNow) {
		return s, err
	}
	o.disconnect()
	return o.try(likely)
}

// final reports whether every further look would fail, too.
func final(err error) bool {
	return errors.Is(err, look.ErrRefused) || errors.Is(err, look.ErrTooLarge)
}

func (o *observer) try(likely []string) (look.Result, error) {
	l, err := o.connect()
	if err != nil {
		return look.Result{}, err
	}
	if err := l.SetDeadline(time.Now().Add(o.lookTimeout())); err != nil {
		return look.Result{}, err
	}
	return l.Look(likely, o.node.clock)
}

// compare logs the changes since the last look, unless the node is a replica.
func (o *observer) compare(c cause, s look.Result) {
	began := o.recording
	o.recording = !s.Replica
	started := o.reborn.Swap(0)
	switch {
	case s.Replica:
		o.effects = o.open()
		return
	case started > 0 && began:
		c.by, c.from = history.ByRestart, time.Duration(started)
	case !began && len(o.open()) < len(o.effects):
		c.by, c.from = history.ByUnknown, o.effects[0].from // a command has run since the promotion
	case !began:
		c.by, c.from = history.ByPromotion, s.Sent
	}
	d := &diff{observer: o, cause: c, seen: s}
	if o.clock.set(s, c.by == history.ByClock) && c.by == "" {
		d.moved(history.ByClock)
	}
	d.run()
	o.lastSent = s.Sent
	o.effects = o.open()
	o.log.report(d.changes)
}

// open returns the effects of commands that may yet run.
func (o *observer) open() []*effect {
	var open []*effect
	for _, f := range o.effects {
		if f.answered.Load() == 0 {
			open = append(open, f)
		}
	}
	return open
}

// harmless reports whether the command certainly changes no key.
func harmless(args []history.Bytes) bool { return resp.Of(args).Is(resp.ReadOnly | resp.Inert) }

// likely guesses from a command's arguments which keys the command may create: its keys, or its first
// argument if it has none and does not count any.
func likely(args []history.Bytes) (keys []string) {
	c := resp.Of(args)
	for _, key := range resp.Keys(c, args) {
		keys = append(keys, string(key))
	}
	if len(keys) == 0 && c.NumKeys == 0 && len(args) > 1 {
		return []string{string(args[1])}
	}
	return keys
}
