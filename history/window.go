package history

import (
	"strconv"
	"strings"
	"time"
)

// Window describes one fault. The invoke entry has the fault as intended; the closing info entry
// also has its hits. A Window is only data; reports put it into words.
type Window struct {
	Fault string `json:"fault"`
	ID    int    `json:"id"` // the number of the action in the trial's plan
	// Effect is what the fault does to its targets, such as "cut".
	Effect FaultEffect `json:"effect,omitempty"`
	// Clients, Nodes and Links are the targets. Clients and Nodes do not include the
	// ends of Links.
	Clients []int    `json:"clients,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Links   []Link   `json:"links,omitempty"`
	// Planned is the fault's planned beginning and end; nil if unknown.
	Planned *Timing `json:"planned,omitempty"`
	// Hits counts what the fault demonstrably affected, such as commands, messages,
	// connections, keys or acquires, depending on the fault. 0 on the closing entry
	// means that no effect is proven.
	Hits int `json:"hits"`
	// Impact says, on the closing entry, how the fault struck; nil if its trigger was
	// not reached.
	Impact *Impact `json:"impact,omitempty"`
}

// Hangs reports whether the fault hung a client in its work. The closing entry ends only the time
// in which the fault hangs clients: a hung client stays hung until the trial's end.
func (w *Window) Hangs() bool { return w.Effect == Hung && w.Hits > 0 }

// FaultEffect is what a fault does to clients, nodes or links.
type FaultEffect string

// What a fault can do to its targets.
const (
	Cut       FaultEffect = "cut"        // links drop what is sent over them
	ReplyLost FaultEffect = "reply-lost" // links drop the reply to a command that ran
	Delayed   FaultEffect = "delayed"    // links deliver late
	Reset     FaultEffect = "reset"      // connections break
	Paused    FaultEffect = "paused"     // clients or nodes stop for a while
	Crashed   FaultEffect = "crashed"    // clients stop for ever
	Slowed    FaultEffect = "slowed"     // live clients work for longer
	Hung      FaultEffect = "hung"       // live clients never come back from their work
	Restarted FaultEffect = "restarted"  // nodes are killed and come back
	Promoted  FaultEffect = "promoted"   // a replica that is behind takes the primary's place
	Parted    FaultEffect = "parted"     // a second primary serves some clients
	ClockSet  FaultEffect = "clock-set"  // wall clocks of clients or nodes are wrong
	Flushed   FaultEffect = "flushed"    // nodes forget their scripts
	Evicted   FaultEffect = "evicted"    // nodes evict keys
	SlotMoved FaultEffect = "slot-moved" // keys go to another node of a cluster
)

// Prolongs reports whether the fault makes live clients stay at their work for longer, or for ever.
func (e FaultEffect) Prolongs() bool { return e == Slowed || e == Hung }

// Direction says which traffic of a link a fault affects: requests, replies or both.
type Direction string

// Directions, as toxiproxy names them.
const (
	Upstream   Direction = "upstream"   // requests: client to node, replica to primary
	Downstream Direction = "downstream" // replies: node to client, primary to replica
	Both       Direction = "both"
)

// Link is a network link, the target of a fault. Its ends are named "c0" and "n0" for a
// client and a node, "n1" and "n0" for a replica and its primary.
type Link struct {
	From      string    `json:"from"`
	To        string    `json:"to"`
	Direction Direction `json:"direction,omitempty"` // "" = both
	Conn      int       `json:"conn,omitempty"`      // one connection only, as Command.Conn; 0 = all
}

// String returns "c0→n0" (upstream), "c0←n0" (downstream) or "c0↔n0" (both).
func (l Link) String() string {
	switch l.Direction {
	case Upstream:
		return l.From + "→" + l.To
	case Downstream:
		return l.From + "←" + l.To
	}
	return l.From + "↔" + l.To
}

// Client returns the number of the client at the link's From end; false for a link between servers.
func (l Link) Client() (int, bool) {
	number, ok := strings.CutPrefix(l.From, "c")
	c, err := strconv.Atoi(number)
	return c, ok && err == nil
}

// ClientName returns the client's name in texts: "c0".
func ClientName(client int) string { return "c" + strconv.Itoa(client) }

// Target lists the fault's targets: "c0 c2 n1", "c0→n0".
func (w *Window) Target() string {
	var names []string
	for _, c := range w.Clients {
		names = append(names, ClientName(c))
	}
	names = append(names, w.Nodes...)
	for _, l := range w.Links {
		names = append(names, l.String())
	}
	return strings.Join(names, " ")
}

// When is a moment in the exchange of a command and its reply.
type When string

// Moments of a command.
const (
	Before  When = "before"  // the client is about to send the command
	Sent    When = "sent"    // the command was handed to the network
	Replied When = "replied" // the reply has arrived, the client has not seen it yet
)

// Who restricts the clients of a Trigger by their relation to the client that the fault
// strikes.
type Who string

// Relations to the struck client.
const (
	Anyone Who = ""
	Other  Who = "other" // anyone but the struck client
	Same   Who = "same"  // the struck client itself
)

// Trigger is a point in the clients' protocol. It fires when the first of Clients gets
// there.
type Trigger struct {
	Clients []int  `json:"clients"`
	Who     Who    `json:"who,omitempty"`
	Step    string `json:"step"`
	Node    string `json:"node,omitempty"` // any node, if empty
	N       int    `json:"n,omitempty"`    // number of the command in the step; 0 = the step's beginning
	When    When   `json:"when,omitempty"`
	Skip    int    `json:"skip,omitempty"` // how often each client must pass the point before it counts
}

// Timing is when a fault begins and ends: it begins once At, After, Arm and Point are
// satisfied, in this order.
type Timing struct {
	At    time.Duration `json:"at,omitempty"`    // the fault does not begin earlier
	After int           `json:"after,omitempty"` // Window.ID of a fault that must have ended Delay ago
	Delay time.Duration `json:"delay,omitempty"`
	Arm   *Trigger      `json:"arm,omitempty"`   // must be reached before Point counts
	Point *Trigger      `json:"point,omitempty"` // begins the fault when reached; nil = at once
	// For is the fault's duration. If Until is set, the fault lasts at least For. It then ends
	// Linger after a client reaches Until. If no client does, it ends Limit after its beginning.
	For    time.Duration `json:"for,omitempty"`
	Until  *Trigger      `json:"until,omitempty"`
	Linger time.Duration `json:"linger,omitempty"`
	Limit  time.Duration `json:"limit,omitempty"`
}
