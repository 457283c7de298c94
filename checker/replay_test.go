package checker

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
	"github.com/lockstorm/lockstorm/locks"
)

// anyWords lists the keys, values and arguments of impossible evidence.
var anyWords = []string{"lock", "lock:read", "lock:write", "1", "2", "0", "-1", "1000", "token-zero", "NX", "PX", "EX", "", "99999999999999999999", "\xff\x00"}

func anyInstant() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
			return time.Duration(rapid.Int64().Draw(t, "any"))
		}
		return ms(float64(rapid.IntRange(0, 3000).Draw(t, "ms")))
	})
}

// anyCommand draws a command that may be impossible.
func anyCommand(claims history.Claims) *rapid.Generator[history.Command] {
	names := []string{"SET", "SETNX", "GETSET", "DEL", "EXPIRE", "PEXPIRE", "INCR", "HINCRBY", "hset", "EVAL", "EVALSHA", "EXEC", "GET", "PING", "FLUSHALL", ""}
	for sha := range claims.ScriptNames {
		names = append(names, sha)
	}
	slices.Sort(names)
	replies := []string{"", "OK", "nil", "1", "0", "-2", `"token-zero"`, `"`, "[1 2]", "ERR no", "NOSCRIPT no", "QUEUED", "CROSSSLOT no", "960"}
	return rapid.Custom(func(t *rapid.T) history.Command {
		instant := anyInstant()
		c := history.Command{
			Index: rapid.IntRange(-1, 100).Draw(t, "index"), Client: rapid.IntRange(-1, 3).Draw(t, "client"),
			Node: rapid.SampledFrom([]string{"n0", "n1", ""}).Draw(t, "node"), Op: rapid.IntRange(-1, 60).Draw(t, "op"),
			Sent: instant.Draw(t, "sent"), Arrived: instant.Draw(t, "arrived"), Served: instant.Draw(t, "served"), Replied: instant.Draw(t, "replied"),
			Exec: rapid.IntRange(-1, 40).Draw(t, "exec"), Reply: history.Bytes(rapid.SampledFrom(replies).Draw(t, "reply")),
		}
		for _, a := range rapid.SliceOfN(rapid.SampledFrom(anyWords), 0, 6).Draw(t, "args") {
			c.Args = append(c.Args, history.Bytes(a))
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		switch {
		case len(c.Args) > 2 && claims.ScriptNames[name] != "":
			c.Args[0], c.Args[1], c.Args[2] = "EVALSHA", history.Bytes(name), "1"
		case len(c.Args) > 0 && rapid.Bool().Draw(t, "named"):
			c.Args[0] = history.Bytes(name)
		}
		return c
	})
}

// anyContent draws a key's content on a node; nil for an absent key.
func anyContent() *rapid.Generator[*history.KeyContent] {
	word := rapid.SampledFrom(anyWords)
	return rapid.Custom(func(t *rapid.T) *history.KeyContent {
		k := &history.KeyContent{Type: rapid.SampledFrom([]string{"none", "string", "hash", "list", "set", "zset", ""}).Draw(t, "type")}
		if rapid.Bool().Draw(t, "mortal") {
			k.Expires = anyInstant().Draw(t, "expires")
		}
		switch k.Type {
		case "none":
			return nil
		case "hash", "zset":
			for _, name := range rapid.SliceOfN(word, 0, 3).Draw(t, "fields") {
				k.Fields = append(k.Fields, history.Field{Name: history.Bytes(name), Value: history.Bytes(word.Draw(t, "value"))})
			}
		case "list", "set":
			for _, m := range rapid.SliceOfN(word, 0, 3).Draw(t, "members") {
				k.Members = append(k.Members, history.Bytes(m))
			}
		default:
			k.Value = history.Bytes(word.Draw(t, "value"))
		}
		return k
	})
}

// anyChanges draws key changes that need not follow from each other or from commands. About
// half of them start from the content that the previous change left.
func anyChanges(t *rapid.T) []history.KeyChange {
	bys := []history.ChangedBy{
		history.ByCommand, history.ByCommand, history.ByCommand, history.ByExpiry, history.ByEviction, history.ByRestart, history.ByPromotion,
		history.ByReplication, history.ByMigration, history.ByClock, history.ByStranger, history.ByUnknown, "",
	}
	type where struct {
		node string
		key  history.Bytes
	}
	last := map[where]*history.KeyContent{}
	changes := make([]history.KeyChange, rapid.IntRange(0, 40).Draw(t, "changes"))
	for i := range changes {
		at := where{rapid.SampledFrom([]string{"n0", "n1", "n7"}).Draw(t, "node"), history.Bytes(rapid.SampledFrom(anyWords[:4]).Draw(t, "key"))}
		c := history.KeyChange{
			Index: i, Node: at.node, Key: at.key, By: rapid.SampledFrom(bys).Draw(t, "by"), Exec: rapid.IntRange(-1, 40).Draw(t, "exec"),
			From: anyInstant().Draw(t, "from"), To: anyInstant().Draw(t, "to"), Before: last[at], After: anyContent().Draw(t, "after"),
		}
		if !rapid.Bool().Draw(t, "chained") {
			c.Before = anyContent().Draw(t, "before")
		}
		last[at] = c.After
		changes[i] = c
	}
	return changes
}

// anyNemesis inserts random events of the nemesis into a history.
func anyNemesis(t *rapid.T, ops []history.Op) []history.Op {
	names := []string{
		history.FClock, history.FNodeDown, history.FNodeUp, history.FPromote, history.FNodeClock, history.FHealed, history.FKeys, history.FEvict,
		history.FSplit, history.FMigrate, history.FUnseen, history.FDeadlock,
	}
	nodes := []string{"n0", "n1", "n9"}
	var mixed []history.Op
	for _, op := range ops {
		if rapid.IntRange(0, 9).Draw(t, "event") == 0 {
			e := history.Op{Process: history.Nemesis, Type: history.Info, Time: op.Time, Client: rapid.IntRange(-1, 2).Draw(t, "whom"), Node: rapid.SampledFrom(nodes).Draw(t, "node")}
			e.F = rapid.SampledFrom(names).Draw(t, "f")
			e.From = rapid.SampledFrom(append(nodes, "", "", "")).Draw(t, "place")
			e.Offset = time.Duration(rapid.Int64Range(int64(-keyspace.Lifetime)+1, int64(keyspace.Lifetime)-1).Draw(t, "offset"))
			if e.F == history.FKeys || e.F == history.FEvict {
				e.Keys = []history.KeyState{{Key: "lock", TTL: time.Duration(rapid.Int64().Draw(t, "ttl"))}}
			}
			mixed = append(mixed, e)
		}
		mixed = append(mixed, op)
	}
	for i := range mixed {
		mixed[i].Index = i
	}
	return mixed
}

func TestNoEvidenceBringsTheOraclesDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := histories.Random(rapid.Uint64().Draw(t, "seed"))
		claims := rapid.SampledFrom(locks.All()).Draw(t, "recipe").Claims(time.Second, 5)
		claims.ReadWrite, claims.Reentrant = e.Claims.ReadWrite, e.Claims.Reentrant
		e.Claims = claims
		e.Ops = anyNemesis(t, e.Ops)
		e.Commands = rapid.SliceOfN(anyCommand(claims), 0, 40).Draw(t, "commands")
		e.Keys = anyChanges(t)
		e.Watched = rapid.IntRange(0, 9).Draw(t, "watched") > 0
		var findings []Finding
		for client := range 3 {
			for i := range e.Ops {
				findings = append(findings, Finding{Cause: Unclassified, Lock: e.Ops[i].Lock, Clients: []int{client, e.Ops[i].Client}, From: e.Ops[i].Time, Ops: []int{i, i + 1, i + 5}})
			}
		}
		// Do not call Judge here: it would turn a panic into unknown.
		first := []any{ownership(t.Context(), NewCase(e)), liveness(t.Context(), NewCase(e)), classifyFindings(NewCase(e), findings)}
		again := []any{ownership(t.Context(), NewCase(e)), liveness(t.Context(), NewCase(e)), classifyFindings(NewCase(e), findings)}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("two judgements of one evidence differ:\n%+v\n%+v", first, again)
		}
		for _, v := range first[:2] {
			checkFindings(t, e, v.(Verdict))
		}
	})
}

// checkFindings checks that a violation has findings, with causes and summaries, and that
// other verdicts have no findings.
func checkFindings(t *rapid.T, e history.Evidence, v Verdict) {
	if (v.Result == Violated) != (len(v.Findings) > 0) || v.Result == Unknown && v.words() == "" {
		t.Fatalf("an inconsistent verdict: %+v", v)
	}
	for _, f := range v.Findings {
		if !slices.Contains(Causes(), f.Cause) || plain.Summary(f) == "" || f.To < f.From {
			t.Fatalf("an inconsistent finding: %+v", f)
		}
		for _, op := range f.Ops {
			if op < 0 || op >= len(e.Ops) {
				t.Fatalf("a finding about entry %d of %d", op, len(e.Ops))
			}
		}
	}
}
