package resp_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// description is what COMMAND says of a command or subcommand.
type description struct {
	arity             int64
	flags, categories []string
	first, last, step int64
	specs             string // the key specifications, as text
	subs              []description
}

// describe reads an element of the reply to COMMAND (Redis documentation, "COMMAND"), and puts it and its
// subcommands into all, by name in capitals.
func describe(t *testing.T, element any, all map[string]description) description {
	e := element.([]any)
	if len(e) < 10 {
		t.Skip("this Redis is older than 7.0: COMMAND tells no subcommands")
	}
	words := func(list any) (all []string) {
		for _, w := range list.([]any) {
			all = append(all, strings.TrimPrefix(fmt.Sprint(w), "@"))
		}
		return all
	}
	d := description{
		arity: e[1].(int64), flags: words(e[2]), first: e[3].(int64), last: e[4].(int64), step: e[5].(int64),
		categories: words(e[6]), specs: fmt.Sprint(e[8]),
	}
	for _, s := range e[9].([]any) {
		sub := describe(t, s, all)
		if !strings.HasSuffix(s.([]any)[0].(string), "|help") {
			d.subs = append(d.subs, sub)
		}
	}
	all[strings.ToUpper(e[0].(string))] = d
	return d
}

// has reports whether the command has the flag, or all its subcommands have it.
func (d description) has(flag string) bool {
	if len(d.subs) > 0 {
		return !slices.ContainsFunc(d.subs, func(s description) bool { return !s.has(flag) })
	}
	return slices.Contains(d.flags, flag)
}

func described(t *testing.T) map[string]description {
	c := redis.NewClient(&redis.Options{Addr: redistest.Test(t).Addr(), Protocol: 2})
	defer c.Close()
	reply, err := c.Do(context.Background(), "COMMAND").Slice()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]description{}
	for _, e := range reply {
		describe(t, e, all)
	}
	return all
}

// The test skips the commands that are newer than the server, and says which. A newer server may have
// commands that the table lacks; it says these, too.
func TestTheTableIsRedis(t *testing.T) {
	all := described(t)
	tested := 0
	for c := range resp.All() {
		if found := resp.Lookup(strings.ToLower(c.Name)); found != c {
			t.Errorf("%s is not found by its name: got %q", c.Name, found.Name)
		}
		d, known := all[c.Name]
		if !known {
			t.Logf("this Redis has no %s", c.Name)
			continue
		}
		tested++
		checkFlags(t, c, d)
		checkPlaces(t, c, d)
	}
	if tested < 240 {
		t.Errorf("%d commands compared, want all of Redis 7.0", tested)
	}
	for name := range all {
		if !strings.Contains(name, "|") && resp.Lookup(name).Name == "" {
			t.Logf("the table has no %s", name)
		}
	}
}

func checkFlags(t *testing.T, c *resp.Command, d description) {
	if int(d.arity) != c.Arity {
		t.Errorf("%s: got arity %d, Redis has %d", c.Name, c.Arity, d.arity)
	}
	for trait, redis := range map[resp.Traits]bool{
		resp.Write:    d.has("write"),
		resp.ReadOnly: d.has("readonly") && c.Name != "PFCOUNT",
		resp.NoScript: d.has("noscript"),
		resp.Blocks:   d.has("blocking") || c.Name == "WAIT" || c.Name == "WAITAOF", // flagged since 7.2
	} {
		if c.Is(trait) != redis {
			t.Errorf("%s: got trait %b %v, Redis has the flags %q", c.Name, trait, !redis, d.flags)
		}
	}
	if pubsub := d.has("pubsub") && len(d.subs) == 0; c.Is(resp.Channels) != pubsub && !strings.Contains(c.Name, "|") {
		t.Errorf("%s: got channels %v, Redis has the flags %q", c.Name, !pubsub, d.flags)
	}
	if c.Is(resp.Inert) && (d.has("write") || d.has("readonly") || d.has("admin")) {
		t.Errorf("%s: got inert, Redis has the flags %q", c.Name, d.flags)
	}
	if c.Is(resp.Creates|resp.Expires) && !d.has("write") {
		t.Errorf("%s: got a trait of commands that write, Redis has the flags %q", c.Name, d.flags)
	}
}

func checkPlaces(t *testing.T, c *resp.Command, d description) {
	if shown := d.first != 0 || !c.Is(resp.Channels); shown &&
		(int(d.first) != c.First || int(d.last) != c.Last || int(d.step) != c.Step) {
		t.Errorf("%s: got keys at %d %d %d, Redis has %d %d %d", c.Name, c.First, c.Last, c.Step, d.first, d.last, d.step)
	}
	if counted := strings.Contains(d.specs, "keynum"); counted != (c.NumKeys > 0) ||
		counted && !strings.Contains(d.specs, fmt.Sprintf("type index spec [index %d]] find_keys [type keynum", c.NumKeys)) {
		t.Errorf("%s: got the number of keys at %d, Redis has %s", c.Name, c.NumKeys, d.specs)
	}
	if c.Confined() && (slices.Contains(d.flags, "movablekeys") || slices.Contains(d.categories, "dangerous")) {
		t.Errorf("%s: got confined, Redis has the flags %q, categories %q", c.Name, d.flags, d.categories)
	}
}

func TestKeysAmongArguments(t *testing.T) {
	for text, want := range map[string]string{
		"get k":                             "k",
		"set k v nx":                        "k",
		"MSET a 1 b 2":                      "a b",
		"BLPOP a b 0":                       "a b",
		"BITOP and a b c":                   "a b c",
		"eval x 2 a b c":                    "a b",
		"EVALSHA x 0 c":                     "",
		"EVALSHA x +1 c":                    "",
		"EVALSHA x 2 c":                     "",
		"FCALL f 1 a b":                     "a",
		"ZUNIONSTORE d 2 a b AGGR x":        "d a b",
		"subscribe a b":                     "a b",
		"UNSUBSCRIBE":                       "",
		"BITOP":                             "",
		"EVAL":                              "",
		"GET":                               "",
		"PING x":                            "",
		"NOSUCHCOMMAND k":                   "",
		"NOSUCHCOMMANDOFSOMANYCHARACTERS k": "",
		"":                                  "",
	} {
		args := words(text)
		if got := fmt.Sprint(resp.Keys(resp.Of(args), args)); got != "["+want+"]" {
			t.Errorf("%q: got %v, want %s", text, got, want)
		}
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	args := []history.Bytes{"evalsha", "x"}
	if n := testing.AllocsPerRun(100, func() { resp.Of(args) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
