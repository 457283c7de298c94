package history

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"
)

// KeyChange is one change of one key on one node, as observed there. It is never inferred from a
// command's expected effect.
//
// The changes of one key on one node form a chain: each Before is the previous After, and the first
// Before is nil. A replica's keys are not recorded while it serves no clients; when it begins to
// serve, ByPromotion changes record them.
type KeyChange struct {
	// Index is the change's place in the log, from 0. On one node, Index is the order in which
	// changes happened; Exec orders them among the commands.
	Index int    `json:"index"`
	Node  string `json:"node"`
	Key   Bytes  `json:"key"`
	// By is the cause of the change.
	By ChangedBy `json:"by"`
	// If By is ByCommand, Exec is the Command.Exec of the command that changed the key (for a
	// transaction, of its EXEC). Otherwise it is the Exec of the last command that the node
	// executed before the change; 0 = none.
	Exec int `json:"exec,omitempty"`
	// From and To bound the time of the change on the history's clock. They are equal if
	// the time is known exactly.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Before and After are the key's contents on the node; nil = the key is absent.
	Before *KeyContent `json:"before,omitempty"`
	After  *KeyContent `json:"after,omitempty"`
}

// ChangedBy is the cause of a key's change.
type ChangedBy string

// Causes of changes.
const (
	ByCommand     ChangedBy = "command"     // a client's command; a script or a transaction counts as one
	ByExpiry      ChangedBy = "expiry"      // the node removed the key because its TTL was over
	ByEviction    ChangedBy = "eviction"    // the node evicted the key for lack of memory
	ByRestart     ChangedBy = "restart"     // the node restarted with the data that it had kept
	ByPromotion   ChangedBy = "promotion"   // the node began to serve clients with the data that it had as a replica
	ByReplication ChangedBy = "replication" // the node became a replica and took its primary's data
	ByMigration   ChangedBy = "migration"   // the key's slot moved to the node, or away
	ByClock       ChangedBy = "clock"       // the node's wall clock was set: only the key's expiry moved
	ByStranger    ChangedBy = "stranger"    // a client from outside the trial
	// ByUnknown: the change was observed, but its cause was not. The cause is a command with the
	// change's Exec or a later one, or the key's expiry.
	ByUnknown ChangedBy = "unknown"
)

var causesOfChange = []ChangedBy{
	ByCommand, ByExpiry, ByEviction, ByRestart, ByPromotion, ByReplication, ByMigration, ByClock, ByStranger, ByUnknown,
}

// KeyContent is the content of one key on one node.
type KeyContent struct {
	Type string `json:"type"` // as Redis TYPE says
	// Value is a string's value. A value longer than MaxValue bytes is replaced by its
	// beginning, its length and a digest; so are long fields and members.
	Value Bytes `json:"value,omitempty"`
	// Fields are a hash's fields, or a sorted set's members with their scores (as Redis writes
	// them) as values; sorted by name.
	Fields []Field `json:"fields,omitempty"`
	// Members are a set's members, sorted, or a list's elements in their order.
	Members []Bytes `json:"members,omitempty"`
	// Expires is when the key expires, on the history's clock, if the node's wall clock
	// runs on unchanged; 0 for a key without an expiry, otherwise greater than 0. It is
	// the value of PEXPIRETIME: Redis keeps the key through that millisecond.
	Expires time.Duration `json:"expires,omitempty"`
}

// Field is one field of a hash, or one member of a sorted set.
type Field struct {
	Name  Bytes `json:"name"`
	Value Bytes `json:"value"`
}

// MaxValue is the maximum number of bytes kept of a value, field or member.
const MaxValue = 4096

// Canonical converts a content to the form for comparing and storing: fields and a
// set's members sorted; values, fields and members of more than MaxValue bytes cut. It
// changes k, and must not be called twice.
func (k *KeyContent) Canonical() {
	k.Value = cut(k.Value)
	for i, f := range k.Fields {
		k.Fields[i] = Field{Name: cut(f.Name), Value: cut(f.Value)}
	}
	for i, m := range k.Members {
		k.Members[i] = cut(m)
	}
	slices.SortFunc(k.Fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	if k.Type == "set" {
		slices.Sort(k.Members)
	}
}

// cut shortens a value of more than MaxValue bytes to its beginning, length and digest.
// Valid UTF-8 stays valid.
func cut(v Bytes) Bytes {
	if len(v) <= MaxValue {
		return v
	}
	end := MaxValue
	for utf8.ValidString(string(v)) && !utf8.RuneStart(v[end]) {
		end--
	}
	return v[:end] + Bytes(fmt.Sprintf("… %d bytes, SHA-256 %x", len(v), sha256.Sum256([]byte(v))))
}

// Same reports whether both contents are equal, expiry included; nil = the key is absent.
func (k *KeyContent) Same(other *KeyContent) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Expires == other.Expires && k.SameValue(other)
}

// SameValue is Same without the expiry.
func (k *KeyContent) SameValue(other *KeyContent) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Type == other.Type && k.Value == other.Value &&
		slices.Equal(k.Fields, other.Fields) && slices.Equal(k.Members, other.Members)
}

// AppendJSON appends the same JSON as json.Marshal, but faster, as Op.AppendJSON does.
func (c *KeyChange) AppendJSON(b []byte) []byte {
	b = appendInt(append(b, `{"index":`...), c.Index)
	b = appendString(append(b, `,"node":`...), c.Node)
	b = c.Key.appendJSON(append(b, `,"key":`...))
	b = appendString(append(b, `,"by":`...), c.By)
	b = appendNumber(b, `,"exec":`, c.Exec)
	b = appendInt(append(b, `,"from":`...), c.From)
	b = appendInt(append(b, `,"to":`...), c.To)
	if c.Before != nil {
		b = c.Before.appendJSON(append(b, `,"before":`...))
	}
	if c.After != nil {
		b = c.After.appendJSON(append(b, `,"after":`...))
	}
	return append(b, '}')
}

func (k *KeyContent) appendJSON(b []byte) []byte {
	b = appendString(append(b, `{"type":`...), k.Type)
	if k.Value != "" {
		b = k.Value.appendJSON(append(b, `,"value":`...))
	}
	for i, f := range k.Fields {
		if i == 0 {
			b = append(b, `,"fields":[`...)
		} else {
			b = append(b, ',')
		}
		b = f.Name.appendJSON(append(b, `{"name":`...))
		b = append(f.Value.appendJSON(append(b, `,"value":`...)), '}')
	}
	if len(k.Fields) > 0 {
		b = append(b, ']')
	}
	for i, m := range k.Members {
		if i == 0 {
			b = append(b, `,"members":[`...)
		} else {
			b = append(b, ',')
		}
		b = m.appendJSON(b)
	}
	if len(k.Members) > 0 {
		b = append(b, ']')
	}
	b = appendNumber(b, `,"expires":`, k.Expires)
	return append(b, '}')
}

// ReadKeyChanges reads a log of key changes from JSON Lines, as ReadOps does, in
// order of Index.
func ReadKeyChanges(r io.Reader, name string) (changes []KeyChange, truncated error, err error) {
	truncated, err = ReadLines(r, name, func(c KeyChange) error {
		switch {
		case c.Node == "":
			return errors.New("node is missing")
		case !slices.Contains(causesOfChange, c.By):
			return fmt.Errorf("by is %q, expected one of %v", c.By, causesOfChange)
		case c.From > c.To:
			return fmt.Errorf("from %d is after to %d", c.From, c.To)
		}
		changes = append(changes, c)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	SortKeyChanges(changes)
	return changes, truncated, nil
}

// SortKeyChanges orders a log of key changes by Index.
func SortKeyChanges(changes []KeyChange) {
	slices.SortStableFunc(changes, func(a, b KeyChange) int { return cmp.Compare(a.Index, b.Index) })
}
