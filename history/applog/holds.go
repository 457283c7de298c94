package applog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// holds reads records of holds: which client held which lock, from when to when.
func (r *reader) holds() error {
	for _, w := range r.rows {
		h, err := r.hold(w)
		if err != nil {
			return at(w.line, err)
		}
		r.log.Holds = append(r.log.Holds, h)
	}
	r.holdsFromFirst()
	return nil
}

func (r *reader) hold(w row) (h Hold, err error) {
	h.Line, h.SaidFrom, h.SaidTo, h.SaidUntil = w.line, w.cells[fFrom].said(), w.cells[fTo].said(), w.cells[fDeadline].said()
	if h.Client, err = r.client(w); err != nil {
		return h, err
	}
	if h.Lock, err = r.lock(w); err != nil {
		return h, err
	}
	if h.Mode, err = oneOf(fMode, w.text(fMode), modeWords); err != nil {
		return h, err
	}
	if !w.has(fFrom) {
		return h, errors.New("from is missing: expected when the hold began")
	}
	if h.From, err = r.instants.parse(fFrom, w.cells[fFrom], 0); err != nil {
		return h, err
	}
	if h.Unended = !w.has(fTo); !h.Unended {
		if h.To, err = r.instants.parse(fTo, w.cells[fTo], 0); err != nil {
			return h, err
		}
		if h.To < h.From {
			return h, fmt.Errorf("to is %s, before from, %s: expected the end of a hold after its beginning", w.text(fTo), w.text(fFrom))
		}
	}
	if w.has(fDeadline) {
		if h.Until, err = r.instants.parse(fDeadline, w.cells[fDeadline], 0); err != nil {
			return h, err
		}
	}
	return h, nil
}

// done is one completion of an operation on a lock.
type done struct {
	line, client int
	lock         string
	mode         history.Mode
	f            string
	kind         history.Type
	time, until  time.Duration
	token        string
	// said and saidUntil are the time and the end of the lease (until) as the log writes them.
	said, saidUntil string
}

// completions reads logs that have a row for each ended operation.
//
// It pairs each release with an unreleased acquire of the same client, lock and mode: the latest one
// with the same token, else the latest one without a token. A release without a token ends the
// latest one. A loss counts as a release. If a clock was set back, a release may come before its
// acquire. Only an equal token pairs such a release with its acquire.
//
// Only a successful acquire begins a hold. After a failure or an unknown outcome, the client does
// not believe that it has the lock. A release ends a hold even if the release failed.
func (r *reader) completions() error {
	var all []done
	for _, w := range r.rows {
		d, err := r.done(w)
		if err != nil {
			return at(w.line, err)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b done) int { return cmp.Compare(a.time, b.time) })
	open := map[owned][]int{}  // holds without a release, latest last, as indices in r.log.Holds
	alone := map[owned][]int{} // releases without an earlier acquire, as indices in r.log.Holds
	for _, d := range all {
		o := owned{d.client, d.lock, d.mode}
		switch {
		case d.f == history.FAcquire && d.kind == history.OK:
			h := Hold{
				Line: d.line, Client: d.client, Lock: d.lock, Mode: d.mode, From: d.time, Unended: true, Until: d.until, token: d.token,
				SaidFrom: d.said, SaidUntil: d.saidUntil,
			}
			if i := r.sameToken(alone[o], d.token); i >= 0 {
				end := &r.log.Holds[alone[o][i]]
				h.To, h.SaidTo, h.Unended, h.Replied = end.To, end.SaidTo, false, true
				*end = h
				alone[o] = slices.Delete(alone[o], i, i+1)
				continue
			}
			open[o] = append(open[o], len(r.log.Holds))
			r.log.Holds = append(r.log.Holds, h)
		case d.f == history.FExtend && d.kind == history.OK && d.until != 0:
			if n := len(open[o]); n > 0 {
				h := &r.log.Holds[open[o][n-1]]
				if d.until > h.Until {
					h.Until, h.SaidUntil = d.until, d.saidUntil
				}
			}
		case d.f == history.FRelease || d.f == history.FLost:
			i := r.released(open[o], d.token)
			if i < 0 {
				alone[o] = append(alone[o], len(r.log.Holds))
				r.log.Holds = append(r.log.Holds, Hold{
					Line: d.line, Client: d.client, Lock: d.lock, Mode: d.mode, Unbegun: true, To: d.time, SaidTo: d.said, Replied: true, token: d.token,
				})
				continue
			}
			h := &r.log.Holds[open[o][i]]
			h.To, h.SaidTo, h.Unended, h.Replied = d.time, d.said, false, true
			open[o] = slices.Delete(open[o], i, i+1)
		}
	}
	if n := len(slices.Concat(slices.Collect(maps.Values(alone))...)); n > 0 {
		r.note(fmt.Sprintf("%d releases have no earlier acquire in the log: the holds that they ended may have begun at any earlier time", n))
	}
	r.holdsFromFirst()
	return nil
}

// owned is one client's use of one lock.
type owned struct {
	client int
	lock   string
	mode   history.Mode
}

// released returns the index in open of the hold that a release with that token ends; -1 for none.
// open has indices in r.log.Holds.
func (r *reader) released(open []int, token string) int {
	if i := r.sameToken(open, token); i >= 0 {
		return i
	}
	for i, at := range slices.Backward(open) {
		if token == "" || r.log.Holds[at].token == "" {
			return i
		}
	}
	return -1
}

// sameToken returns the index in places of the latest hold with that token; -1 if there is none.
// places has indices in r.log.Holds.
func (r *reader) sameToken(places []int, token string) int {
	for i, at := range slices.Backward(places) {
		if token != "" && r.log.Holds[at].token == token {
			return i
		}
	}
	return -1
}

func (r *reader) done(w row) (d done, err error) {
	d.line, d.kind, d.token = w.line, history.OK, w.text(fToken)
	d.said, d.saidUntil = w.cells[fTime].said(), w.cells[fDeadline].said()
	if d.client, err = r.client(w); err != nil {
		return d, err
	}
	if d.lock, err = r.lock(w); err != nil {
		return d, err
	}
	if d.mode, err = oneOf(fMode, w.text(fMode), modeWords); err != nil {
		return d, err
	}
	if !w.has(fF) {
		return d, errors.New("f is missing: expected acquire, release or extend")
	}
	if d.f, err = oneOf(fF, w.text(fF), fWords); err != nil {
		return d, err
	}
	if w.has(fType) {
		if d.kind, err = oneOf(fType, w.text(fType), typeWords); err != nil {
			return d, err
		}
	}
	if !w.has(fTime) {
		return d, errors.New("time is missing: expected when the operation was over")
	}
	if d.time, err = r.instants.parse(fTime, w.cells[fTime], 0); err != nil {
		return d, err
	}
	if w.has(fDeadline) {
		d.until, err = r.instants.parse(fDeadline, w.cells[fDeadline], 0)
	}
	return d, err
}

// holdsFromFirst makes times count from the earliest time in the log, and sets Log.End.
func (r *reader) holdsFromFirst() {
	var known []time.Duration
	for _, h := range r.log.Holds {
		if !h.Unbegun {
			known = append(known, h.From)
		}
		if !h.Unended {
			known = append(known, h.To)
		}
	}
	if len(known) == 0 {
		return
	}
	base := slices.Min(known)
	for i := range r.log.Holds {
		h := &r.log.Holds[i]
		if !h.Unbegun {
			h.From -= base
		}
		if !h.Unended {
			h.To -= base
		}
		if h.Until != 0 {
			h.Until = since(h.Until, base)
		}
	}
	r.log.End = slices.Max(known) - base
	if r.instants.dated {
		r.note("times count from " + time.Unix(0, int64(base)).UTC().Format(time.RFC3339Nano))
	}
}

// since returns a deadline as the time since base. It is never 0, which stands for no deadline.
func since(deadline, base time.Duration) time.Duration { return cmp.Or(deadline-base, -1) }
