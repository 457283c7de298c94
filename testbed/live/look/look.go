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

// Limits of one look. The harness looks after every command, and looks at more data would take too
// long.
const (
	// MaxKeys bounds the keys of a node.
	MaxKeys = 1000
	// MaxRead bounds the bytes of a string. MaxElements bounds the elements of a collection.
	MaxRead     = 1 << 20
	MaxElements = 1000
	// maxReply bounds the bytes of all replies to one look.
	maxReply = 16 << 20
)

// Errors of a look.
var (
	// ErrRefused: the node refuses a command of the look; later looks will fail, too.
	ErrRefused = errors.New("the node refuses to be looked at")
	// ErrTooLarge: the node's data exceeds the limits of a look, or a key has a type that a look
	// cannot read.
	ErrTooLarge = errors.New("too much to look at after every command")
	// ErrNotNow: the node does not answer commands about keys now, but may later.
	ErrNotNow = errors.New("the node cannot be looked at now")
)

// Options describe the node.
type Options struct {
	// Roles: the node may be a replica, or become one, whose keys are not to be read. Without Roles, keys of
	// a replica are read, too.
	Roles bool
	// Cluster: the node belongs to a Redis Cluster.
	Cluster bool
	// Names returns the keys to look at; nil = all keys of the node.
	Names func() []string
}

// Looker looks at a node over one connection. Its methods must not be called concurrently,
// except Close.
type Looker struct {
	Options
	conn   net.Conn
	in     *bufio.Reader
	out    []byte
	ends   string            // the command that reads a key's expiry
	kinds  map[string]string // last known types of keys
	asking map[string]bool   // keys of slots that the node is importing
}

// Key is the state of one key at the time of a look.
type Key struct {
	// Ends is the key's expiry in milliseconds of the node's wall clock; 0 = none. The key
	// is gone after that millisecond.
	Ends int64
	// Content is the type and value, without the expiry.
	Content *history.KeyContent
}

// Result holds the keys that a look read, and when the look began and ended.
type Result struct {
	// Time is the node's wall clock at the look, since 1970.
	Time time.Duration
	// Sent and Got are when the look's last round began and ended, by Look's clock.
	Sent, Got time.Duration
	// Replica: the node is a replica. Its keys were not read.
	Replica bool
	Keys    map[string]Key
}

// New returns a Looker over a connection that is ready for commands. The Looker owns the connection
// and obeys its deadline. If New fails, it closes the connection.
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

// begin keeps the Looker's reads from counting as use of a key, if the node can, and finds out
// whether the node knows PEXPIRETIME.
func (l *Looker) begin() error {
	// NO-TOUCH exists since Redis 7.2. l.ends gets no key: this only tests whether the node knows the command.
	commands := [][]string{{"CLIENT", "NO-TOUCH", "ON"}, {l.ends}}
	if l.Cluster && !l.Roles {
		commands = append(commands, []string{"READONLY"}) // makes a replica answer
	}
	answers, err := l.talk(commands)
	if err != nil {
		return err
	}
	// PEXPIRETIME exists since Redis 7.0. On older nodes, the Looker computes the expiry from PTTL.
	if answers[1].unknownCommand() {
		l.ends = "PTTL"
	}
	return nil
}

// Close ends the connection. A look that is under way fails.
func (l *Looker) Close() error { return l.conn.Close() }

// SetDeadline sets the connection's deadline.
func (l *Looker) SetDeadline(t time.Time) error { return l.conn.SetDeadline(t) }

// Reckons reports whether expiries are computed from PTTL, because the node lacks or
// refuses PEXPIRETIME.
func (l *Looker) Reckons() bool { return l.ends == "PTTL" }

// attempts bounds the rounds of one look: Look repeats rounds until an answer is complete. Normally
// nobody changes the node's keys between two rounds.
const attempts = 6

// Look reads all keys of the node or, if Options.Names is set, only the keys that Names returns.
// Without Names, likely are keys that the node may have; a good guess saves a second round trip.
// clock gives the times Sent and Got.
func (l *Looker) Look(likely []string, clock func() time.Duration) (Result, error) {
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
			return Result{}, err
		}
		r.Sent, r.Got = sent, clock()
		if r.Replica {
			return Result{Time: r.Time, Sent: r.Sent, Got: r.Got, Replica: true}, nil
		}
		if r.whole(asked, l.Names == nil, list) {
			l.remember(r.Keys)
			return r.Result, nil
		}
		if size := max(r.size, len(asked)); size > MaxKeys {
			return Result{}, fmt.Errorf("%w: %d keys, expected %d at most", ErrTooLarge, size, MaxKeys)
		}
		list = l.Names == nil
		l.learn(asked, r)
	}
	return Result{}, fmt.Errorf("%w: its keys change all the time", ErrNotNow)
}

// without switches to PTTL if the node refuses PEXPIRETIME, because ACLs may permit only PTTL. It
// reports whether it has switched.
func (l *Looker) without(err error) bool {
	var of commandError
	if l.Reckons() || !errors.Is(err, ErrRefused) || !errors.As(err, &of) || of.command != l.ends {
		return false
	}
	l.ends = "PTTL"
	return true
}

// question says how to read one key.
type question struct {
	as    string // the type to read the key as
	typed bool   // also ask for the key's type
}

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

// remember stores the types of the keys, for a bounded number of keys. It forgets imported
// keys that are gone.
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
	Result
	size      int               // number of keys on the whole node
	listed    []string          // all keys of the node, if asked for
	kinds     map[string]string // keys to read again, with their type; "" = ask for the type
	elsewhere map[string]bool   // keys that the node redirects to other nodes
}

// whole reports whether the answer is complete. all: the look is at all keys of the node, not only at
// the keys asked about. list: the round asked for the names of all keys, too.
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

// round asks the node once, in a transaction, so that all answers are of one instant. A node of a
// cluster refuses transactions over several slots: it gets a pipeline instead.
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
		Result: Result{Keys: map[string]Key{}}, kinds: map[string]string{}, elsewhere: map[string]bool{},
	}}
	return r.read(l, keys, asked, list)
}

// all makes the node execute commands in a transaction or, in a cluster, in a pipeline.
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

// about returns the commands that read one key. The expiry comes last: if the answer about the expiry
// says that the key does not exist, the earlier answers do not count.
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
