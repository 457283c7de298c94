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

// argument tells which client's acquires passed a value as an argument of a command.
type argument struct {
	client  int
	several bool // acquires of several clients passed the value
	uses    []argumentUse
}

// argumentUse is a command of an acquire that passed a value as an argument.
type argumentUse struct {
	at time.Duration
	op int
}

// heir finds the owner of a value that a command put in a place. The parameter by is the command and its
// sender. The value is another client's token if only that client's acquires passed it as an argument. If
// the value is empty, or a number that the command did not take out of a queue, the member's name counts
// instead.
//
// For another client's token, handed is true and heir is that client. heir.op is its latest acquire that
// passed the token before the command ran; -1 if that acquire had already succeeded, so that the client was
// not waiting. lock is the lock of that acquire. If the lock of the sender's operation is known, only acquires
// of that lock count. For any other value, handed is false and the sender itself is the heir.
func (r *reader) heir(by actor, s Spot) (heir actor, lock string, handed bool) {
	if by.pos < 0 {
		return by, "", false
	}
	token := s.Value
	if _, err := strconv.ParseFloat(token, 64); token == "" || err == nil && !r.tookOut(by.pos, token) { // empty, a count or a time
		if token = s.Name; r.isArgument(by.pos, token) {
			return by, "", false // the command names the member itself
		}
	}
	n := r.acquireArguments()[token]
	if n == nil || n.several || n.client == by.client {
		return by, "", false
	}
	sender := r.pairing.Operation(by.op)
	for _, x := range slices.Backward(n.uses) {
		p := r.pair(x.op)
		if x.at > by.at.Lo || sender != nil && p.Invoke.Lock != sender.Invoke.Lock {
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

// tookOut reports whether the command removed a field or a member with this name.
func (r *reader) tookOut(pos int, name string) bool {
	return slices.ContainsFunc(r.Effects[pos], func(change int) bool {
		return slices.Contains(r.Differences[change].Removed, name)
	})
}

// acquireArguments maps each argument of acquires' commands to the client whose acquires
// passed it, with those commands in order of time.
func (r *reader) acquireArguments() map[string]*argument {
	if r.arguments != nil {
		return r.arguments
	}
	r.arguments = map[string]*argument{}
	for pos, c := range r.Commands {
		if !r.acquires(c.Op) {
			continue
		}
		for _, arg := range c.Args[min(1, len(c.Args)):] {
			n := r.arguments[string(arg)]
			if n == nil {
				n = &argument{client: c.Client}
				r.arguments[string(arg)] = n
			}
			if n.several = n.several || n.client != c.Client; !n.several {
				n.uses = append(n.uses, argumentUse{r.ran[pos].Lo, c.Op})
			}
		}
	}
	return r.arguments
}
