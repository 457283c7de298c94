package node_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// script is a recipe's Lua script, with the calls of it that recordRecipes recorded.
type script struct {
	name, source, sha1 string
	calls              []scriptCall
}

// scriptCall is a call of a script: the number of keys, and the other arguments. Arguments that
// differ from run to run are replaced by anOwner or aTime.
type scriptCall struct {
	keys int
	argv []string
}

// Replacements for arguments that differ from run to run.
const (
	anOwner = "t1"
	aTime   = "@ms+0"
)

// byKind returns aTime for a long number, anOwner for any other long argument, and short arguments
// unchanged: the long ones differ from run to run.
func byKind(arg string) string {
	_, err := strconv.ParseInt(arg, 10, 64)
	switch {
	case err == nil && len(arg) > 10:
		return aTime
	case len(arg) > 10:
		return anOwner
	}
	return arg
}

// sent records what recipes send: the names of their commands, and their scripts.
type sent struct {
	mu       sync.Mutex
	commands map[string]bool
	scripts  map[string]*script // by SHA1
}

var recorded = sync.OnceValue(func() *sent { return &sent{commands: map[string]bool{}, scripts: map[string]*script{}} })

// recipesTTL is the lease time of the recorded recipes. It is short, so that their watchdogs
// extend leases during the recording. On a busy machine such leases may end before a recipe has sent
// all of its scripts: that recipe is recorded again with longer leases, up to longestTTL.
const (
	recipesTTL = 240 * time.Millisecond
	longestTTL = 8 * recipesTTL
)

// recordRecipes runs every registered recipe on redis-servers and records the commands. So a new
// recipe's scripts are compared, and covered fails if a command of the recipe is not compared.
func recordRecipes(t *testing.T) *sent {
	t.Helper()
	r := recorded()
	if len(r.commands) > 0 {
		return r
	}
	var addrs []string
	for range 3 {
		addrs = append(addrs, redistest.Test(t).Addr())
	}
	var all sync.WaitGroup
	for _, recipe := range locks.All() {
		all.Go(func() {
			for ttl := recipesTTL; ttl <= longestTTL; ttl *= 2 {
				if err := r.play(t.Context(), recipe, addrs, ttl); err != nil {
					t.Errorf("%s: %v", recipe.ID, err)
				}
				if r.missing(recipe) == "" {
					break
				}
			}
		})
	}
	all.Wait()
	for _, recipe := range locks.All() {
		if name := r.missing(recipe); name != "" {
			t.Errorf("%s never sent the source of its script %s: nothing can be compared", recipe.ID, name)
		}
		for sha, name := range recipe.Claims(time.Second, 1).ScriptNames {
			if s := r.scripts[sha]; s != nil {
				s.name = name
			}
		}
	}
	for sha, s := range r.scripts {
		if s.name == "" {
			s.name = sha
		}
		slices.SortFunc(s.calls, func(a, b scriptCall) int {
			return cmp.Or(cmp.Compare(a.keys, b.keys), slices.Compare(a.argv, b.argv))
		})
		s.calls = slices.CompactFunc(s.calls, func(a, b scriptCall) bool { return a.keys == b.keys && slices.Equal(a.argv, b.argv) })
	}
	return r
}

// missing names a script of the recipe whose source has not been recorded; "" = there is none.
func (r *sent) missing(recipe locks.Recipe) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sha, name := range recipe.Claims(time.Second, 1).ScriptNames {
		if s := r.scripts[sha]; s == nil || s.source == "" {
			return name
		}
	}
	return ""
}

// play makes two client processes acquire, be refused, extend and release.
func (r *sent) play(ctx context.Context, recipe locks.Recipe, addrs []string, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if recipe.Topology != locks.Independent {
		addrs = addrs[:1]
	}
	var handles [2]locks.Lock
	for i := range handles {
		c := &locks.Client{
			ID: "c" + strconv.Itoa(i), Addrs: addrs, Dial: r.dial,
			Now: time.Now, Rand: rand.Reader, Context: ctx,
		}
		for _, addr := range addrs {
			o := testbed.RedisOptions(addr, time.Second)
			o.Dialer = r.dial
			node := redis.NewClient(o)
			defer node.Close()
			c.Nodes = append(c.Nodes, node)
		}
		maker, err := recipe.New(c)
		if err != nil {
			return err
		}
		if handles[i], err = maker("lock:"+recipe.ID, ttl); err != nil {
			return err
		}
	}
	for _, pair := range modes(handles) {
		exercise(ctx, pair[0], pair[1], ttl)
	}
	return nil
}

// modes returns the pairs of handles that send different commands: for a reader-writer lock,
// each combination with a writer.
func modes(h [2]locks.Lock) [][2]locks.Lock {
	pairs := [][2]locks.Lock{h}
	if a, ok := h[0].(locks.RWLocker); ok {
		b := h[1].(locks.RWLocker)
		pairs = [][2]locks.Lock{{a.Read(), b.Write()}, {a.Write(), b.Read()}, {a.Write(), b.Write()}}
	}
	return pairs
}

// exercise makes one pair of handles acquire, be refused, extend and release. It ignores
// results and panics: some recipes of document D0 panic if there is nothing to release.
func exercise(ctx context.Context, a, b locks.Lock, ttl time.Duration) {
	la, _ := a.TryLock(ctx)
	_, _ = a.TryLock(ctx)
	lb, _ := b.TryLock(ctx)
	if e, ok := a.(locks.Extender); ok {
		_, _ = e.Extend(ctx, la)
	}
	if w, ok := b.(locks.Blocker); ok {
		waiting, cancel := context.WithTimeout(ctx, ttl/3)
		lb, _ = w.Lock(waiting)
		cancel()
	}
	time.Sleep(ttl) // gives watchdogs time to extend
	unlock := func(l locks.Lock, lease locks.Lease) {
		defer func() { _ = recover() }()
		_ = l.Unlock(ctx, lease)
	}
	unlock(a, la)
	unlock(a, la)
	unlock(b, lb)
}

// dial connects. The connection records the commands that are written to it.
func (r *sent) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c, sent: r}, nil
}

type tapped struct {
	net.Conn
	sent *sent
	rest []byte
}

// Write implements net.Conn. go-redis writes from one goroutine at a time.
func (c *tapped) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		before, after := parseValue(c.rest)
		if before.kind != '*' || len(before.elems) == 0 || before.elems[len(before.elems)-1].kind == 0 {
			break // the rest of the command is still to come
		}
		var args []string
		for _, e := range before.elems {
			args = append(args, e.text)
		}
		c.sent.note(args)
		c.rest = bytes.Clone(after)
	}
	return c.Conn.Write(p)
}

func (r *sent) note(args []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands[commandName(args)] = true
	name := strings.ToUpper(args[0])
	if name != "EVAL" && name != "EVALSHA" {
		return
	}
	sha := args[1]
	if name == "EVAL" {
		sum := sha1.Sum([]byte(args[1]))
		sha = hex.EncodeToString(sum[:])
	}
	s := r.scripts[sha]
	if s == nil {
		s = &script{sha1: sha}
		r.scripts[sha] = s
	}
	if name == "EVAL" {
		s.source = args[1]
	}
	if n, err := strconv.Atoi(args[2]); err == nil && n <= len(args)-3 {
		call := scriptCall{keys: n}
		for _, arg := range args[3+n:] {
			call.argv = append(call.argv, byKind(arg))
		}
		s.calls = append(s.calls, call)
	}
}
