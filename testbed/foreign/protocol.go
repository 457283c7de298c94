package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/locks"
)

// Abilities are what a child says that its lock can do, in its first line.
type Abilities struct {
	Extend    bool `json:"extend,omitempty"`
	Until     bool `json:"until,omitempty"`
	Fence     bool `json:"fence,omitempty"`
	Readers   bool `json:"readers,omitempty"`
	Reentrant bool `json:"reentrant,omitempty"`
	Blocking  bool `json:"blocking,omitempty"`
	// Independent: the lock needs a majority of several nodes that know nothing of each other.
	Independent bool `json:"independent,omitempty"`
}

// request is a line to the child.
type request struct {
	ID     int64  `json:"id,omitempty"`
	Do     string `json:"do,omitempty"` // acquire, release or extend
	Key    string `json:"key,omitempty"`
	TTL    int64  `json:"ttl,omitempty"` // in milliseconds
	Mode   string `json:"mode,omitempty"`
	Lease  int64  `json:"lease,omitempty"`  // the ID of the acquire that granted the lease
	Cancel int64  `json:"cancel,omitempty"` // nothing else is set
}

// message is a line of the child: exactly one of ready, lost and answer.
type message struct {
	ready  *Abilities
	lost   int64
	answer answer
}

type answer struct {
	ID    int64  `json:"id"`
	Error string `json:"error"`
	Token string `json:"token"`
	Fence int64  `json:"fence"`
	Until int64  `json:"until"` // how long the lease still lasts, in milliseconds; 0 = not told
}

// lineLimit is the maximum length of a line of the child, in bytes.
const lineLimit = 1 << 20

// parse reads a line of the child. The error says what is wrong with the line.
func parse(line []byte) (message, error) {
	var kind struct {
		Ready *bool  `json:"ready"`
		Lost  *int64 `json:"lost"`
		ID    *int64 `json:"id"`
	}
	if err := json.Unmarshal(line, &kind); err != nil || !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return message{}, fmt.Errorf("the client wrote %s: expected one JSON object a line", excerpt(line))
	}
	var m message
	var err error
	switch {
	case kind.Ready != nil && *kind.Ready:
		m.ready = new(Abilities)
		err = json.Unmarshal(line, m.ready)
	case kind.Lost != nil:
		m.lost = *kind.Lost
	case kind.ID != nil:
		err = json.Unmarshal(line, &m.answer)
	default:
		err = errors.New("expected ready, id or lost")
	}
	if err != nil {
		return message{}, fmt.Errorf("the client wrote %s: %w", excerpt(line), err)
	}
	return m, nil
}

// excerpt quotes the beginning of a text.
func excerpt(text []byte) string {
	if len(text) > 200 {
		return fmt.Sprintf("%.200q…", text)
	}
	return fmt.Sprintf("%q", text)
}

// outcome returns the answer's error: certain for three words, unknown for any other text.
func (a answer) outcome() error {
	switch a.Error {
	case "":
		return nil
	case "busy":
		return locks.ErrBusy
	case "refused":
		return locks.ErrRefused
	case "not-held":
		return locks.ErrNotHeld
	}
	return errors.New(a.Error)
}
