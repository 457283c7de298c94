package node_test

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// fragment draws a few steps that belong together.
type fragment func(*rapid.T) []step

// scriptOf returns a generator of scripts of commands. Each script is a sequence of 1 to 25 fragments.
func scriptOf(fragments ...fragment) *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) []step {
		return fragments[rapid.IntRange(0, len(fragments)-1).Draw(t, "fragment")](t)
	})
	return rapid.Map(rapid.SliceOfN(one, 1, 25), func(parts [][]step) []step { return slices.Concat(parts...) })
}

func session(t *rapid.T) int { return rapid.IntRange(0, sessions-1).Draw(t, "session") }

func single(t *rapid.T) []step { return []step{{session: session(t), args: command(t)}} }

// transaction draws a transaction of one session. Parts such as WATCH and MULTI may be missing,
// and another session may send commands meanwhile.
func transaction(t *rapid.T) []step {
	s := session(t)
	other := (s + 1) % sessions
	var steps []step
	do := func(session int, args ...string) { steps = append(steps, step{session: session, args: args}) }
	often := func(label string) bool { return rapid.IntRange(0, 9).Draw(t, label) < 7 }
	if often("watch") {
		do(s, append([]string{"WATCH"}, some(key, 1, 2)(t)...)...)
		if !often("keep") {
			do(s, "UNWATCH")
		}
		if !often("undisturbed") {
			do(other, command(t)...)
		}
	}
	if often("multi") {
		do(s, "MULTI")
	}
	for range rapid.IntRange(0, 4).Draw(t, "queued") {
		do(s, command(t)...)
		if rapid.IntRange(0, 5).Draw(t, "disturb") == 5 {
			do(other, command(t)...)
		}
	}
	switch rapid.IntRange(0, 11).Draw(t, "end") {
	case 11:
		do(s, "DISCARD")
	case 10:
		do(s, "EXEC", "x")
		do(s, "EXEC")
	case 9:
		do(s, "MULTI")
		do(s, "WATCH", "k1")
		do(s, "EXEC")
	default:
		do(s, "EXEC")
	}
	return steps
}

// subscription draws a command of a subscriber, and messages that another session publishes.
func subscription(t *rapid.T) []step {
	s := session(t)
	var steps []step
	do := func(session int, args ...string) { steps = append(steps, step{session: session, args: args}) }
	switch rapid.IntRange(0, 5).Draw(t, "subscription") {
	case 0, 1:
		do(s, append([]string{"SUBSCRIBE"}, some(channel, 1, 3)(t)...)...)
	case 2:
		do(s, append([]string{"PSUBSCRIBE"}, some(from(patternPool), 1, 2)(t)...)...)
	case 3:
		do(s, append([]string{"UNSUBSCRIBE"}, some(channel, 0, 2)(t)...)...)
	case 4:
		do(s, append([]string{"PUNSUBSCRIBE"}, some(from(patternPool), 0, 2)(t)...)...)
	case 5:
		do(s, rapid.SampledFrom([][]string{{"SUBSCRIBE"}, {"GET", "k1"}, {"PING"}, {"PING", "x"}, {"TIME"}}).Draw(t, "refused")...)
	}
	for range rapid.IntRange(0, 2).Draw(t, "messages") {
		do((s+1)%sessions, append([]string{"PUBLISH"}, all(channel, from(messagePool))(t)...)...)
	}
	return steps
}

// short draws commands that create a key with a short expiry, and commands on this key around
// the time at which it expires.
func short(t *rapid.T) []step {
	var steps []step
	do := func(args ...string) { steps = append(steps, step{session: session(t), args: args}) }
	ms := strconv.Itoa(rapid.IntRange(1, 8).Draw(t, "ms"))
	k := rapid.SampledFrom([]string{"k1", "h1"}).Draw(t, "key")
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		do("SET", k, "t1", "PX", ms)
	case 1:
		do("SET", k, "t1", "NX", "PX", ms)
	case 2:
		do("HSET", k, "t1", "1")
		do("PEXPIRE", k, ms)
	case 3:
		do("SETNX", k, "t1")
		do("PEXPIREAT", k, "@ms"+ms)
	}
	for range rapid.IntRange(1, 3).Draw(t, "looks") {
		steps = append(steps, step{pause: time.Duration(rapid.IntRange(0, 5000).Draw(t, "pause")) * time.Microsecond})
		do(aimed(t, k)...)
	}
	return steps
}

// replica draws steps that make the node a replica with keys that may expire, run commands on
// it, and may make it a primary again.
func replica(t *rapid.T) []step {
	order := func(yes string) step { return step{args: []string{replicaOrder, yes}} }
	steps := short(t)
	steps = append(steps, order("yes"))
	for range rapid.IntRange(1, 5).Draw(t, "commands") {
		steps = append(steps, step{session: session(t), args: aimed(t, "k1")})
	}
	return append(steps, order(rapid.SampledFrom([]string{"yes", "no"}).Draw(t, "end")))
}

// aimed draws a command on the given key.
func aimed(t *rapid.T, key string) []string {
	name := rapid.SampledFrom(keyed).Draw(t, "command")
	args := commandOf(t, name)
	if len(args) > 1 {
		args[1] = key
	}
	return args
}

// keyed lists the commands that aimed draws: those whose first argument is a key, and CLUSTER,
// READONLY, READWRITE and ASKING, which both nodes refuse.
var keyed = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
	return strings.Contains(n, " ") || slices.Contains([]string{"PUBLISH", "PING", "ECHO", "TIME", "SELECT", "NOSUCHCOMMAND"}, n)
})

// recipeScript returns a fragment that calls a recipe's script: by source, by digest, or by digest
// after SCRIPT LOAD. The arguments of the call resemble those that recipes send.
func recipeScript(scripts []*script) fragment {
	return func(t *rapid.T) []step { return rapid.SampledFrom(scripts).Draw(t, "script").call(t) }
}

func (s *script) call(t *rapid.T) []step {
	call := rapid.SampledFrom(s.calls).Draw(t, "call")
	who := session(t)
	args := []string{"EVALSHA", s.sha1, strconv.Itoa(call.keys)}
	for range call.keys {
		args = append(args, rapid.SampledFrom([]string{"k1", "h1", "h2", "b\x00\xff\r\n"}).Draw(t, "key"))
	}
	for i := range call.argv {
		args = append(args, s.argument(t, i))
	}
	switch how := rapid.IntRange(0, 19).Draw(t, "how"); {
	case how == 0: // the nodes may not know the script
		return []step{{session: who, args: args}}
	case how == 1:
		return []step{{session: who, args: args[:len(args)-1]}}
	case how < 10:
		return []step{{session: who, args: []string{"SCRIPT", "LOAD", s.source}}, {session: (who + 1) % sessions, args: args}}
	default:
		args[0], args[1] = "EVAL", s.source
		return []step{{session: who, args: args}}
	}
}

// everyRecipeScript returns scripts of commands, one for each script of the recipes. So each script of
// a recipe is compared whatever rapid draws.
func everyRecipeScript(scripts []*script) [][]step {
	var all [][]step
	for _, s := range scripts {
		g := rapid.Custom(s.call)
		var steps []step
		for i := range examples {
			if i%8 == 0 {
				steps = append(steps, calls([]string{"FLUSHALL"}, []string{"SET", "k1", anOwner, "PX", "100000"}, []string{"HSET", "h1", anOwner, "2", "read", "1"})...)
			}
			steps = append(steps, g.Example(i)...)
		}
		all = append(all, steps)
	}
	return all
}

// argument draws the i-th element of ARGV: a value that a recipe sent, a value of the same
// kind, or rarely any value.
func (s *script) argument(t *rapid.T, i int) string {
	seen := rapid.SampledFrom(s.calls).Draw(t, "call")
	sent := ""
	if i < len(seen.argv) {
		sent = seen.argv[i]
	}
	_, err := strconv.ParseInt(sent, 10, 64)
	number := err == nil || sent == aTime
	switch rapid.IntRange(0, 19).Draw(t, "argument") {
	case 0:
		return rapid.SampledFrom(oddIntegers).Draw(t, "odd")
	case 1, 2, 3:
		return sent
	case 4:
		return rapid.SampledFrom(valuePool).Draw(t, "value")
	}
	if number { // a time or a lifetime; most outlast the script of commands
		return rapid.SampledFrom([]string{"100000", "100", "60000", aTime, "@ms+100"}).Draw(t, "number")
	}
	return rapid.SampledFrom([]string{"t1", "t2", "read", "write"}).Draw(t, "owner")
}

func sha(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// hello3 draws a HELLO, which may switch a session's protocol.
func hello3(t *rapid.T) []step {
	args := rapid.SampledFrom([][]string{
		{"HELLO", "3"}, {"HELLO", "3"}, {"HELLO", "3"}, {"HELLO"}, {"HELLO", "2"}, {"HELLO", "4"}, {"HELLO", "x"},
		{"HELLO", "3", "SETNAME", "name"}, {"HELLO", "3", "BAD"},
	}).Draw(t, "hello")
	return []step{{session: session(t), args: args}}
}

// tracking draws commands of a session that uses client-side caching, and writes of all
// sessions. No key expires meanwhile, because Redis does not define when it notices an expiry.
func tracking(t *rapid.T) []step {
	var steps []step
	do := func(session int, args ...string) { steps = append(steps, step{session: session, args: args}) }
	if rapid.IntRange(0, 2).Draw(t, "begin") == 0 {
		do(0, "HELLO", "3")
		do(0, append([]string{"CLIENT", "TRACKING"}, rapid.SampledFrom([][]string{
			{"ON"}, {"ON"}, {"ON", "NOLOOP"}, {"OFF"}, {"ON", "OPTIN"}, {"ON", "OPTOUT"}, {"ON", "OPTIN", "NOLOOP"},
			{"ON", "BCAST"}, {"ON", "BCAST", "PREFIX", "k"}, {"ON", "PREFIX", "k"}, {"ON", "REDIRECT", "999999"},
		}).Draw(t, "tracking")...)...)
	}
	reads := [][]string{
		{"GET", "k1"}, {"HGET", "h1", "t1"}, {"EXISTS", "k1"}, {"EVAL", `return redis.call("GET", KEYS[1])`, "1", "k1"},
		{"CLIENT", "CACHING", "YES"}, {"CLIENT", "CACHING", "NO"}, {"MGET", "k1", "k2"}, {"CLIENT", "GETREDIR"},
	}
	writes := [][]string{
		{"SET", "k1", "1"}, {"SET", "k1", "2", "NX"}, {"DEL", "k1"}, {"DEL", "h1", "k1"}, {"HSET", "h1", "t1", "1"}, {"HDEL", "h1", "t1"},
		{"PEXPIRE", "k1", "100000"}, {"SET", "k2", "1"}, {"EVAL", `return redis.call("SET", KEYS[1], "lua")`, "1", "k1"}, {"INCR", "k1"},
		{"FLUSHALL"}, {"PERSIST", "k1"}, {"GETDEL", "k1"}, {"RENAME", "k1", "k2"},
	}
	for range rapid.IntRange(1, 3).Draw(t, "commands") {
		if rapid.Bool().Draw(t, "read") {
			do(0, rapid.SampledFrom(reads).Draw(t, "read")...)
		} else {
			do(session(t), rapid.SampledFrom(writes).Draw(t, "write")...)
		}
	}
	return steps
}
