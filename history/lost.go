package history

import (
	"fmt"
	"strings"
)

// Durability is what a node keeps when it is killed and restarted.
type Durability string

// Durabilities, after redis.conf's appendfsync.
const (
	Volatile Durability = "volatile" // nothing
	EverySec Durability = "everysec" // loses up to the last second
	Always   Durability = "always"   // loses nothing acknowledged
)

// Lost is what a restarted node has lost.
type Lost struct {
	Durability Durability `json:"durability,omitempty"`
	Keys       bool       `json:"keys,omitempty"`    // all of them
	Writes     int        `json:"writes,omitempty"`  // of the last second, that were acknowledged
	Scripts    bool       `json:"scripts,omitempty"` // its script cache
	// Commands are the lost writes, if known.
	Commands []Bytes `json:"commands,omitempty"`
}

// Data says whether any key or write was lost.
func (l *Lost) Data() bool { return l != nil && (l.Keys || l.Writes > 0) }

// String names what was lost: "all keys and its script cache"; "" for nothing.
func (l *Lost) String() string {
	if l == nil {
		return ""
	}
	var all []string
	switch {
	case l.Keys:
		all = append(all, "all keys")
	case l.Writes == 1:
		all = append(all, "1 write of the last second")
	case l.Writes > 1:
		all = append(all, fmt.Sprintf("%d writes of the last second", l.Writes))
	}
	if l.Scripts {
		all = append(all, "its script cache")
	}
	text := strings.Join(all, " and ")
	if len(l.Commands) > 0 {
		commands := make([]string, len(l.Commands))
		for i, c := range l.Commands {
			commands[i] = string(c)
		}
		text += " (" + strings.Join(commands, ", ") + ")"
	}
	return text
}
