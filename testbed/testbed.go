// Package testbed says what a trial needs of the world: clients, Redis nodes,
// the network between them, and the gate on every client connection. Where
// these come from is known only to the packages below testbed/.
package testbed

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// ErrCrashed is what Client.Step returns for a client that was crashed: its
// body must unwind without touching anything.
var ErrCrashed = errors.New("client crashed")

// Testbed runs trials.
type Testbed interface {
	// Name is "process", "sim", ….
	Name() string
	// Topologies that it can set up.
	Topologies() []Topology
	// Capabilities are those of its worlds in every topology: each Env of it can be
	// asserted to them.
	Capabilities() []Capability
	// Clock returns a history's clock for one trial: the time since the trial's
	// start, which is about now. On virtual time it may be read only while Run
	// runs that trial.
	Clock() func() time.Duration
	// Run sets up what s asks for, calls body, and tears everything down, whatever body
	// did. Errors of set-up and teardown are the harness's; that of teardown is a
	// *TeardownError, joined to any other error. The body's own error is returned as it is.
	// A *Breakdown says that the code under test ended the trial. s.Commands has received
	// every command when Run returns.
	Run(ctx context.Context, s Setup, body func(context.Context, Env) error) error
}

// Lacking is a Testbed that lacks, on this machine, capabilities that it has elsewhere.
type Lacking interface {
	// Lacks says for each, in one line, why it is missing and how to get it.
	Lacks() map[Capability]string
}

// Without is a Testbed that would have more topologies if it were told more.
type Without interface {
	// Without says for each, in one line, how to get it.
	Without() map[Topology]string
}

// Breakdown is the error of a trial that the code under test ended by its own
// conduct: a finding about that code, not about the harness.
type Breakdown struct {
	// Kind is history.FDeadlock, history.FPanic or history.FRunaway.
	Kind string
	// Detail says in one line what was seen: the same for the same seed.
	Detail string
	// Stack shows the goroutines, for a person; it names addresses, which
	// differ from run to run. It may be empty.
	Stack string
}

// Error implements error.
func (b *Breakdown) Error() string { return b.Kind + ": " + b.Detail }

// Capability is something that faults ask of a running world: an interface that
// its Env implements.
type Capability string

// Capabilities, by the interface that they stand for.
const (
	CanNetwork    Capability = "network"     // Network
	CanNodes      Capability = "nodes"       // Nodes
	CanClocks     Capability = "clocks"      // Clocks
	CanClients    Capability = "clients"     // Clients
	CanNodeClocks Capability = "node-clocks" // NodeClocks
	CanMemory     Capability = "memory"      // Memory
	CanSplitBrain Capability = "split-brain" // SplitBrain
	CanSlots      Capability = "slots"       // Slots
)

// Topology is an arrangement of Redis nodes.
type Topology string

// Topologies.
const (
	Single      Topology = "single"      // one node, n0
	Replicated  Topology = "replicated"  // primary n0 with replicas n1 and n2; clients reach the primary only
	Independent Topology = "independent" // nodes n0 … that know nothing of each other
	// Sentinel is Replicated with three Sentinels, which fail over by themselves
	// and tell the clients where the primary is.
	Sentinel Topology = "sentinel"
	// Cluster is a Redis Cluster: masters n0 to n2 with replicas n3 to n5, in this
	// order. Clients reach all of them. The slot of the key "lock-0" is n0's, so
	// that what strikes n0 elsewhere strikes the first lock's node here too.
	Cluster Topology = "cluster"
)

// Durability is what a node keeps when it is killed and restarted.
type Durability = history.Durability

// Durabilities, after redis.conf's appendfsync.
const (
	Volatile = history.Volatile // nothing
	EverySec = history.EverySec // loses up to the last second
	Always   = history.Always   // loses nothing acknowledged
)

// Setup describes the world of one trial.
type Setup struct {
	Topology   Topology
	Nodes      int // nodes of an independent topology; 0 = 5
	Clients    int
	Durability Durability // "" = Volatile
	Seed       uint64     // of everything random in the testbed
	// SharedLinks, on real Redis, makes one link from all clients to a node instead of one
	// per client, and warms up one connection per client instead of two. It is for hundreds
	// of clients. A fault of one client's link then strikes every client, and no client can
	// be moved by itself.
	SharedLinks bool
	// CommandTimeout is the clients' read and write timeout, as go-redis's
	// ReadTimeout; 0 = 3 s, go-redis's default.
	CommandTimeout time.Duration
	// Clock is the history's clock, one that Testbed.Clock returned. Never nil.
	Clock func() time.Duration
	// Limit is the time, on the history's clock, after which the trial has certainly gone
	// wrong; 0 = no limit. Only testbeds on virtual time use it: elsewhere ctx ends.
	Limit time.Duration
	// Commands receives every command once its outcome is known, at the latest at teardown.
	// Never nil.
	Commands func(history.Command)
	// Keys receives every change of a node's keys, in the order of Index; nil = not wanted.
	// Calls come one at a time, the last before Run returns. Unseen is told of a node whose
	// keys can no longer be seen.
	Keys func(history.KeyChange)
	// Unseen is told, once per node, that changes of its keys are not seen from now on, and
	// why; the caller records history.FUnseen. nil = the trial ends there with that error.
	// It is called as Keys is.
	Unseen func(node string, err error)
	// Logs is a directory for the nodes' logs; "" = not kept.
	Logs string
	// Monitor is a directory for logs of all commands that nodes execute, those of scripts
	// included, as Redis's MONITOR reports them: monitor-n0.log; "" = not kept. It slows
	// nodes down. Only testbeds that start real servers use it.
	Monitor string
	// Processes of the clients; nil = they run in this one. Only for testbeds on
	// real time.
	Processes Processes
}

// Env is the running world of one trial. Capabilities are found by type
// assertion: Network, Nodes, Clocks, Clients.
type Env interface {
	// Client returns client i, from 0.
	Client(i int) Client
	// Now is the time since the trial's start, on the history's clock.
	Now() time.Duration
	// At calls do once, when the point is reached; the client is held at the
	// point until do returns. cancel withdraws it; after cancel has returned,
	// do is neither running nor will it run.
	At(p Point, do func(Hit)) (cancel func())
}

// Client is one client process.
type Client interface {
	// Locks is what recipes are given.
	Locks() *locks.Client
	// Step marks the beginning of a step of the client's body ("acquire",
	// "hold", "read", "touch", "release", "rest"): commands count anew in it.
	// It blocks while the client is paused and returns ErrCrashed once it
	// crashed, or ctx's error.
	Step(ctx context.Context, name string) error
	// Open tells the gate which invocation the following commands belong to
	// (Op.Index), -1 for none.
	Open(op int)
}

// Steps of a client's body, as it calls Client.Step, in the order of one critical
// section. The nemesis aims at these.
const (
	StepAcquire = "acquire" // one attempt to get the lock
	StepHold    = "hold"    // the lock was granted
	StepRead    = "read"    // between look and the first touch of the resource
	StepTouch   = "touch"   // between look and the second touch
	StepRelease = "release" // giving the lock back
	StepRest    = "rest"    // between two critical sections
)

// When says on which side of a command a Point lies.
type When = history.When

// Sides of a command.
const (
	Before  = history.Before  // the client is about to send it
	Sent    = history.Sent    // handed to the network
	Replied = history.Replied // the reply has arrived, the client has not seen it yet
)

// Point is a place in a client's protocol. Zero fields match anything, except N and When,
// which go together: N = 0 is the step's own beginning.
type Point struct {
	Client int    `json:"client"`
	Step   string `json:"step"`
	// Node is where the command goes ("n0").
	Node string `json:"node,omitempty"`
	// N is the number of the command among those of the step on Node, from 1.
	N    int  `json:"n,omitempty"`
	When When `json:"when,omitempty"`
	// Skip is how many times the point is passed unused first.
	Skip int `json:"skip,omitempty"`
	// After is the earliest time at which it counts.
	After time.Duration `json:"after,omitempty"`
	// Turn orders points reached at one moment: the greater comes first.
	Turn int `json:"turn,omitempty"`
}

// Hit is the moment at which a point was reached.
type Hit struct {
	Point Point
	Time  time.Duration
	// Command is the command at the point; its Args are empty for a step's beginning.
	Command history.Command
}

// Direction of a link.
type Direction = history.Direction

// Directions, as toxiproxy names them.
const (
	Upstream   = history.Upstream   // requests: client to node, replica to primary
	Downstream = history.Downstream // replies: node to client, primary to replica
	Both       = history.Both
)

// Link is a pair of ends between which packets travel: "c0" and "n0" for a
// client and a node, "n1" and "n0" for a replica and its primary.
type Link struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Conn restricts Network.Hold to one connection of a client's link, by its
	// number as in history.Command.Conn; 0 = all of them.
	Conn int `json:"conn,omitempty"`
}

// Undo takes a fault back and tells how much it demonstrably hit: messages
// dropped, delayed or refused, connections reset. It may be called twice; the
// second call does nothing and repeats the count.
//
// It works after the context has ended, too, and uses only its values: a fault must not
// outlive its trial. An undo that waits for something else, as for an election of a
// primary, gives up by itself with an error.
type Undo func(context.Context) (hits int, err error)

// Network is the capability to disturb links.
type Network interface {
	// Cut drops everything on the link in that direction until undone. What was
	// dropped never arrives; connections that lost data are closed by the undo.
	Cut(ctx context.Context, l Link, d Direction) (Undo, error)
	// Hold keeps messages on the link in that direction and delivers them all
	// when undone, in order, even if the sender has gone.
	Hold(ctx context.Context, l Link, d Direction) (Undo, error)
	// Reset resets the link's connections and those that are made until undone.
	Reset(ctx context.Context, l Link) (Undo, error)
}

// Nodes is the capability to disturb nodes.
//
// Functions given to it, NodeClocks, Memory and Slots are called at the moment of the
// event that they report, and may be nil. They must not ask anything of the world but the
// time.
type Nodes interface {
	// Pause freezes the node; hits counts the commands that waited.
	Pause(ctx context.Context, node string) (Undo, error)
	// Kill ends the node at once. Its connections break. Down is called at the moment of
	// its death: the node has answered all that it executed before, and executes nothing
	// after. A node that one command keeps busy for longer than a moment is killed
	// nevertheless, and may execute that command until Kill returns. If down fails, the
	// node lives on.
	Kill(ctx context.Context, node string, down func() error) error
	// Restart brings a killed node back with the data that the setup's durability kept;
	// lost is the rest.
	Restart(ctx context.Context, node string) (lost history.Lost, err error)
	// StopReplication holds back the replication stream to all replicas.
	StopReplication(ctx context.Context) (Undo, error)
	// Promote makes a replica the primary and moves the clients to it.
	Promote(ctx context.Context, node string) error
	// FlushScripts empties the node's script cache and returns how many
	// scripts it held.
	FlushScripts(ctx context.Context, node string) (int, error)
	// Keys lists what is on the node, for a post-mortem, sorted by key.
	Keys(ctx context.Context, node string) ([]history.KeyState, error)
	// List names the nodes that clients use now, in the order of locks.Client.Nodes; in a
	// cluster the present masters, in the order of the nodes that first had their slots.
	List() []string
}

// Clocks is the capability to skew clients' wall clocks.
type Clocks interface {
	// Skew sets by how much the client's wall clock is ahead (behind, if negative).
	Skew(client int, offset time.Duration)
}

// NodeClocks is the capability to make nodes' wall clocks jump.
type NodeClocks interface {
	// SkewNode sets by how much the node's wall clock is ahead of the trial's (behind, if
	// negative) from now on; keys counts the keys with a life, whose end the jump moved.
	// Passing time is not affected. Jumps is called first, unless the clock stands so
	// already: the node executed everything before by the former time, executes everything
	// after by the new one, and nothing meanwhile. If jumps fails, the clock does not jump.
	SkewNode(ctx context.Context, node string, offset time.Duration, jumps func() error) (keys int, err error)
}

// Memory is the capability to put a node under memory pressure.
type Memory interface {
	// Evict makes the node evict its keys, as an allkeys policy of maxmemory would, and
	// returns them as they were, sorted by key. If there are any, evicted is called with
	// them before the node executes anything without them.
	Evict(ctx context.Context, node string, evicted func(keys []history.KeyState) error) ([]history.KeyState, error)
}

// SplitBrain is the capability to have two primaries at once.
type SplitBrain interface {
	// Split cuts the primary off from its replicas and promotes one of them for these
	// clients only: they are moved to it; the others stay at the old primary, which does
	// not know. The undo moves everyone to the new primary; the old one becomes its replica
	// and discards what it alone had. Hits counts the writes that it acknowledged since the
	// split.
	Split(ctx context.Context, node string, clients []int) (Undo, error)
}

// Slots is the capability to move hash slots between the masters of a Redis
// Cluster. In other topologies its methods fail.
type Slots interface {
	// Migrate moves the slots of all keys of one master to another, with the keys, their
	// values and the ends of their lives. Each master is named by the node that first had
	// its slots. Moved is called with the old node, the new node and the keys at the moment
	// at which they change places: nothing is executed meanwhile. Keys that expired before
	// are left out. If only some keys could be moved, moved gets these, and the error says
	// so.
	//
	// The slots are migrating until the undo: the old master redirects requests for keys
	// that it lacks to the new one, for this once (ASK). After the undo, it redirects all
	// requests for these slots (MOVED). Hits counts the keys.
	Migrate(ctx context.Context, from, to string, moved func(from, to string, keys []history.KeyState) error) (Undo, error)
}

// Clients is the capability to disturb client processes.
type Clients interface {
	// PauseClient freezes the client's steps and its connections; what its
	// timers do meanwhile waits at the gate.
	PauseClient(client int) (Undo, error)
	// CrashClient stops the client for ever: nothing more leaves it, nothing
	// reaches it. The caller has sealed its history before.
	CrashClient(client int) error
}
