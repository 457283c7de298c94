package history

import (
	"fmt"
	"strings"
)

// Durability is what a node keeps when it is killed and restarted.
type Durability string

// Durabilities, after redis.conf's appendfsync.
const (
	Volatile Durability = "volatile" // keeps nothing
	EverySec Durability = "everysec" // loses up to the last second
	Always   Durability = "always"   // loses nothing acknowledged
)

// Lost is what a restarted node has lost.
type Lost struct {
	Durability Durability `json:"durability,omitempty"`
	Keys       bool       `json:"keys,omitempty"`    // all keys were lost
	Writes     int        `json:"writes,omitempty"`  // acknowledged writes of the last second that were lost
	Scripts    bool       `json:"scripts,omitempty"` // the script cache was lost
	// Commands are the lost writes, if known.
	Commands []Bytes `json:"commands,omitempty"`
}

// Data reports whether any key or write was lost.
func (l *Lost) Data() bool { return l != nil && (l.Keys || l.Writes > 0) }

// String returns, for example, "all keys and its script cache"; "" if nothing was lost.
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
