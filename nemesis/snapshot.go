package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// look is what was on nodes at some moment between two times.
type look struct {
	from, to time.Duration
	keys     map[string][]history.KeyState // by node
}

// look lists what is on each node.
func (s *strike) look(ctx context.Context, nodes ...string) (look, error) {
	l := look{from: s.env.Now(), keys: map[string][]history.KeyState{}}
	for _, node := range nodes {
		keys, err := s.env.(testbed.Nodes).Keys(ctx, node)
		if err != nil {
			return look{}, fmt.Errorf("list the keys of %s: %w", node, err)
		}
		l.keys[node] = keys
	}
	l.to = s.env.Now()
	return l, nil
}

// all are the keys of all nodes, which usually is one.
func (l look) all() (keys []history.KeyState) {
	for _, k := range l.keys {
		keys = append(keys, k...)
	}
	return keys
}

// expired says whether a key of the look may have come to the end of its own life by
// the end of a later one: nothing else need have happened to it.
func (l look) expired(k history.KeyState, later look) bool {
	return k.TTL >= 0 && l.from+k.TTL <= later.to
}

// cameBack says of a key of a look whether it was there before an earlier one at which
// it was not, and has come back with its node at the time since. Who was served between
// that and the look may have written it anew: then its value must tell. On virtual time
// nobody was, and only there the look is over at the time since.
func (s *strike) cameBack(before look, since time.Duration, after look) func(history.KeyState) bool {
	if after.to == since {
		return func(history.KeyState) bool { return true }
	}
	tokens := s.granted(before.from)
	return func(k history.KeyState) bool {
		return slices.ContainsFunc(tokens, func(token string) bool { return carries(string(k.Value), token) })
	}
}

// granted are the tokens of locks that were granted by then, and only once: an owner who
// uses one token always may have written it again.
func (s *strike) granted(by time.Duration) (tokens []string) {
	grants := map[string]int{}
	for _, op := range s.rec.Ops() {
		if op.F != history.FAcquire || op.Type != history.OK || op.Lease == nil || op.Lease.Token == "" {
			continue
		}
		if grants[op.Lease.Token]++; op.Time > by {
			grants[op.Lease.Token]++ // not by then, or not only
		}
	}
	for token, n := range grants {
		if n == 1 {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// carries says whether a value is the token, or a hash of which that is a field or the
// value of one: history.KeyState.Value tells how a hash is written.
func carries(value, token string) bool {
	fields := " " + value + " "
	return value == token || strings.Contains(fields, " "+token+"=") || strings.Contains(fields, "="+token+" ")
}

// holds says whether the keys include k with the same value.
func holds(keys []history.KeyState, k history.KeyState) bool {
	return slices.ContainsFunc(keys, func(o history.KeyState) bool { return o.Key == k.Key && o.Value == k.Value })
}
