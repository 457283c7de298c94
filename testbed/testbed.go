package testbed

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// ErrCrashed is the error of Client.Step for a crashed client. The client's body must
// return without touching anything.
var ErrCrashed = errors.New("client crashed")

// ErrHung is the error of Client.Work for a client that never comes back from its work. The
// client's body must stop and release nothing. The client's context does not end.
var ErrHung = errors.New("client hangs in its work")

// Testbed sets up the worlds of trials, such as simulated nodes or Redis servers, and runs trials
// in them.
type Testbed interface {
	// Name returns the testbed's name: "process", "sim", ….
	Name() string
	// Topologies returns the topologies that the testbed can set up.
	Topologies() []Topology
	// Capabilities returns the capabilities of the testbed's worlds. An Env of the testbed
	// implements exactly the interfaces of those capabilities that its topology allows
	// (Capability.In).
	Capabilities() []Capability
	// Clock returns the history's clock for one trial: the time since the trial's start.
	// The trial starts about when Clock is called. On virtual time the clock may be read
	// only while Run runs that trial.
	Clock() func() time.Duration
	// Run sets up the world that s describes, calls body, and always tears the world down.
	// Errors of set-up and teardown are the harness's; a teardown error is a *TeardownError,
	// joined to any other error. Run returns the body's own error unchanged. A *Breakdown
	// says that the code under test ended the trial. When Run returns, s.Commands has
	// received every command.
	Run(ctx context.Context, s Setup, body func(context.Context, Env) error) error
}

// Lacking is implemented by testbeds that may lack capabilities on this machine.
type Lacking interface {
	// Lacks returns the missing capabilities, each with a line that says why it is missing
	// and how to get it.
	Lacks() map[Capability]string
}

// Without is implemented by testbeds that need more configuration for some topologies.
type Without interface {
	// Without returns the missing topologies, each with a line that says how to get it.
	Without() map[Topology]string
}

// Breakdown is the error of a trial that the code under test itself ended: a finding about
// that code, not about the harness.
type Breakdown struct {
	// Kind is history.FDeadlock, history.FPanic or history.FRunaway.
	Kind string
	// Detail describes the breakdown in one line. The same seed gives the same Detail.
	Detail string
	// Stack is a dump of the goroutines for a human reader; it may be empty. It contains
	// addresses, which differ from run to run.
	Stack string
}

// Error implements error.
func (b *Breakdown) Error() string { return b.Kind + ": " + b.Detail }

// Elsewhere is the value of a panic in a call to a lock whose code runs in another process. The code
// did something there that ends the trial, such as a panic.
type Elsewhere struct {
	// Did says what a call of the code under test did instead of returning: "panicked: …"; "" if its
	// process ended.
	Did   string
	Stack string // of the goroutine that did it
	// Err is a *Breakdown if the code under test ended its process, or the harness's own error.
	Err error
}

// Topology is an arrangement of Redis nodes.
type Topology string

// The arrangements of nodes that testbeds can set up.
const (
	Single      Topology = "single"      // one node, n0
	Replicated  Topology = "replicated"  // primary n0 with replicas n1 and n2; clients reach the primary only
	Independent Topology = "independent" // nodes n0, n1, … without replication
	// Sentinel is Replicated with three Sentinels. The Sentinels fail over by themselves and
	// tell the clients where the primary is.
	Sentinel Topology = "sentinel"
	// Cluster is a Redis Cluster: masters n0 to n2 with replicas n3 (of n0), n4 (of n1) and
	// n5 (of n2). Clients reach all nodes. Node n0 owns the slot of the key "lock-0", so that
	// a fault of n0 hits the first lock's node in this topology, too.
	Cluster Topology = "cluster"
)

// Durability says which data a node keeps when it is killed and restarted.
type Durability = history.Durability

// Durabilities, after redis.conf's appendfsync.
const (
	Volatile = history.Volatile // keeps nothing
	EverySec = history.EverySec // loses at most the last second
	Always   = history.Always   // keeps all acknowledged writes
)

// Setup describes the world of one trial.
type Setup struct {
	Topology   Topology
	Nodes      int // nodes of an independent topology; 0 = 5
	Clients    int
	Durability Durability // "" = Volatile
	Seed       uint64     // the seed of the testbed's random numbers
	// SharedLinks, on real Redis, makes one link from all clients to a node instead of one
	// per client, and warms up one connection per client instead of two. It is for hundreds
	// of clients. A fault of one client's link then hits every client, and no client can be
	// moved to another primary alone.
	SharedLinks bool
	// CommandTimeout is the clients' read and write timeout (go-redis's ReadTimeout and
	// WriteTimeout); 0 = defaultTimeout, 3 s.
	CommandTimeout time.Duration
	// Clock is the history's clock, from Testbed.Clock. Never nil.
	Clock func() time.Duration
	// Limit is the time, on the history's clock, after which the trial has certainly gone
	// wrong; 0 = no limit. Only testbeds on virtual time use Limit: on real time the caller
	// ends Run's context instead.
	Limit time.Duration
	// Commands receives every command once its outcome is known, at the latest at teardown.
	// Never nil.
	Commands func(history.Command)
	// Keys receives every change of a node's keys, in the order of Index; nil = not wanted.
	// Calls do not overlap; the last one returns before Run does.
	Keys func(history.KeyChange)
	// Unseen is called once for each node whose keys can no longer be observed, with the
	// reason; the caller records history.FUnseen. If Unseen is nil, the trial ends with the
	// reason as its error. Calls of Unseen and Keys do not overlap.
	Unseen func(node string, err error)
	// Logs is a directory for the nodes' logs; "" = not kept.
	Logs string
	// Remedies are in force in the trial; nil = none. Only testbeds on virtual time know any.
	Remedies *remedy.Trial
	// Monitor is a directory for logs (monitor-n0.log) of all commands that nodes execute,
	// including those of scripts, as Redis's MONITOR reports them; "" = no such logs. MONITOR
	// slows nodes down. Only testbeds that start real servers use Monitor.
	Monitor string
}

// Env is the running world of one trial. Assert an Env to the interfaces of its capabilities, such
// as Network or Nodes.
type Env interface {
	// Client returns client i, from 0.
	Client(i int) Client
	// Now returns the time since the trial's start, on the history's clock.
	Now() time.Duration
	// At calls the function do once, when the client reaches the point. The client waits at the point until
	// do returns. The function cancel withdraws the call: once cancel has returned, do is not running and
	// will not run.
	At(p Point, do func(Hit)) (cancel func())
}

// Client is one client process.
type Client interface {
	// Locks returns the client that recipes use.
	Locks() *locks.Client
	// Step marks the beginning of a step of the client's body ("acquire", "hold", "read",
	// "touch", "release", "rest"). The numbers of commands start anew in each step. Step
	// blocks while the client is paused. It returns ErrCrashed once the client has crashed,
	// or ctx's error.
	Step(ctx context.Context, name string) error
	// Work says whether a fault prolongs the client's work in the present step
	// (Clients.SlowWork). The client calls Work after Step. If the channel is nil, the work
	// is done. Otherwise the client works until the channel is closed, and then calls Work
	// again. Like Step, Work blocks while the client is paused, and returns ErrCrashed or
	// ctx's error. Work returns ErrHung if the client never comes back from this work
	// (Clients.HangWork).
	Work(ctx context.Context) (prolonged <-chan struct{}, err error)
	// Awake waits while the client is paused, because a frozen client notices nothing. Like
	// Step, Awake returns ErrCrashed or ctx's error. It may be called concurrently with
	// other methods.
	Awake(ctx context.Context) error
	// Open sets the invocation (Op.Index) to which the following commands belong; -1 =
	// none.
	Open(op int)
}

// Steps of a client's body: the names that the body passes to Client.Step, in the order of
// one critical section. The nemesis places faults at these steps.
const (
	StepAcquire = "acquire" // one attempt to get the lock
	StepHold    = "hold"    // the lock was granted
	StepRead    = "read"    // after the client checked its lease, before it first touches the resource
	StepTouch   = "touch"   // after the client checked its lease again, before its second touch
	StepRelease = "release" // giving the lock back
	StepRest    = "rest"    // between two critical sections
)

// When says at which moment of a command a Point lies.
type When = history.When

// Moments of a command.
const (
	Before  = history.Before  // the client is about to send the command
	Sent    = history.Sent    // the command has been handed to the network
	Replied = history.Replied // the reply has arrived, but the client has not seen it yet
)

// Point is a place in a client's protocol. If N is 0, the point is the beginning of a step,
// and Node and When are unused. An empty Step, Node or When matches all values.
type Point struct {
	Client int    `json:"client"`
	Step   string `json:"step"`
	// Node is the node to which the command is sent ("n0").
	Node string `json:"node,omitempty"`
	// N is the number of the command among the step's commands to one node, from 1.
	N    int  `json:"n,omitempty"`
	When When `json:"when,omitempty"`
	// Skip is the number of the client's first passes of the point, from After on, that have no effect.
	Skip int `json:"skip,omitempty"`
	// After is the earliest time, on the history's clock, at which the point counts as
	// reached.
	After time.Duration `json:"after,omitempty"`
	// Turn orders points that are reached at the same moment: the greatest Turn comes first.
	Turn int `json:"turn,omitempty"`
}

// Hit is the moment at which a point was reached.
type Hit struct {
	Point Point
	Time  time.Duration
	// Command is the command at the point; its Args are empty for a step's beginning.
	Command history.Command
}

// Direction is a direction of a link.
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

// Undo ends a fault and returns the number of its demonstrable hits: messages dropped,
// delayed or refused, connections reset. It may be called twice; the second call only
// returns the same count.
//
// Undo works even after the context has ended, because a fault must not outlive its trial;
// it uses only the context's values. An Undo that waits, for example until a primary is
// elected, has its own time limit, after which it returns an error.
type Undo func(context.Context) (hits int, err error)

// Network is the capability to disturb links.
type Network interface {
	// Cut drops everything on the link in that direction until undone. Dropped data never
	// arrives; the undo closes the connections that lost data.
	Cut(ctx context.Context, l Link, d Direction) (Undo, error)
	// Hold keeps back messages on the link in that direction. The undo delivers all of them
	// in order, even if the sender has gone.
	Hold(ctx context.Context, l Link, d Direction) (Undo, error)
	// Reset resets the link's connections and, until undone, all new ones.
	Reset(ctx context.Context, l Link) (Undo, error)
}

// Nodes is the capability to disturb nodes.
//
// The functions that callers pass to Nodes, NodeClocks, Memory and Slots are called at the
// moment of the event that they report, and may be nil. These functions may call Env.Now,
// but no other method of the world.
type Nodes interface {
	// Pause freezes the node; hits is the number of commands that waited.
	Pause(ctx context.Context, node string) (Undo, error)
	// Kill ends the node at once; its connections break. The function down is called at the moment of death:
	// the node has answered all commands that it executed, and executes no more. If a single command keeps
	// the node busy for longer than a moment, Kill does not wait for it, and the node may execute that
	// command until Kill returns. If down fails, the node lives on.
	Kill(ctx context.Context, node string, down func() error) error
	// Restart starts a killed node again with the data that the setup's durability kept,
	// and returns the data that was lost.
	Restart(ctx context.Context, node string) (lost history.Lost, err error)
	// StopReplication holds back the replication stream to all replicas.
	StopReplication(ctx context.Context) (Undo, error)
	// Promote makes a replica the primary and moves the clients to it.
	Promote(ctx context.Context, node string) error
	// FlushScripts empties the node's script cache and returns how many
	// scripts it held.
	FlushScripts(ctx context.Context, node string) (int, error)
	// Keys returns the node's keys and their values, sorted by key, for a post-mortem.
	Keys(ctx context.Context, node string) ([]history.KeyState, error)
	// List returns the names of the nodes that clients use now, in the order of
	// locks.Client.Nodes. In a cluster, it returns the present master of each shard, in the order
	// of the shards' first masters.
	List() []string
}

// Clocks is the capability to skew clients' wall clocks.
type Clocks interface {
	// Skew sets the lead of the client's wall clock; it lags if offset is negative.
	Skew(client int, offset time.Duration)
}

// NodeClocks is the capability to make nodes' wall clocks jump.
type NodeClocks interface {
	// SkewNode sets the lead of the node's wall clock over the trial's from now on; the node's clock lags if
	// offset is negative. Its speed does not change. Keys is the number of keys with an expiry, whose
	// remaining TTLs the jump changed. If the clock has that offset already, nothing happens. Otherwise the
	// function jumps is called first. Commands that the node executed before the call of jumps used the old
	// time. The node executes no command during that call. Later commands use the new time. If jumps fails,
	// the clock does not jump.
	SkewNode(ctx context.Context, node string, offset time.Duration, jumps func() error) (keys int, err error)
}

// Memory is the capability to put a node under memory pressure.
type Memory interface {
	// Evict makes the node evict its keys, as an allkeys policy of maxmemory would. It returns the keys'
	// states before the eviction, sorted by key. If there are any keys, the function evicted is called with
	// these states before the node executes another command.
	Evict(ctx context.Context, node string, evicted func(keys []history.KeyState) error) ([]history.KeyState, error)
}

// SplitBrain is the capability to have two primaries at once.
type SplitBrain interface {
	// Split cuts the primary off from its replicas, promotes one of them, and moves only
	// these clients to it. The other clients stay at the old primary, which does not know
	// of the new one. The undo moves all clients to the new primary; the old primary becomes
	// a replica and discards the writes that only it has. Hits is the number of writes that
	// the old primary acknowledged since the split.
	Split(ctx context.Context, node string, clients []int) (Undo, error)
}

// Slots is the capability to move hash slots between the masters of a Redis Cluster.
type Slots interface {
	// Migrate moves the slots of all keys of one master to another, with the keys, their values and
	// expiries. The parameters from and to name each master by the node that first had its slots. The
	// function moved is called with the old node, the new node and the moved keys at the moment of the move;
	// no command is executed during the call. Keys that expired before are left out. If only some keys could
	// be moved, moved gets these, and the error says so.
	//
	// The slots are migrating until the undo: if the old master gets a request for a key that it lacks, it
	// redirects this one request to the new master (ASK). After the undo, the old master redirects all
	// requests for these slots (MOVED). Hits is the number of keys.
	Migrate(ctx context.Context, from, to string, moved func(from, to string, keys []history.KeyState) error) (Undo, error)
}

// Clients is the capability to disturb client processes.
type Clients interface {
	// PauseClient freezes the client's steps and its connections. The client's timers go on, but
	// commands that the client sends meanwhile wait at the gate.
	PauseClient(client int) (Undo, error)
	// CrashClient stops the client for ever: nothing more leaves it or reaches it. The caller must
	// have sealed the client's history before.
	CrashClient(client int) error
	// SlowWork prolongs the client's work in the critical section, from its next call of
	// Client.Work, until undone. The client is not frozen: its timers and connections work.
	// Hits is the number of calls that were prolonged.
	SlowWork(client int) (Undo, error)
	// HangWork makes the client hang for ever in its next call of Client.Work. The client's timers
	// and connections go on. The function hangs is called when the client begins to hang; if it
	// fails, Client.Work returns its error instead. The undo has an effect only before that call.
	// Hits is the number of calls that hung.
	HangWork(client int, hangs func() error) (Undo, error)
}
