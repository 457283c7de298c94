package checker

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// anyCommand draws a command that may be quite impossible.
func anyCommand(claims history.Claims) *rapid.Generator[history.Command] {
	words := []string{"lock", "lock:read", "lock:write", "1", "0", "-1", "1000", "token-zero", "NX", "PX", "EX", "GET", "KEEPTTL", "", "99999999999999999999", "\xff\x00"}
	names := append(slices.Sorted(maps.Keys(commandReaders)), "EVAL", "EVALSHA", "PING", "FLUSHALL", "INCR", "hset", "")
	replies := []string{"", "OK", "nil", "1", "0", "-2", `"token-zero"`, `"`, "[1 2]", "ERR no", "NOSCRIPT no", "QUEUED", "960"}
	instant := rapid.Custom(func(t *rapid.T) time.Duration {
		if rapid.IntRange(0, 30).Draw(t, "odd") == 0 {
			return time.Duration(rapid.Int64().Draw(t, "any"))
		}
		return ms(float64(rapid.IntRange(0, 3000).Draw(t, "ms")))
	})
	return rapid.Custom(func(t *rapid.T) history.Command {
		c := history.Command{
			Index: rapid.IntRange(-1, 100).Draw(t, "index"), Client: rapid.IntRange(-1, 3).Draw(t, "client"),
			Node: rapid.SampledFrom([]string{"n0", "n1", ""}).Draw(t, "node"), Op: rapid.IntRange(-1, 60).Draw(t, "op"),
			Sent: instant.Draw(t, "sent"), Arrived: instant.Draw(t, "arrived"), Served: instant.Draw(t, "served"), Replied: instant.Draw(t, "replied"),
			Exec: rapid.IntRange(-1, 40).Draw(t, "exec"), Reply: history.Bytes(rapid.SampledFrom(replies).Draw(t, "reply")),
		}
		for _, a := range rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).Draw(t, "args") {
			c.Args = append(c.Args, history.Bytes(a))
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		if len(c.Args) > 0 && rapid.Bool().Draw(t, "named") {
			c.Args[0] = history.Bytes(name)
		}
		if len(c.Args) > 2 && len(claims.Scripts) > 0 && strings.HasPrefix(name, "EVAL") {
			s := rapid.SampledFrom(claims.Scripts).Draw(t, "script")
			c.Args[0], c.Args[1], c.Args[2] = "EVALSHA", history.Bytes(s.SHA1), "1"
		}
		return c
	})
}

// anyNemesis mixes events and windows of the nemesis into a history.
func anyNemesis(t *rapid.T, ops []history.Op) []history.Op {
	var mixed []history.Op
	for i, op := range ops {
		if rapid.IntRange(0, 9).Draw(t, "event") == 0 {
			e := history.Op{Process: history.Nemesis, Type: history.Info, Time: op.Time, Client: rapid.IntRange(-1, 2).Draw(t, "whom"), Node: rapid.SampledFrom([]string{"n0", "n1", "n9"}).Draw(t, "node")}
			e.F = rapid.SampledFrom([]string{history.FClock, history.FNodeDown, history.FNodeUp, history.FPromote, history.FNodeClock, history.FHealed, history.FKeys, history.FEvict, history.FSplit, history.FDeadlock}).Draw(t, "f")
			e.Offset = time.Duration(rapid.Int64Range(int64(-lifetime)+1, int64(lifetime)-1).Draw(t, "offset"))
			if e.F == history.FKeys || e.F == history.FEvict {
				e.Keys = []history.KeyState{{Key: "lock", TTL: time.Duration(rapid.Int64().Draw(t, "ttl"))}}
			}
			mixed = append(mixed, e)
		}
		op.Index = i
		mixed = append(mixed, op)
	}
	for i := range mixed {
		mixed[i].Index = i
	}
	return mixed
}

func TestNoCommandsBringTheOraclesDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := randomEvidence(rapid.Uint64().Draw(t, "seed"))
		claims := rapid.SampledFrom(locks.All()).Draw(t, "recipe").Claims(time.Second, 5)
		claims.ReadWrite, claims.Reentrant = e.Claims.ReadWrite, e.Claims.Reentrant
		e.Claims = claims
		e.Ops = anyNemesis(t, e.Ops)
		e.Commands = rapid.SliceOfN(anyCommand(claims), 0, 40).Draw(t, "commands")
		var findings []Finding
		for client := range 3 {
			for i := range e.Ops {
				findings = append(findings, Finding{Cause: Unclassified, Lock: e.Ops[i].Lock, Clients: []int{client, e.Ops[i].Client}, From: e.Ops[i].Time, Ops: []int{i, i + 1, i + 5}})
			}
		}
		// Not through Judge, which would turn a panic into unknown.
		first := []any{ownership(t.Context(), newCaseFile(e)), liveness(t.Context(), newCaseFile(e)), classifyFindings(newCaseFile(e), findings)}
		again := []any{ownership(t.Context(), newCaseFile(e)), liveness(t.Context(), newCaseFile(e)), classifyFindings(newCaseFile(e), findings)}
		if !reflect.DeepEqual(first, again) {
			t.Fatalf("two judgements of one evidence differ:\n%+v\n%+v", first, again)
		}
		for _, v := range first[:2] {
			checkFindings(t, e, v.(Verdict))
		}
	})
}

// checkFindings: a violation has findings with causes and words; nothing else has any.
func checkFindings(t *rapid.T, e history.Evidence, v Verdict) {
	if (v.Result == Violated) != (len(v.Findings) > 0) || v.Result == Unknown && v.Why == "" {
		t.Fatalf("an inconsistent verdict: %+v", v)
	}
	for _, f := range v.Findings {
		if !slices.Contains(Causes(), f.Cause) || f.Summary == "" || f.To < f.From {
			t.Fatalf("an inconsistent finding: %+v", f)
		}
		for _, op := range f.Ops {
			if op < 0 || op >= len(e.Ops) {
				t.Fatalf("a finding about entry %d of %d", op, len(e.Ops))
			}
		}
	}
}

// miniature is a Redis of one key, by its own rules, with time in whole
// milliseconds, for comparison with what the walk makes of its replies.
type miniature struct {
	present bool
	value   string
	setter  int // place of the command that set it
	expiry  int // 0 = none
}

func (m *miniature) do(pos, now int, args []string) (reply string) {
	if m.present && m.expiry > 0 && now > m.expiry {
		*m = miniature{}
	}
	was := m.present
	atoi := func(s string) (n int) { _, _ = fmt.Sscan(s, &n); return n }
	one := map[bool]string{true: "1", false: "0"}
	switch strings.Join(append(args[:1:1], args[min(3, len(args)):]...), " ") {
	case "SET NX PX 100", "SET NX PX 300":
		if was {
			return "nil"
		}
		*m = miniature{true, args[2], pos, now + atoi(args[5])}
		return "OK"
	case "SET":
		*m = miniature{true, args[2], pos, 0}
		return "OK"
	case "SETNX":
		if !was {
			*m = miniature{true, args[2], pos, 0}
		}
		return one[!was]
	case "GETSET":
		old := "nil"
		if was {
			old = quoted(m.value)
		}
		*m = miniature{true, args[2], pos, 0}
		return old
	case "GET":
		if !was {
			return "nil"
		}
		return quoted(m.value)
	case "DEL":
		*m = miniature{}
		return one[was]
	case "PEXPIRE":
		if was {
			m.expiry = now + atoi(args[2])
		}
		return one[was]
	case "PERSIST":
		had := was && m.expiry > 0
		m.expiry = 0
		return one[had]
	}
	return one[was] // EXISTS
}

// forms are commands of one key with a value to fill in.
var forms = []string{
	"SET lock %s NX PX 100", "SET lock %s NX PX 300", "SET lock %s", "SETNX lock %s", "GETSET lock %s", "GET lock", "DEL lock",
	"PEXPIRE lock 150", "PERSIST lock", "EXISTS lock",
}

func TestTheWalkKnowsWhoseKeyItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m miniature
		var e history.Evidence
		now := 1
		last := rapid.IntRange(1, 40).Draw(t, "commands")
		for pos := range last + 1 {
			now += rapid.SampledFrom([]int{1, 10, 50, 120, 400}).Draw(t, "later")
			form := rapid.SampledFrom(forms).Draw(t, "form")
			if pos == last {
				form = "EXISTS lock" // what the end looks like shall not be left open
			}
			if strings.Contains(form, "%s") {
				form = fmt.Sprintf(form, rapid.SampledFrom([]string{"1", "token-a", "token-b"}).Draw(t, "value"))
			}
			c := history.Command{
				Index: pos, Client: pos % 3, Node: "n0", Op: -1, Exec: pos + 1, Sent: ms(float64(now)), Arrived: ms(float64(now)),
				Served: ms(float64(now) + 0.2), Replied: ms(float64(now) + 0.3),
			}
			for _, a := range strings.Fields(form) {
				c.Args = append(c.Args, history.Bytes(a))
			}
			c.Reply = history.Bytes(m.do(pos, now, strings.Fields(form)))
			e.Commands = append(e.Commands, c)
		}
		l, err := newLedger(newCaseFile(e))
		if err != nil {
			t.Fatal(err)
		}
		w := readWire(l)
		for _, s := range w.lives {
			if !s.sure || s.end != nil && !s.end.sure {
				t.Fatalf("nothing is uncertain here, but %+v ended %+v", s, s.end)
			}
			if s.end != nil && s.end.how == lost {
				t.Fatalf("nothing is lost here, but %+v", s)
			}
		}
		switch got := w.standing("n0", "lock"); {
		case (got != nil) != m.present:
			t.Fatalf("the key is there: %v, the walk says %+v", m.present, got)
		case got != nil && got.cmd != m.setter:
			t.Fatalf("command %d set the key, the walk says %d", m.setter, got.cmd)
		case got != nil && got.terms[len(got.terms)-1].ttl != (m.expiry > 0):
			t.Fatalf("the key has a TTL: %v, the walk says %+v", m.expiry > 0, got.terms)
		}
	})
}

// TestGoodLocksAreNeverAccused lets clients use the standard lock on a
// miniature Redis: no schedule makes ownership say more than holds.
func TestGoodLocksAreNeverAccused(t *testing.T) {
	recipe, _ := locks.ByID("set-nx-px")
	claims := recipe.Claims(300*time.Millisecond, 1)
	rapid.Check(t, func(t *rapid.T) {
		var m miniature
		e := history.Evidence{Claims: claims}
		held := map[int]string{}
		now := 1
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.SampledFrom([]int{2, 10, 50, 120, 400}).Draw(t, "later")
			client := rapid.IntRange(0, 2).Draw(t, "client")
			invoke := history.Op{Process: history.Process(client), Client: client, Type: history.Invoke, Lock: "lock", Time: ms(float64(now) - 0.5)}
			c := history.Command{
				Index: len(e.Commands), Client: client, Node: "n0", Op: len(e.Ops), Exec: len(e.Commands) + 1, Sent: ms(float64(now) - 0.1),
				Arrived: ms(float64(now)), Served: ms(float64(now) + 0.2), Replied: ms(float64(now) + 0.3),
			}
			done := invoke
			done.Time, done.Type = ms(float64(now)+0.4), history.OK
			if token := held[client]; token == "" {
				token = fmt.Sprintf("token-%d-%d", client, n)
				args := []string{"SET", "lock", token, "NX", "PX", "300"}
				invoke.F, done.F = history.FAcquire, history.FAcquire
				c.Args, c.Reply = bytesOf(args), history.Bytes(m.do(n, now, args))
				if c.Reply == "nil" {
					done.Type = history.Fail
				} else {
					held[client] = token
				}
				done.Lease = &history.Lease{Token: token}
			} else {
				invoke.F, done.F = history.FRelease, history.FRelease
				c.Args, c.Reply = bytesOf([]string{"EVALSHA", claims.Scripts[0].SHA1, "1", "lock", token}), "0"
				if m.do(n, now, []string{"GET", "lock"}) == quoted(token) {
					c.Reply = history.Bytes(m.do(n, now, []string{"DEL", "lock"}))
				}
				held[client] = ""
			}
			e.Ops = append(e.Ops, invoke, done)
			e.Commands = append(e.Commands, c)
		}
		for i := range e.Ops {
			e.Ops[i].Index = i
		}
		if v := ownership(t.Context(), newCaseFile(e)); v.Result != Held {
			t.Fatalf("ownership: %+v", v)
		}
		if v := liveness(t.Context(), newCaseFile(e)); v.Result != Unknown || len(v.Findings) > 0 {
			t.Fatalf("liveness of a run that never healed: %+v", v)
		}
		v, err := exclusion(t.Context(), newCaseFile(e))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Findings {
			if f.Cause != LeaseOutlived {
				t.Fatalf("what an overrun did is called %s: %s", f.Cause, f.Summary)
			}
		}
	})
}

func bytesOf(args []string) []history.Bytes {
	var all []history.Bytes
	for _, a := range args {
		all = append(all, history.Bytes(a))
	}
	return all
}
