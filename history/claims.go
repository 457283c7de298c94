package history

import "time"

// Claims is what a recipe promises, as plain data for the oracles, without how it
// works. It is stored with every trial.
type Claims struct {
	Lock      string `json:"lock"`                // the recipe's id, for texts only: no oracle branches on it
	Reentrant bool   `json:"reentrant,omitempty"` // n acquires of an owner need n releases
	ReadWrite bool   `json:"readWrite,omitempty"` // acquires carry a Mode
	// Quorum is how many of QuorumOf must carry a grant: 1 for a lock of one key on
	// one node, N/2+1 for RedLock on N nodes, n/2+1 for a majority of n keys.
	Quorum int `json:"quorum"`
	// QuorumOf says what Quorum counts; "" = QuorumOfNodes.
	QuorumOf QuorumOf `json:"quorumOf,omitempty"`
	// TTL is the lease time that was asked for.
	TTL time.Duration `json:"ttl"`
	// Recovery is the longest time after a holder's crash until another client can get
	// in, as the recipe claims; 0 = never.
	Recovery time.Duration `json:"recovery"`
	// ClientClock: clients' wall clocks decide who holds the lock.
	ClientClock bool `json:"clientClock,omitempty"`
	// Renews: a watchdog is meant to keep the lease alive while it is held.
	Renews bool `json:"renews,omitempty"`
	// Extends: the holder can prolong its lease on demand (locks.Extender). An
	// extension succeeds only if nobody else was granted the lock since.
	Extends bool `json:"extends,omitempty"`
	// Fenced: every grant carries a fencing token (Lease.Fence) greater than those of
	// all earlier grants, and the guarded resource refuses an older one.
	Fenced bool `json:"fenced,omitempty"`
	// Permits is how many owners may hold the lock at a time; 0 = 1.
	Permits int `json:"permits,omitempty"`
	// Away is how long a node must stay away after a restart that may have lost data
	// (redis.io, "Distributed Locks with Redis": delayed restarts); 0 = not at all.
	Away time.Duration `json:"away,omitempty"`
	// ScriptNames are names of the recipe's Lua scripts for texts, by the SHA-1 of
	// their source in lower-case hex. No verdict depends on them.
	ScriptNames map[string]string `json:"scriptNames,omitempty"`
	// Trusting: clients ignored deadlines and Lost (--clients-trust).
	Trusting bool `json:"trusting,omitempty"`
}

// QuorumOf is the unit in which a quorum is counted.
type QuorumOf string

// Units of quorums.
const (
	// QuorumOfNodes: a key on each of Quorum nodes makes a grant.
	QuorumOfNodes QuorumOf = "nodes"
	// QuorumOfKeys: Quorum keys on one node make a grant. One command may set several
	// of them.
	QuorumOfKeys QuorumOf = "keys"
)

// NodeQuorum is how many nodes must grant, at least 1: a quorum of keys is on one node.
func (c Claims) NodeQuorum() int {
	if c.QuorumOf == QuorumOfKeys {
		return 1
	}
	return max(1, c.Quorum)
}

// KeyQuorum is how many keys of one node must carry a grant, at least 1: in a quorum of
// nodes, each node has one key.
func (c Claims) KeyQuorum() int {
	if c.QuorumOf == QuorumOfKeys {
		return max(1, c.Quorum)
	}
	return 1
}
