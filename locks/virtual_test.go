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

	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// simulated is the node of all virtualNodes. It is made outside any bubble.
var simulated *node.Node

// virtualNode is the simulated node without a connection, on the clock of a synctest bubble.
type virtualNode struct {
	start time.Time
	// slow returns how long a command takes; nil = no time. fails returns a command's error; nil =
	// no error (see failing).
	slow func(name, key string) time.Duration

	mu      sync.Mutex
	session *node.Session
	fails   func(name, key string) error
	ran     []virtualCommand
}

// virtualCommand is a command or a script that ran: its name, its key, and the time since the node's start.
type virtualCommand struct {
	name, key string
	at        time.Duration
}

// failing sets the error of the commands from now on.
func (n *virtualNode) failing(fails func(name, key string) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = fails
}

func newVirtualNode() *virtualNode {
	simulated.Reset()
	n := &virtualNode{start: time.Now(), session: simulated.Connect()}
	for _, s := range []*script{compareAndDelete, compareAndExpire, redissonEnter, redissonLeave, redissonRenew} {
		n.session.Exec(n.start, []string{"SCRIPT", "LOAD", s.source})
	}
	return n
}

// virtualClient returns client process "c0" on the virtual node.
func virtualClient(t *testing.T, n *virtualNode) *Client {
	pool := connect("127.0.0.1:0") // never dialled
	t.Cleanup(func() { _ = pool.Close() })
	pool.AddHook(hook(func(cmd redis.Cmder, _ func() error) error { return n.answer(cmd.(*redis.Cmd)) }))
	return &Client{ID: "c0", Nodes: []Node{pool}, Now: time.Now, Rand: rand.Reader, Context: t.Context()}
}

func (n *virtualNode) answer(cmd *redis.Cmd) error {
	args := make([]string, len(cmd.Args()))
	for i, a := range cmd.Args() {
		args[i] = fmt.Sprint(a)
	}
	name, key := strings.ToUpper(args[0]), args[1]
	if name == "EVALSHA" {
		name, key = scriptName(args[1]), args[3]
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
	n.ran = append(n.ran, virtualCommand{name, key, time.Since(n.start)})
	if err == nil {
		var reply any
		reply, err = n.run(args...)
		cmd.SetVal(reply)
	}
	cmd.SetErr(err)
	return err
}

// do executes a command of somebody else, whose reply is no array.
func (n *virtualNode) do(args ...string) (any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.run(args...)
}

// run executes a command whose reply is no array. The caller has locked n.mu.
func (n *virtualNode) run(args ...string) (any, error) {
	b, _ := n.session.Exec(time.Now(), args)
	line, rest, _ := strings.Cut(string(b), "\r\n")
	switch text := line[1:]; line[0] {
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '+':
		return text, nil
	case '$':
		if text != "-1" {
			return strings.TrimSuffix(rest, "\r\n"), nil
		}
		return nil, redis.Nil
	default:
		return nil, errors.New(text)
	}
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
	value, _ := n.do("GET", key)
	text, _ := value.(string)
	return text
}
