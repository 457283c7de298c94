package history

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Window describes one fault: on the invoke entry the intention, on the closing info
// entry also what it hit. It is only data: the display makes sentences of it.
type Window struct {
	Fault string `json:"fault"`
	ID    int    `json:"id"` // the number of the action in the trial's plan
	// Effect is the fault's effect on its targets.
	Effect FaultEffect `json:"effect,omitempty"`
	// Clients, Nodes and Links are the targets. A fault of links strikes neither the
	// links' clients nor their nodes.
	Clients []int    `json:"clients,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Links   []Link   `json:"links,omitempty"`
	// Planned is its planned beginning and end; nil if unknown.
	Planned *Timing `json:"planned,omitempty"`
	// Hits counts what the fault demonstrably affected: commands held,
	// dropped or refused, connections cut, seconds lost. 0 on the closing
	// entry means that the fault did not bite.
	Hits int `json:"hits"`
	// Impact is how it struck, on the closing entry; nil if its trigger did not come.
	Impact *Impact `json:"impact,omitempty"`
}

// FaultEffect is what a fault does to clients, nodes or links.
type FaultEffect string

// Effects of faults.
const (
	Cut       FaultEffect = "cut"        // links drop what is sent over them
	ReplyLost FaultEffect = "reply-lost" // links drop the reply to a command that ran
	Delayed   FaultEffect = "delayed"    // links deliver late
	Reset     FaultEffect = "reset"      // connections break
	Paused    FaultEffect = "paused"     // clients or nodes stand still, and go on
	Crashed   FaultEffect = "crashed"    // clients stop for ever
	Restarted FaultEffect = "restarted"  // nodes are killed and come back
	Promoted  FaultEffect = "promoted"   // a replica that is behind takes the primary's place
	Parted    FaultEffect = "parted"     // a second primary serves some clients
	ClockSet  FaultEffect = "clock-set"  // wall clocks of clients or nodes are wrong
	Flushed   FaultEffect = "flushed"    // nodes forget their scripts
	Evicted   FaultEffect = "evicted"    // nodes throw keys away
	SlotMoved FaultEffect = "slot-moved" // keys go to another node of a cluster
)

// Direction of a link.
type Direction string

// Directions, as toxiproxy names them.
const (
	Upstream   Direction = "upstream"   // requests: client to node, replica to primary
	Downstream Direction = "downstream" // replies: node to client, primary to replica
	Both       Direction = "both"
)

// Link is a pair of ends between which packets travel, as the target of a fault: "c0"
// and "n0" for a client and a node, "n1" and "n0" for a replica and its primary.
type Link struct {
	From      string    `json:"from"`
	To        string    `json:"to"`
	Direction Direction `json:"direction,omitempty"` // "" = both
	Conn      int       `json:"conn,omitempty"`      // one connection only, as Command.Conn; 0 = all
}

// String is the link as it is drawn: "c0→n0", "c0←n0", "c0↔n0".
func (l Link) String() string {
	switch l.Direction {
	case Upstream:
		return l.From + "→" + l.To
	case Downstream:
		return l.From + "←" + l.To
	}
	return l.From + "↔" + l.To
}

// Client is the client at the link's end; false for a link between servers.
func (l Link) Client() (int, bool) {
	number, ok := strings.CutPrefix(l.From, "c")
	c, err := strconv.Atoi(number)
	return c, ok && err == nil
}

// ClientName is how a client is called: "c0".
func ClientName(client int) string { return "c" + strconv.Itoa(client) }

// Target names what the window strikes: "c0 c2 n1", "c0→n0".
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

// When says on which side of a command a place in a protocol lies.
type When string

// Sides of a command.
const (
	Before  When = "before"  // the client is about to send it
	Sent    When = "sent"    // handed to the network
	Replied When = "replied" // the reply has arrived, the client has not seen it yet
)

// Who restricts the clients of a Trigger by their relation to the struck one.
type Who string

// Relations to the struck client.
const (
	Anyone Who = ""
	Other  Who = "other" // anyone but the struck client
	Same   Who = "same"  // the struck client itself
)

// Trigger is a place in a protocol: the first of these clients to get there sets it off.
type Trigger struct {
	Clients []int  `json:"clients"`
	Who     Who    `json:"who,omitempty"`
	Step    string `json:"step"`
	Node    string `json:"node,omitempty"` // any, if empty
	N       int    `json:"n,omitempty"`    // number of the command in the step; 0 = the step's beginning
	When    When   `json:"when,omitempty"`
	Skip    int    `json:"skip,omitempty"` // times that each client first passes unharmed
}

// Timing is when a fault begins and ends: it begins once At, After, Arm and Point are
// satisfied, in this order.
type Timing struct {
	At    time.Duration `json:"at,omitempty"`    // not before
	After int           `json:"after,omitempty"` // Window.ID of one that must have ended Delay ago
	Delay time.Duration `json:"delay,omitempty"`
	Arm   *Trigger      `json:"arm,omitempty"`   // must be passed before Point counts
	Point *Trigger      `json:"point,omitempty"` // nil = at once
	// For is how long it lasts, with Until at least that long; then Until ends it, or
	// Limit if Until is not reached. After Until it lasts for Linger more.
	For    time.Duration `json:"for,omitempty"`
	Until  *Trigger      `json:"until,omitempty"`
	Linger time.Duration `json:"linger,omitempty"`
	Limit  time.Duration `json:"limit,omitempty"`
}

// errProse refuses the sentences that earlier versions wrote instead of data.
var errProse = errors.New("window.planned is a sentence: an earlier version wrote this history; lockstorm replay runs its trial again")

// UnmarshalJSON refuses sentences from earlier versions.
func (t *Timing) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return errProse
	}
	type plain Timing
	return json.Unmarshal(b, (*plain)(t))
}
