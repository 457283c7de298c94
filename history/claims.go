package history

import "time"

// Claims states a recipe's promises as plain data for the oracles, but not how the recipe
// works. It is stored with every trial.
type Claims struct {
	Lock      string `json:"lock"`                // the recipe's id, for texts only: no verdict depends on it
	Reentrant bool   `json:"reentrant,omitempty"` // n acquires of an owner need n releases
	ReadWrite bool   `json:"readWrite,omitempty"` // acquires carry a Mode
	// Quorum is the number of units (QuorumOf) that must carry a grant: 1 for a lock of one key on
	// one node, N/2+1 for RedLock on N nodes, n/2+1 for a majority of n keys.
	Quorum int `json:"quorum"`
	// QuorumOf is the unit of Quorum; "" = QuorumOfNodes.
	QuorumOf QuorumOf `json:"quorumOf,omitempty"`
	// TTL is the requested lease time.
	TTL time.Duration `json:"ttl"`
	// Recovery is the longest time, as claimed, from a holder's crash until another
	// client can acquire the lock; 0 = never.
	Recovery time.Duration `json:"recovery"`
	// Timeout is the shortest time after which the lock or its client gives up a command that is not
	// answered; 0 = no shorter than TTL/10. A longer stall of the machine may itself cause
	// violations: they do not count.
	Timeout time.Duration `json:"timeout,omitempty"`
	// ClientClock: clients' wall clocks decide who holds the lock.
	ClientClock bool `json:"clientClock,omitempty"`
	// Renews: a watchdog is meant to keep the lease alive while the lock is held.
	Renews bool `json:"renews,omitempty"`
	// Extends: the holder can prolong its lease on demand (locks.Extender). An extension succeeds
	// only if no other client was granted the lock since the lease was granted or last extended.
	Extends bool `json:"extends,omitempty"`
	// Fenced: every grant carries a fencing token (Lease.Fence) greater than those of
	// all earlier grants, and the guarded resource refuses an older one.
	Fenced bool `json:"fenced,omitempty"`
	// Permits is how many owners may hold the lock at a time; 0 = 1.
	Permits int `json:"permits,omitempty"`
	// Waits: every acquire waits, until it is granted, gives up, or its context ends. There
	// are no single attempts.
	Waits bool `json:"waits,omitempty"`
	// Away is how long a node must stay away after a restart that may have lost data
	// (redis.io, "Distributed Locks with Redis": delayed restarts); 0 = not at all.
	Away time.Duration `json:"away,omitempty"`
	// ScriptNames maps the SHA-1 of a Lua script's source, in lower-case hex, to the
	// script's name in texts. No verdict depends on it.
	ScriptNames map[string]string `json:"scriptNames,omitempty"`
	// Draws: each write of the guarded resource records a piece of work that must be done only
	// once. Two writes with equal values mean that this work was done twice.
	Draws bool `json:"draws,omitempty"`
	// Trusting: clients ignored deadlines and lost leases (--clients-trust).
	Trusting bool `json:"trusting,omitempty"`
}

// QuorumOf is the unit in which a quorum is counted.
type QuorumOf string

// Units of quorums.
const (
	// QuorumOfNodes: a grant is a key on each of Quorum nodes.
	QuorumOfNodes QuorumOf = "nodes"
	// QuorumOfKeys: a grant is Quorum keys on one node. One command may set several of
	// them.
	QuorumOfKeys QuorumOf = "keys"
)

// NodeQuorum returns how many nodes must grant, at least 1. A quorum of keys is on one
// node.
func (c Claims) NodeQuorum() int {
	if c.QuorumOf == QuorumOfKeys {
		return 1
	}
	return max(1, c.Quorum)
}

// KeyQuorum returns how many keys of one node must carry a grant, at least 1. In a quorum
// of nodes, each node has one key.
func (c Claims) KeyQuorum() int {
	if c.QuorumOf == QuorumOfKeys {
		return max(1, c.Quorum)
	}
	return 1
}
