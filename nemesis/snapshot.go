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

// snapshot is what was on nodes at some moment between two times.
type snapshot struct {
	from, to time.Duration
	keys     map[string][]history.KeyState // by node
}

// snapshot lists what is on each node.
func (s *injection) snapshot(ctx context.Context, nodes ...string) (snapshot, error) {
	l := snapshot{from: s.env.Now(), keys: map[string][]history.KeyState{}}
	for _, node := range nodes {
		keys, err := s.env.(testbed.Nodes).Keys(ctx, node)
		if err != nil {
			return snapshot{}, fmt.Errorf("list the keys of %s: %w", node, err)
		}
		l.keys[node] = keys
	}
	l.to = s.env.Now()
	return l, nil
}

// all are the keys of all nodes of the snapshot.
func (l snapshot) all() (keys []history.KeyState) {
	for _, k := range l.keys {
		keys = append(keys, k...)
	}
	return keys
}

// expired says whether a key of the snapshot may have reached the end of its own life
// before a later snapshot was over: then expiry alone explains that it went.
func (l snapshot) expired(k history.KeyState, later snapshot) bool {
	return k.TTL >= 0 && l.from+k.TTL <= later.to
}

// cameBack returns whether a key of the snapshot after, which the snapshot before lacks,
// is an old one that came back with its node at the time since. A client that was served
// between since and after may have written the key anew: then the key's value must carry
// a token that was granted earlier. On virtual time no client is served in between:
// the snapshot is over at the time since.
func (s *injection) cameBack(before snapshot, since time.Duration, after snapshot) func(history.KeyState) bool {
	if after.to == since {
		return func(history.KeyState) bool { return true }
	}
	tokens := s.granted(before.from)
	return func(k history.KeyState) bool {
		return slices.ContainsFunc(tokens, func(token string) bool { return carries(string(k.Value), token) })
	}
}

// granted are the tokens that were granted exactly once, by that time: an owner that
// always uses the same token may have written it again.
func (s *injection) granted(by time.Duration) (tokens []string) {
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

// carries says whether a value is the token, or a hash that has the token as a field or as
// a field's value: history.KeyState.Value tells how a hash is written.
func carries(value, token string) bool {
	fields := " " + value + " "
	return value == token || strings.Contains(fields, " "+token+"=") || strings.Contains(fields, "="+token+" ")
}

// holds says whether the keys include k with the same value.
func holds(keys []history.KeyState, k history.KeyState) bool {
	return slices.ContainsFunc(keys, func(o history.KeyState) bool { return o.Key == k.Key && o.Value == k.Value })
}
