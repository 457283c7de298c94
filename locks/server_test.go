package locks

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// servers are the redis-servers that this package's tests share. A server starts when a test first
// needs it, and is emptied after each test.
var servers struct {
	sync.Mutex
	running []*redisserver.Server
}

func TestMain(m *testing.M) {
	var err error
	if simulated, err = node.New(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, s := range servers.running {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close redis-server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// nodeAddrs returns the addresses of n independent nodes.
func nodeAddrs(t testing.TB, n int) []string {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	for len(servers.running) < n {
		s, err := redisserver.Start(context.Background(), redisserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		servers.running = append(servers.running, s)
	}
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = servers.running[i].Addr()
	}
	return addrs
}

// newClient returns client process i of the test, on one node. Tests that call it must not run in
// parallel, because they share the node.
func newClient(t testing.TB, i int) *Client {
	t.Helper()
	return newClientOn(t, i, 1)
}

// newClientOn returns client process i of the test, on n independent nodes. The client's context
// ends with the test. Then the nodes are emptied and the client's connections are closed.
func newClientOn(t testing.TB, i, n int) *Client {
	t.Helper()
	c := &Client{
		ID:      fmt.Sprintf("c%d", i),
		Addrs:   nodeAddrs(t, n),
		Dial:    (&net.Dialer{}).DialContext,
		Now:     time.Now,
		Rand:    rand.Reader,
		Context: t.Context(),
	}
	for _, addr := range c.Addrs {
		node := connect(addr)
		c.Nodes = append(c.Nodes, node)
		t.Cleanup(func() {
			ctx := context.Background()
			if err := node.FlushAll(ctx).Err(); err != nil {
				t.Errorf("empty the node: %v", err)
			}
			if err := node.ScriptFlush(ctx).Err(); err != nil {
				t.Errorf("forget the node's scripts: %v", err)
			}
			if err := node.Close(); err != nil {
				t.Errorf("close client: %v", err)
			}
		})
	}
	return c
}

// connect returns a client with the settings of a testbed's clients: it sends only the commands of
// the recipe.
func connect(addr string) Node {
	return redis.NewClient(&redis.Options{
		Addr:                     addr,
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// newLock makes client c's handle on the lock "k" of a recipe.
func newLock(t testing.TB, recipe string, c *Client, ttl time.Duration) Lock {
	t.Helper()
	r, ok := ByID(recipe)
	if !ok {
		t.Fatalf("no recipe %q", recipe)
	}
	maker, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := maker("k", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// handshakes lists the commands that the client library sends by itself.
var handshakes = []string{"HELLO", "CLIENT", "PING", "AUTH", "SELECT", "COMMAND"}

// seen returns the commands of all clients that the first node executed while do ran. Each command
// is its list of arguments, with the command's name in upper case. Handshakes are left out. A
// script appears by its name ("EVALSHA compare-and-delete 1 k t"), even if the reply was NOSCRIPT.
// The commands that a script called follow it, with the prefix "lua".
func seen(t testing.TB, do func()) [][]string {
	t.Helper()
	return seenOn(t, 0, do)
}

// seenOn returns the commands that node n executed while do ran, in the form that seen returns.
func seenOn(t testing.TB, n int, do func()) [][]string {
	t.Helper()
	addr := nodeAddrs(t, n+1)[n]
	monitor, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	if err := monitor.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(monitor)
	lines.Buffer(nil, 1<<20)
	fmt.Fprint(monitor, "MONITOR\r\n")
	if !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("MONITOR: %q, %v", lines.Text(), lines.Err())
	}

	do()

	const end = "no more commands"
	marker := connect(addr)
	defer marker.Close()
	if err := marker.Echo(context.Background(), end).Err(); err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for lines.Scan() {
		args, err := monitored(lines.Text())
		switch {
		case err != nil:
			t.Fatal(err)
		case slices.Equal(args, []string{"ECHO", end}):
			return commands
		case !slices.Contains(handshakes, args[0]):
			commands = append(commands, args)
		}
	}
	t.Fatalf("MONITOR ended early: %v", lines.Err())
	return nil
}

// monitored parses a line of MONITOR's output: +1700000000.123456 [0 127.0.0.1:6000] "SET" "k" "v".
// A script's command has [0 lua].
func monitored(line string) ([]string, error) {
	_, rest, ok := strings.Cut(line, " [")
	source, rest, ok2 := strings.Cut(rest, "] ")
	if !ok || !ok2 {
		return nil, fmt.Errorf("not a line of MONITOR: %q", line)
	}
	var args []string
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, fmt.Errorf("line of MONITOR %q: %w", line, err)
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, fmt.Errorf("line of MONITOR %q: %w", line, err)
		}
		args, rest = append(args, arg), rest[len(quoted):]
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("no command in the line of MONITOR %q", line)
	}
	args[0] = strings.ToUpper(args[0])
	if len(args) > 1 && (args[0] == "EVALSHA" || args[0] == "EVAL") {
		args[1] = scriptName(args[1])
	}
	if strings.HasSuffix(source, " lua") {
		args = append([]string{"lua"}, args...)
	}
	return args, nil
}

// scriptName returns the name under which a recipe declares the script with this source or SHA1.
// For an unknown script it returns its argument.
func scriptName(script string) string {
	sha := redis.NewScript(script).Hash()
	for _, r := range All() {
		names := r.Claims(time.Second, 1).ScriptNames
		for _, known := range []string{script, sha} {
			if name, ok := names[known]; ok {
				return name
			}
		}
	}
	return script
}

// wire joins the arguments of each command by spaces, to compare and to print.
func wire(commands [][]string) []string {
	lines := make([]string, len(commands))
	for i, args := range commands {
		lines[i] = strings.Join(args, " ")
	}
	return lines
}

// loadScripts loads a recipe's scripts on the node, so that the result of seen does not depend on
// earlier tests.
func loadScripts(t testing.TB, c *Client, scripts ...*script) {
	t.Helper()
	for _, node := range c.Nodes {
		for _, s := range scripts {
			if err := s.run.Load(t.Context(), node).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// expireNow lets the key expire at once, as if its TTL had passed.
func expireNow(t testing.TB, c *Client, key string) {
	t.Helper()
	for _, node := range c.Nodes {
		if err := node.Do(t.Context(), "PEXPIRE", key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// life returns the key's remaining life on the first node, as PTTL reports it: -1ns if the key has
// no expiry, -2ns if there is no key.
func life(t testing.TB, c *Client, key string) time.Duration {
	t.Helper()
	ttl, err := c.Nodes[0].PTTL(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return ttl
}
