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

// snapshot holds the keys that nodes had at some moment between from and to.
type snapshot struct {
	from, to time.Duration
	keys     map[string][]history.KeyState // by node
}

// snapshot takes a snapshot of the keys of these nodes.
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

// all returns the keys of all nodes of the snapshot.
func (l snapshot) all() (keys []history.KeyState) {
	for _, k := range l.keys {
		keys = append(keys, k...)
	}
	return keys
}

// expired reports whether a key of the snapshot may have expired before the end of a later
// snapshot. Then expiry alone explains why the key is missing there.
func (l snapshot) expired(k history.KeyState, later snapshot) bool {
	return k.TTL >= 0 && l.from+k.TTL <= later.to
}

// cameBack returns a function that reports whether a key is old: its node brought the key back, by a
// restart or a promotion that ended at the instant since. The function is for keys that the second
// snapshot has and the first has not. If clients were served between that instant and the second snapshot,
// such a key may be new. Then the function requires that the key's value contains a token that was granted
// before the first snapshot. On virtual time the second snapshot ends at that instant, so no client is
// served in between.
func (s *injection) cameBack(before snapshot, since time.Duration, after snapshot) func(history.KeyState) bool {
	if after.to == since {
		return func(history.KeyState) bool { return true }
	}
	tokens := s.granted(before.from)
	return func(k history.KeyState) bool {
		return slices.ContainsFunc(tokens, func(token string) bool { return carries(string(k.Value), token) })
	}
}

// granted returns the tokens that were granted only once, and no later than the given time. A token
// that is granted again may have been written again.
func (s *injection) granted(by time.Duration) (tokens []string) {
	grants := map[string]int{}
	for _, op := range s.rec.Ops() {
		if op.F != history.FAcquire || op.Type != history.OK || op.Lease == nil || op.Lease.Token == "" {
			continue
		}
		if grants[op.Lease.Token]++; op.Time > by {
			grants[op.Lease.Token]++ // counted twice, so that the token is left out below
		}
	}
	for token, n := range grants {
		if n == 1 {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// carries reports whether a value is the token, or a hash that contains the token as a
// field or as a field's value. See history.KeyState.Value for the format of a hash.
func carries(value, token string) bool {
	fields := " " + value + " "
	return value == token || strings.Contains(fields, " "+token+"=") || strings.Contains(fields, "="+token+" ")
}

// holds reports whether the keys include k with the same value.
func holds(keys []history.KeyState, k history.KeyState) bool {
	return slices.ContainsFunc(keys, func(o history.KeyState) bool { return o.Key == k.Key && o.Value == k.Value })
}
