package history

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Command is one Redis command as observed at the gate (the client's end of the
// connection) and, where the testbed can observe it, at the node. All times are on the
// history's clock; 0 means not observed (no command has the time 0).
type Command struct {
	// Index is the command's place in the log, ordered by Sent, from 0.
	Index  int    `json:"index"`
	Client int    `json:"client"`
	Node   string `json:"node"` // the node that served the command, "n0", "n1", …; after a failover the promoted node
	Conn   int    `json:"conn"` // number of the connection on its link, from 1
	// Phase is the client's step when the command was sent: "acquire", "hold",
	// "release", …. N is the command's number in that phase on this node, from 1; 0 for
	// handshakes and PING, which do not count.
	Phase string `json:"phase,omitempty"`
	N     int    `json:"n,omitempty"`
	// Op is the index of the client's open invocation when the command was sent, -1 if
	// there was none (a watchdog's command while the lock is held, say).
	Op   int     `json:"op"`
	Args []Bytes `json:"args"`

	Sent    time.Duration `json:"sent"`              // the client handed the command to the connection
	Arrived time.Duration `json:"arrived,omitempty"` // the command was handed to the node
	Served  time.Duration `json:"served,omitempty"`  // the node's reply was read at the node
	Replied time.Duration `json:"replied,omitempty"` // the reply reached the client
	// Exec is the command's place in the node's order of execution, from 1: of two commands of one
	// node, the one with the smaller Exec ran first. Exec is 0 if the command's arrival at the node
	// was not observed.
	Exec int `json:"exec,omitempty"`
	// Reply is the node's reply in a compact form: `OK`, `nil`, `1`, `"text"`
	// for bulk strings, `ERR …` for errors, `[a b]` for arrays; empty if none
	// was seen.
	Reply Bytes `json:"reply,omitempty"`
}

// Ran reports whether the command certainly ran on its node.
func (c Command) Ran() bool { return c.Served > 0 }

// Failed reports whether the node replied with an error, which begins with its kind in
// capitals ("READONLY You can't …"). A failed command did nothing, but a failed script
// may have stopped halfway.
func (c Command) Failed() bool {
	kind, rest, found := strings.Cut(strings.TrimPrefix(string(c.Reply), "-"), " ")
	return found && rest != "" && kind != "" && strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// Script returns the SHA-1 of the source of the command's script, in lower-case hex. EVALSHA names
// the SHA-1; EVAL carries the source.
func (c Command) Script() (sha string, ok bool) {
	if len(c.Args) < 2 {
		return "", false
	}
	switch strings.ToUpper(string(c.Args[0])) {
	case "EVALSHA", "EVALSHA_RO":
		return strings.ToLower(string(c.Args[1])), true
	case "EVAL", "EVAL_RO":
		sum := sha1.Sum([]byte(c.Args[1]))
		return hex.EncodeToString(sum[:]), true
	}
	return "", false
}

// Bytes is a string that may hold any bytes. In JSON it is a string if it is
// valid UTF-8, else {"base64": …}.
type Bytes string

type encodedBytes struct {
	Base64 string `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(b)) {
		return json.Marshal(string(b))
	}
	return json.Marshal(encodedBytes{base64.StdEncoding.EncodeToString([]byte(b))})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*b = Bytes(s)
		return nil
	}
	var e encodedBytes
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(e.Base64)
	*b = Bytes(raw)
	return err
}
