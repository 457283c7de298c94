package locks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

func TestScriptIsSentByItsDigestAndBySourceOnlyIfTheNodeForgotIt(t *testing.T) {
	c := newClient(t, 0)
	run := func() []string {
		return wire(seen(t, func() {
			if err := compareAndDelete.Run(t.Context(), c.Nodes[0], []string{"k"}, "t").Err(); err != nil {
				t.Error(err)
			}
		}))
	}
	if err := c.Nodes[0].ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	forgotten := []string{"EVALSHA compare-and-delete 1 k t", "EVAL compare-and-delete 1 k t", "lua GET k"}
	if got := run(); !slices.Equal(got, forgotten) {
		t.Errorf("after SCRIPT FLUSH the node saw %q, want %q", got, forgotten)
	}
	known := []string{"EVALSHA compare-and-delete 1 k t", "lua GET k"}
	if got := run(); !slices.Equal(got, known) {
		t.Errorf("then the node saw %q, want %q", got, known)
	}
}

func TestScriptsDoWhatTheirRecipesDeclare(t *testing.T) {
	for _, r := range All() {
		nodes := 1
		if r.Topology == Independent {
			nodes = 3
		}
		declared := r.Claims(time.Second, nodes).Scripts
		if len(declared) == 0 {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			w := &scriptWatch{t: t, scripts: map[string]history.Script{}, seen: map[string]map[string]bool{}}
			for _, s := range declared {
				w.scripts[s.SHA1], w.seen[s.SHA1] = s, map[string]bool{}
			}
			a, b := newClientOn(t, 0, nodes), newClientOn(t, 1, nodes)
			w.on(a)
			w.on(b)
			exerciseRecipe(t, r, a, b, w.complete)
			for _, s := range declared {
				for reply := range s.Effects {
					if !w.saw(s, reply) {
						t.Errorf("script %s never replied %s: its effect is not verified", s.Name, reply)
					}
				}
			}
		})
	}
}

// exerciseRecipe makes two clients acquire, fail to acquire, re-enter, extend,
// release, and release what is no longer theirs. It then holds the lock until
// watchdogs have shown what is declared of them, but not for long.
func exerciseRecipe(t *testing.T, r Recipe, a, b *Client, complete func() bool) {
	la, lb := newLock(t, r.ID, a, time.Second), newLock(t, r.ID, b, time.Second)
	pairs := [][2]Lock{{la, lb}}
	if rwa, ok := la.(RWLocker); ok {
		rwb := lb.(RWLocker)
		pairs = [][2]Lock{{rwa.Read(), rwb.Read()}, {rwa.Read(), rwb.Write()}, {rwa.Write(), rwb.Read()}, {rwa.Write(), rwb.Write()}}
	}
	if ra, ok := la.(interface{ Renewing() Lock }); ok {
		pairs = append(pairs, [2]Lock{ra.Renewing(), lb.(interface{ Renewing() Lock }).Renewing()})
	}
	expire := func() {
		for _, node := range a.Nodes {
			if err := node.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, p := range pairs {
		exerciseLocks(t, p[0], p[1], expire, func() bool { return i < len(pairs)-1 || complete() })
	}
}

// exerciseLocks does so with one pair of handles; expire empties the nodes.
func exerciseLocks(t *testing.T, a, b Lock, expire func(), complete func() bool) {
	try := func(l Lock) Lease {
		lease, err := l.TryLock(t.Context())
		known(t, err)
		return lease
	}
	extend := func(l Lock, lease Lease) {
		if e, ok := l.(Extender); ok {
			_, err := e.Extend(t.Context(), lease)
			known(t, err)
		}
	}
	release := func(l Lock, lease Lease) { known(t, l.Unlock(t.Context(), lease)) }

	first := try(a)
	foreign := try(b)
	extend(b, foreign)
	again := try(a)
	extend(a, first)
	release(a, again)
	release(a, first)
	release(a, first)
	late := try(a)
	await(complete)
	expire()
	owner := try(b)
	extend(a, late)
	release(a, late)
	await(complete)
	release(b, owner)
	try(a) // and lose it, so that a watchdog finds nothing to renew
	expire()
	await(complete)
}

// await gives watchdogs of a lease time of 1 s some time to come.
func await(complete func() bool) {
	for deadline := time.Now().Add(900 * time.Millisecond); !complete() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}

func known(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrNotHeld) {
		t.Fatalf("unknown result on a healthy node: %v", err)
	}
}

// scriptWatch compares what scripts do to their keys with what is declared. While it
// looks, none of its clients' other commands run.
type scriptWatch struct {
	t       *testing.T
	mu      sync.Mutex
	scripts map[string]history.Script  // by SHA1
	seen    map[string]map[string]bool // replies by SHA1 whose effects were verified
}

func (w *scriptWatch) on(c *Client) {
	for _, node := range c.Nodes {
		side := connect(node.(*redis.Client).Options().Addr)
		w.t.Cleanup(func() { _ = side.Close() })
		node.AddHook(hook(func(cmd redis.Cmder, send func() error) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.command(side, cmd, send)
		}))
	}
}

func (w *scriptWatch) command(side redis.UniversalClient, cmd redis.Cmder, send func() error) error {
	sha, keys, argv := scriptCall(cmd)
	if sha == "" || w.t.Context().Err() != nil { // a watchdog may outlive the test by a command
		return send()
	}
	s, ok := w.scripts[sha]
	if !ok {
		w.t.Errorf("script %s is not declared: %v", sha, cmd.Args())
		return send()
	}
	before := lookAt(w.t, side, keys)
	err := send()
	if err != nil && !errors.Is(err, redis.Nil) { // NOSCRIPT: nothing ran
		return err
	}
	reply, idle := compact(cmd.(*redis.Cmd).Val()), false
	for i, after := range lookAt(w.t, side, keys) {
		effects := effectsOn(s, reply, i)
		if problem := compare(effects, before[i], after, argv); problem != "" {
			w.t.Errorf("script %s replied %s: key %q %s\nbefore: %v\nafter:  %v", s.Name, reply, keys[i], problem, before[i], after)
		}
		idle = idle || showedNothing(effects, before[i], after)
	}
	w.seen[sha][reply] = w.seen[sha][reply] || !idle
	return err
}

// complete says whether each declared reply has been seen.
func (w *scriptWatch) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.scripts {
		for reply := range s.Effects {
			if !w.sawLocked(s, reply) {
				return false
			}
		}
	}
	return true
}

func (w *scriptWatch) saw(s history.Script, reply string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sawLocked(s, reply)
}

func (w *scriptWatch) sawLocked(s history.Script, reply string) bool {
	if reply != "*" {
		return w.seen[s.SHA1][reply]
	}
	for r := range w.seen[s.SHA1] {
		if _, listed := s.Effects[r]; !listed {
			return true
		}
	}
	return false
}

// scriptCall takes EVAL and EVALSHA apart; sha is empty for other commands.
func scriptCall(cmd redis.Cmder) (sha string, keys, argv []string) {
	var args []string
	for _, a := range cmd.Args() {
		args = append(args, fmt.Sprint(a))
	}
	switch {
	case strings.EqualFold(args[0], "evalsha"):
		sha = args[1]
	case strings.EqualFold(args[0], "eval"):
		sha = redis.NewScript(args[1]).Hash()
	default:
		return "", nil, nil
	}
	n, _ := strconv.Atoi(args[2])
	return sha, args[3 : 3+n], args[3+n:]
}

// compact writes a reply as history.Command does.
func compact(reply any) string {
	switch r := reply.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(r)
	case []any:
		parts := make([]string, len(r))
		for i, part := range r {
			parts[i] = compact(part)
		}
		return "[" + strings.Join(parts, " ") + "]"
	default:
		return fmt.Sprint(r)
	}
}

// state is what a key looks like: a string's value is its field "".
type state struct {
	fields map[string]string // nil: there is no key
	life   time.Duration     // negative: none
}

func lookAt(t *testing.T, side redis.UniversalClient, keys []string) []state {
	ctx := context.Background()
	states := make([]state, len(keys))
	for i, key := range keys {
		kind, err := side.Type(ctx, key).Result()
		s := state{}
		if err == nil {
			s.life, err = side.PTTL(ctx, key).Result()
		}
		switch kind {
		case "string":
			var value string
			value, err = side.Get(ctx, key).Result()
			s.fields = map[string]string{"": value}
		case "hash":
			s.fields, err = side.HGetAll(ctx, key).Result()
		}
		if err != nil {
			t.Errorf("look at key %q: %v", key, err)
		}
		states[i] = s
	}
	return states
}

func effectsOn(s history.Script, reply string, key int) []history.Effect {
	effects, ok := s.Effects[reply]
	if !ok {
		effects = s.Effects["*"]
	}
	return slices.DeleteFunc(slices.Clone(effects), func(e history.Effect) bool { return e.Key != key })
}

// compare says in words how what happened differs from the effects; "" if it
// does not. What is not declared must not have happened.
func compare(effects []history.Effect, before, after state, argv []string) string {
	may := map[history.EffectKind]bool{}
	for _, e := range effects {
		may[e.Kind] = true
		if problem := happened(e, before, after, argv); problem != "" {
			return problem
		}
	}
	gone := before.fields != nil && after.fields == nil
	changed := !sameClaims(before.fields, after.fields)
	timed := after.fields != nil && (after.life > before.life || after.life < 0 && before.life >= 0)
	if may[history.EffectCount] { // the count itself has no life from its beginning
		timed = after.life >= 0
	}
	switch {
	case gone && !may[history.EffectDelete]:
		return "is gone undeclared"
	case changed && !gone && !may[history.EffectSet] && !may[history.EffectDelete] && !may[history.EffectCount]:
		return "changed undeclared"
	case timed && !may[history.EffectSet] && !may[history.EffectExpire] && !may[history.EffectPersist]:
		return "got another life undeclared"
	}
	return ""
}

// sameClaims says whether the owners of a key are the same. A count that went
// down by one is still its owner's.
func sameClaims(before, after map[string]string) bool {
	return maps.EqualFunc(before, after, func(b, a string) bool {
		from, err1 := strconv.Atoi(b)
		to, err2 := strconv.Atoi(a)
		return a == b || err1 == nil && err2 == nil && to > 0 && to == from-1
	})
}

// showedNothing says whether a script that declares a set or a deletion left the
// key as it was: it wrote what was there, or it found no field of its own and
// has no reply to tell.
func showedNothing(effects []history.Effect, before, after state) bool {
	return maps.Equal(before.fields, after.fields) && slices.ContainsFunc(effects, func(e history.Effect) bool {
		return e.Kind == history.EffectSet || e.Kind == history.EffectDelete
	})
}

// happened says in words how one declared effect failed to happen; "" if it did.
func happened(e history.Effect, before, after state, argv []string) string {
	switch e.Kind {
	case history.EffectSet:
		if after.fields == nil {
			return "was not set"
		}
		if before.fields == nil && e.TTLArg == 0 && after.life >= 0 && !e.Field {
			return "got a life that is not declared"
		}
	case history.EffectDelete:
		if !e.Field && after.fields != nil {
			return "was not deleted"
		}
	case history.EffectPersist:
		if after.fields == nil || after.life >= 0 {
			return "does not live for ever"
		}
	case history.EffectSeen:
		if before.fields == nil {
			return "was not there"
		}
	case history.EffectCount:
		from, _ := strconv.Atoi(before.fields[""])
		if to, err := strconv.Atoi(after.fields[""]); err != nil || to <= from {
			return "did not count up"
		}
	}
	if e.TTLArg == 0 {
		return ""
	}
	n, err := strconv.Atoi(argv[e.TTLArg-1])
	if err != nil {
		return fmt.Sprintf("has a life of %q", argv[e.TTLArg-1])
	}
	if want := time.Duration(n) * e.TTLUnit; after.life > want || after.life <= want-500*time.Millisecond {
		return fmt.Sprintf("lives for %v instead of %v", after.life, want)
	}
	return ""
}
