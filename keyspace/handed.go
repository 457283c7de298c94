package keyspace

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file finds the values that one client puts in a place for another client. For
// example, the releaser of a lock with a queue may write the token of the next waiter
// there.

// naming tells which client's acquires named a value.
type naming struct {
	client  int
	several bool // acquires of several clients named it
	by      []named
}

// named is a command of an acquire that named a value.
type named struct {
	at time.Duration
	op int
}

// heir returns the client for which a command put the value in the place. The value is that
// client's token: only that client's acquires ever named it. heir.op is the client's latest
// acquire that named the value; -1 if this acquire had already succeeded, so that the
// client does not wait. lock is the lock of this acquire. If the sender put the value there
// for itself, handed is false and heir is the sender.
func (r *reader) heir(by actor, s spot) (heir actor, lock string, handed bool) {
	if by.pos < 0 {
		return by, "", false
	}
	token := s.value
	if _, err := strconv.ParseFloat(token, 64); token == "" || err == nil { // empty, a count or a time
		if token = s.name; r.handed(by.pos, token) {
			return by, "", false // the command names the member itself
		}
	}
	n := r.namings()[token]
	if n == nil || n.several || n.client == by.client {
		return by, "", false
	}
	for _, x := range slices.Backward(n.by) {
		p := r.pairs[x.op]
		if x.at > by.at.Lo || by.op >= 0 && p.Invoke.Lock != r.pairs[by.op].Invoke.Lock {
			continue
		}
		heir = actor{pos: by.pos, client: n.client, op: x.op, at: by.at}
		if p.Done() == history.OK && p.Complete.Time < by.at.Lo {
			heir.op = -1
		}
		return heir, p.Invoke.Lock, true
	}
	return by, "", false
}

// namings returns, for each argument of an acquire's command, the client whose acquires
// named it. The commands of one client are in order of time.
func (r *reader) namings() map[string]*naming {
	if r.named != nil {
		return r.named
	}
	r.named = map[string]*naming{}
	for pos, c := range r.Commands {
		if !r.acquires(c.Op) {
			continue
		}
		for _, arg := range c.Args[min(1, len(c.Args)):] {
			n := r.named[string(arg)]
			if n == nil {
				n = &naming{client: c.Client}
				r.named[string(arg)] = n
			}
			if n.several = n.several || n.client != c.Client; !n.several {
				n.by = append(n.by, named{r.ran[pos].Lo, c.Op})
			}
		}
	}
	return r.named
}
