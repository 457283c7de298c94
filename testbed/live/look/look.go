// Package look reads all keys of a Redis node at one instant, with their values and
// expiries, without changing them.
package look

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Limits of one look. A node with more cannot be looked at after every command.
const (
	// MaxKeys is how many keys a node may have.
	MaxKeys = 1000
	// MaxRead is how many bytes a string may have, MaxElements how many elements a
	// collection may have.
	MaxRead     = 1 << 20
	MaxElements = 1000
	// maxReply bounds the bytes of all replies to one look.
	maxReply = 16 << 20
)

// What keeps a node from being looked at.
var (
	// ErrRefused: the node refuses a command of the look, and will again.
	ErrRefused = errors.New("the node refuses to be looked at")
	// ErrTooLarge: a look would be too much for node and network.
	ErrTooLarge = errors.New("too much to look at after every command")
	// ErrNotNow: the node answers no commands about keys for now.
	ErrNotNow = errors.New("the node cannot be looked at now")
)

// Options say what the node is.
type Options struct {
	// Roles: it may be a replica, or become one.
	Roles bool
	// Cluster: it is a node of a Redis Cluster.
	Cluster bool
	// Names are the only keys that are looked at; nil = all that the node has.
	Names func() []string
}

// Looker looks at a node over one connection. It must not be used concurrently, except
// for Close.
type Looker struct {
	Options
	conn   net.Conn
	in     *bufio.Reader
	out    []byte
	ends   string            // the command that tells when a key's life ends
	kinds  map[string]string // last known types of keys
	asking map[string]bool   // keys of slots that the node is importing
}

// Key is what the node has under one key.
type Key struct {
	// Ends is the key's expiry in milliseconds of the node's wall clock; 0 = none. The
	// key is gone when that millisecond is over.
	Ends int64
	// Content is all but the expiry.
	Content *history.KeyContent
}

// Sight is what was seen.
type Sight struct {
	// Time is the node's wall clock, since 1970, when it was looked at.
	Time time.Duration
	// Sent and Got are when the look began and ended; Time is between them.
	Sent, Got time.Duration
	// Replica: the node is a replica. Then its keys are not read.
	Replica bool
	Keys    map[string]Key
}

// New returns a Looker over a connection that is ready for commands. The Looker owns the
// connection and obeys its deadline; New closes it after an error.
func New(conn net.Conn, o Options) (*Looker, error) {
	l := &Looker{
		Options: o, conn: conn, in: bufio.NewReader(conn), ends: "PEXPIRETIME",
		kinds: map[string]string{}, asking: map[string]bool{},
	}
	if err := l.begin(); err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

// begin finds out what the node understands.
func (l *Looker) begin() error {
	// Since 7.2: reading a key does not count as use.
	answers, err := l.talk([][]string{{"CLIENT", "NO-TOUCH", "ON"}, {l.ends}}) // without a key
	if err != nil {
		return err
	}
	// PEXPIRETIME exists since 7.0; before, the expiry is computed from PTTL.
	if answers[1].unknownCommand() {
		l.ends = "PTTL"
	}
	return nil
}

// Close ends the connection. A look that is under way fails.
func (l *Looker) Close() error { return l.conn.Close() }

// SetDeadline sets the connection's deadline.
func (l *Looker) SetDeadline(t time.Time) error { return l.conn.SetDeadline(t) }

// Reckons says whether expiries are computed from PTTL, because the node lacks or refuses
// PEXPIRETIME.
func (l *Looker) Reckons() bool { return l.ends == "PTTL" }

// attempts bounds how often the node is asked until an answer is complete: normally
// nobody changes the node meanwhile.
const attempts = 6

// Look reads all keys of the node. Likely are keys that it may have, to spare a second
// round trip. Clock gives Sent and Got.
func (l *Looker) Look(likely []string, clock func() time.Duration) (Sight, error) {
	if l.Names != nil {
		likely = l.Names()
	}
	asked := l.questions(likely)
	var list bool
	for range attempts {
		sent := clock()
		r, err := l.round(asked, list)
		if l.without(err) {
			continue
		}
		if err != nil {
			return Sight{}, err
		}
		r.Sent, r.Got = sent, clock()
		if r.Replica {
			return Sight{Time: r.Time, Sent: r.Sent, Got: r.Got, Replica: true}, nil
		}
		if r.whole(asked, l.Names == nil, list) {
			l.remember(r.Keys)
			return r.Sight, nil
		}
		if size := max(r.size, len(asked)); size > MaxKeys {
			return Sight{}, fmt.Errorf("%w: %d keys, expected %d at most", ErrTooLarge, size, MaxKeys)
		}
		list = l.Names == nil
		l.learn(asked, r)
	}
	return Sight{}, fmt.Errorf("%w: its keys change all the time", ErrNotNow)
}

// without switches to PTTL, which more users may call, if the node refuses only
// PEXPIRETIME. It says whether it has switched.
func (l *Looker) without(err error) bool {
	var of commandError
	if l.Reckons() || !errors.Is(err, ErrRefused) || !errors.As(err, &of) || of.command != l.ends {
		return false
	}
	l.ends = "PTTL"
	return true
}

// question is what is asked of one key.
type question struct {
	as    string // the type that it is read as
	typed bool   // its type is asked for as well
}

// questions about the keys that the node is likely to have.
func (l *Looker) questions(likely []string) map[string]question {
	asked := make(map[string]question, len(likely))
	for _, key := range likely {
		if kind := l.kinds[key]; kind != "" {
			asked[key] = question{as: kind}
		} else {
			asked[key] = question{as: "string", typed: true}
		}
	}
	return asked
}

// learn corrects and extends the questions after an incomplete answer.
func (l *Looker) learn(asked map[string]question, r *round) {
	for key, kind := range r.kinds {
		if kind == "" {
			asked[key] = question{as: "string", typed: true}
		} else {
			asked[key] = question{as: kind}
		}
	}
	for _, key := range r.listed {
		if r.elsewhere[key] {
			l.asking[key] = true
		}
		if _, ok := asked[key]; !ok {
			asked[key] = question{as: "string", typed: true}
		}
	}
}

// remember keeps the types of seen keys, for a bounded number of keys.
func (l *Looker) remember(keys map[string]Key) {
	if len(l.kinds) > 2*MaxKeys {
		clear(l.kinds)
	}
	for key, k := range keys {
		l.kinds[key] = k.Content.Type
	}
	for key := range l.asking {
		if _, ok := keys[key]; !ok {
			delete(l.asking, key)
		}
	}
}

// round is the answer to one round trip.
type round struct {
	Sight
	size      int               // number of keys of the whole node
	listed    []string          // all its keys, if they were asked for
	kinds     map[string]string // keys that have to be read as another type; "" = it is to be asked for
	elsewhere map[string]bool   // keys that the node says others have
}

// whole says whether the answer is complete.
func (r *round) whole(asked map[string]question, all, list bool) bool {
	if len(r.kinds) > 0 || !all {
		return len(r.kinds) == 0
	}
	if !list {
		return r.size == len(r.Keys)
	}
	for _, key := range r.listed {
		if _, ok := asked[key]; !ok || r.elsewhere[key] {
			return false
		}
	}
	return true
}

// round asks the node once, in a transaction, so that all answers are of one instant. A
// Cluster's node refuses transactions over several slots; it gets the commands as one
// pipeline and executes them one after the other.
func (l *Looker) round(asked map[string]question, list bool) (*round, error) {
	keys := slices.Sorted(maps.Keys(asked))
	commands := [][]string{{"TIME"}}
	if l.Roles {
		commands = append(commands, []string{"ROLE"})
	}
	for _, key := range keys {
		commands = append(commands, l.about(key, asked[key])...)
	}
	if l.Names == nil {
		commands = append(commands, []string{"DBSIZE"})
	}
	if list {
		commands = append(commands, []string{"KEYS", "*"})
	}
	answers, err := l.all(commands)
	if err != nil {
		return nil, err
	}
	r := &reading{answers: answers, commands: commands, round: round{
		Sight: Sight{Keys: map[string]Key{}}, kinds: map[string]string{}, elsewhere: map[string]bool{},
	}}
	return r.read(l, keys, asked, list)
}

// all has the node execute commands at one instant, if it can.
func (l *Looker) all(commands [][]string) ([]answer, error) {
	if l.Cluster {
		return l.talk(commands)
	}
	answers, err := l.talk(slices.Concat([][]string{{"MULTI"}}, commands, [][]string{{"EXEC"}}))
	if err != nil {
		return nil, err
	}
	for i, a := range answers[:len(answers)-1] {
		if err := a.problem(); err != nil {
			name := "MULTI"
			if i > 0 {
				name = commands[i-1][0]
			}
			return nil, commandError{name, err}
		}
	}
	did := answers[len(answers)-1]
	if err := did.problem(); err != nil {
		return nil, commandError{"EXEC", err}
	}
	if len(did.list) != len(commands) {
		return nil, fmt.Errorf("EXEC: %w: %d answers to %d commands", ErrNotNow, len(did.list), len(commands))
	}
	return did.list, nil
}

// about returns the commands that read one key. The expiry comes last: if it says that
// there is no key, earlier answers do not count.
func (l *Looker) about(key string, q question) [][]string {
	var commands [][]string
	ask := func(args ...string) {
		if l.asking[key] {
			commands = append(commands, []string{"ASKING"})
		}
		commands = append(commands, args)
	}
	if q.typed {
		ask("TYPE", key)
	}
	ask(readers[q.as].command(key)...)
	ask(l.ends, key)
	return commands
}
