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

// KeyChange is one change of one key on one node, as observed there, never inferred
// from a command's expected effect.
//
// The changes of one key on one node form a chain: Before of each is After of the
// previous one, and before the first the key was absent. A replica's keys are not
// recorded while it serves no clients: what it has when it begins to serve is a change
// by ByPromotion.
type KeyChange struct {
	// Index is the change's place in the log, from 0. On one node it is the order
	// in which changes happened; Exec is the order with respect to commands.
	Index int    `json:"index"`
	Node  string `json:"node"`
	Key   Bytes  `json:"key"`
	// By is what changed the key.
	By ChangedBy `json:"by"`
	// Exec is the Command.Exec of the command that changed it, if By is ByCommand; for
	// a transaction, of its EXEC. Otherwise it is that of the last command that the
	// node had executed before; 0 for none.
	Exec int `json:"exec,omitempty"`
	// From and To bound the instant on the history's clock. They are equal if it is
	// known exactly.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Before and After are what the node had under the key; nil = nothing.
	Before *KeyContent `json:"before,omitempty"`
	After  *KeyContent `json:"after,omitempty"`
}

// ChangedBy says what changed a key.
type ChangedBy string

// What can change a key.
const (
	ByCommand     ChangedBy = "command"     // a client's command, a script or transaction as a whole
	ByExpiry      ChangedBy = "expiry"      // the end of its life, when the node took the key away
	ByEviction    ChangedBy = "eviction"    // the node, short of memory
	ByRestart     ChangedBy = "restart"     // the node came back with what it had kept
	ByPromotion   ChangedBy = "promotion"   // the node began to serve clients with what it had as a replica
	ByReplication ChangedBy = "replication" // the node became a replica and took its primary's data
	ByMigration   ChangedBy = "migration"   // the key's slot moved to the node, or away
	ByClock       ChangedBy = "clock"       // the node's wall clock was set: only the end of the life moved
	ByStranger    ChangedBy = "stranger"    // a client from outside the trial
	// ByUnknown: a change was seen, but not its cause: a command from Exec on, or the
	// key's expiry.
	ByUnknown ChangedBy = "unknown"
)

// causesOfChange are all of them.
var causesOfChange = []ChangedBy{
	ByCommand, ByExpiry, ByEviction, ByRestart, ByPromotion, ByReplication, ByMigration, ByClock, ByStranger, ByUnknown,
}

// KeyContent is what a node has under one key.
type KeyContent struct {
	Type string `json:"type"` // as Redis TYPE says
	// Value is a string's value. If it is longer than MaxValue bytes: its beginning,
	// then the length and a digest of the whole. The same holds for fields and members.
	Value Bytes `json:"value,omitempty"`
	// Fields are a hash's fields, or a sorted set's members with their scores, as Redis
	// writes them, as values; sorted by name.
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

// MaxValue is how many bytes of a value, field or member are kept.
const MaxValue = 4096

// Canonical converts a content to the form for comparing and storing: fields and a
// set's members sorted, values, fields and members of more than MaxValue bytes cut. It
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

// cut shortens what is longer than MaxValue: to its beginning, its length and its
// digest. Text stays text.
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

// Same says whether both contents, expiry included, are equal; nil is absence.
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

// AppendJSON appends what json.Marshal makes of the change, as Op.AppendJSON.
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
