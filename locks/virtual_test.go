package locks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// virtualNode is a node without a connection, on the clock of a synctest bubble. It answers GET,
// EXPIRE, SET (always as with NX) and the scripts compare-and-expire, compare-and-delete, redisson-enter
// without re-entry, and redisson-renew. Any other command fails with errNotVirtual.
type virtualNode struct {
	start time.Time
	// slow returns how long a command takes; nil = no time. fails returns a command's error; nil =
	// no error (see failing).
	slow func(name, key string) time.Duration

	mu    sync.Mutex
	fails func(name, key string) error
	keys  map[string]virtualKey
	ran   []virtualCommand
}

type virtualKey struct {
	value string
	until time.Time
}

// virtualCommand is a command or a script that ran: its name, its key, the time since the node's start,
// and its reply.
type virtualCommand struct {
	name, key string
	at        time.Duration
	reply     any
}

// failing sets the error of the commands from now on.
func (n *virtualNode) failing(fails func(name, key string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = fails
}

func newVirtualNode() *virtualNode {
	return &virtualNode{start: time.Now(), keys: map[string]virtualKey{}}
}

// virtualClient returns client process "c0" on the virtual node.
func virtualClient(t *testing.T, n *virtualNode) *Client {
	node := connect("127.0.0.1:0") // never dialled
	t.Cleanup(func() { _ = node.Close() })
	node.AddHook(hook(func(cmd redis.Cmder, _ func() error) error {
		err := n.answer(cmd.(*redis.Cmd))
		if errors.Is(err, errNotVirtual) {
			t.Error(err) // reported here, since the recipe may treat it as a lost connection
		}
		return err
	}))
	return &Client{ID: "c0", Nodes: []Node{node}, Now: time.Now, Rand: rand.Reader, Context: t.Context()}
}

var errNotVirtual = errors.New("the virtual node does not know this command")

func (n *virtualNode) answer(cmd *redis.Cmd) error {
	args := make([]string, len(cmd.Args()))
	for i, a := range cmd.Args() {
		args[i] = fmt.Sprint(a)
	}
	name, key := strings.ToUpper(args[0]), args[1]
	if name == "EVALSHA" {
		name, key, args = scriptName(args[1]), args[3], args[2:]
	}
	if n.slow != nil {
		time.Sleep(n.slow(name, key))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.fails != nil {
		err = n.fails(name, key)
	}
	reply := any(nil)
	if err == nil {
		if reply, err = n.run(name, key, args[2:]); err == nil && reply == nil {
			err = redis.Nil
		}
	}
	n.ran = append(n.ran, virtualCommand{name, key, time.Since(n.start), reply})
	cmd.SetVal(reply)
	cmd.SetErr(err)
	return err
}

// run executes a command. A nil result means a nil reply. An error wraps errNotVirtual.
func (n *virtualNode) run(name, key string, args []string) (any, error) {
	is, lives := n.keys[key]
	lives = lives && time.Now().Before(is.until)
	unit := time.Second
	switch name {
	case "SET":
		if lives {
			return nil, nil
		}
		for i, a := range args[1:] {
			switch a {
			case "PX":
				unit = time.Millisecond
				fallthrough
			case "EX":
				return "OK", n.set(key, args[0], args[1:][i+1:], unit)
			}
		}
	case "GET":
		if !lives {
			return nil, nil
		}
		return is.value, nil
	case "EXPIRE", "compare-and-expire":
		if !lives || name != "EXPIRE" && is.value != args[0] {
			return int64(0), nil
		}
		return int64(1), n.set(key, is.value, args[len(args)-1:], unit)
	case "redisson-enter": // without re-entry
		if lives {
			return time.Until(is.until).Milliseconds(), nil
		}
		return nil, n.set(key, args[0], args[1:], time.Millisecond)
	case "redisson-renew":
		if !lives || is.value != args[0] {
			return int64(0), nil
		}
		return int64(1), n.set(key, is.value, args[1:], time.Millisecond)
	case "compare-and-delete":
		if !lives || is.value != args[0] {
			return int64(0), nil
		}
		delete(n.keys, key)
		return int64(1), nil
	}
	return nil, fmt.Errorf("%w: %s %s %q", errNotVirtual, name, key, args)
}

// set gives the key a value and a life, in units of unit. life holds the rest of the command's
// arguments; its first element is the number of units.
func (n *virtualNode) set(key, value string, life []string, unit time.Duration) error {
	if len(life) == 0 {
		return fmt.Errorf("%w: %s gets a life without a length", errNotVirtual, key)
	}
	d, err := strconv.Atoi(life[0])
	if err != nil {
		return fmt.Errorf("%w: %s gets a life: %w", errNotVirtual, key, err)
	}
	n.keys[key] = virtualKey{value, time.Now().Add(time.Duration(d) * unit)}
	return nil
}

func (n *virtualNode) count(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, c := range n.ran {
		if c.name == name {
			count++
		}
	}
	return count
}

// times returns when the commands of that name ran for the key, counted from the node's start.
func (n *virtualNode) times(name, key string) (at []time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.ran {
		if c.name == name && c.key == key {
			at = append(at, c.at)
		}
	}
	return at
}

// holds returns the key's value; "" if the key does not exist.
func (n *virtualNode) holds(key string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k, ok := n.keys[key]; ok && time.Now().Before(k.until) {
		return k.value
	}
	return ""
}

// A SET without a life, a life that is not a number, and an unknown command are errors. The node
// answers none of them as if it had run.
func TestTheVirtualNodeRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]any{{"XADD", "k", "*", "f", "v"}, {"SET", "k", "v"}, {"SET", "k", "v", "EX"}, {"SET", "k", "v", "PX", "soon"}} {
		n := newVirtualNode()
		cmd := redis.NewCmd(t.Context(), args...)
		if err := n.answer(cmd); !errors.Is(err, errNotVirtual) || !errors.Is(cmd.Err(), errNotVirtual) || len(n.keys) != 0 {
			t.Errorf("%v: got %v and %d keys, want %v and none", args, err, len(n.keys), errNotVirtual)
		}
	}
}
