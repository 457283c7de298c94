package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// outcomeText writes an outcome in a line: "k there · set k=v 1s".
func outcomeText(o outcome) string {
	var parts []string
	for _, s := range o.sights {
		said := s.key + " gone"
		if s.present {
			said = s.key + " there"
		}
		if s.value != nil {
			said += "=" + *s.value
		}
		parts = append(parts, said)
	}
	for _, a := range o.acts {
		said := fmt.Sprintf("%s %s", a.kind, a.key)
		if a.field != "" {
			said += "." + strings.ReplaceAll(a.field, ownField, "own")
		}
		if a.kind == history.EffectSet && !strings.Contains(a.value, "\x00") {
			said += "=" + a.value
		}
		if a.ttl != 0 {
			said += " " + a.ttl.String()
		}
		if a.keep {
			said += " keep"
		}
		if a.sometime {
			said += " sometime"
		}
		parts = append(parts, said)
	}
	if o.possible {
		parts = append(parts, "perhaps")
	}
	if o.opaque {
		parts = append(parts, "opaque")
	}
	return strings.Join(parts, " · ")
}

func TestWhatCommandsDo(t *testing.T) {
	for _, c := range []struct{ command, reply, want string }{
		{"SET k v", "OK", "set k=v"},
		{"set k v ex 2 nx", "OK", "k gone · set k=v 2s"},
		{"SET k v NX PX 1500", "OK", "k gone · set k=v 1.5s"},
		{"SET k v NX PX 1500", "nil", "k there"},
		{"SET k v XX KEEPTTL", "OK", "k there · set k=v keep"},
		{"SET k v XX", "nil", "k gone"},
		{"SET k v NX GET", "nil", "k gone · set k=v"},
		{"SET k v NX GET", `"old"`, "k there=old"},
		{"SET k v GET EXAT 1700000000", `"old"`, "k there=old · set k=v sometime"},
		{"SET k v NX PX 1500", "", "set k=v 1.5s · perhaps"},
		{"SET k v", "READONLY You can't write against a read only replica.", ""},
		{"SET k", "ERR wrong number of arguments for 'set' command", ""},
		{"SETNX k v", "1", "k gone · set k=v"},
		{"SETNX k v", "0", "k there"},
		{"GETSET k v", `"old"`, "k there=old · set k=v"},
		{"GETSET k v", "nil", "k gone · set k=v"},
		{"SETEX k 3 v", "OK", "set k=v 3s"},
		{"PSETEX k 3 v", "OK", "set k=v 3ms"},
		{"DEL k", "1", "k there · delete k"},
		{"UNLINK k", "0", "k gone"},
		{"DEL k l", "2", "k there · l there · delete k · delete l"},
		{"DEL k l", "1", "delete k · delete l · perhaps"},
		{"GETDEL k", `"v"`, "k there=v · delete k"},
		{"EXPIRE k 2", "1", "k there · expire k 2s"},
		{"EXPIRE k 2", "0", "k gone"},
		{"EXPIRE k 2 NX", "0", ""},
		{"PEXPIRE k -1", "1", "k there · delete k -1ms"},
		{"PEXPIREAT k 1700000000000", "1", "k there · expire k sometime"},
		{"EXPIRE k x", "1", "k there · expire k sometime"},
		{"PERSIST k", "1", "k there · persist k"},
		{"PERSIST k", "0", ""},
		{"HSET h f v", "1", "set h.f=v keep"},
		{"HINCRBY h f 1", "1", "set h.f= keep"},
		{"HINCRBY h f -1", "0", ""},
		{"HDEL h f", "1", "h there · delete h.f"},
		{"HDEL h f", "0", ""},
		{"HDEL h f g", "1", "h there · delete h.f · delete h.g · perhaps"},
		{"GET k", "nil", "k gone"},
		{"GET k", `"v"`, "k there=v"},
		{"HGET h f", `"v"`, "h there"},
		{"HGET h f", "nil", ""},
		{"EXISTS k", "0", "k gone"},
		{"EXISTS k l", "1", ""},
		{"PTTL k", "-2", "k gone"},
		{"TTL k", "-1", "k there"},
		{"PUBLISH channel text", "0", ""},
		{"INCR k", "1", "opaque"},
		{"DEL k", "QUEUED", "opaque"},
		{"RENAME k l", "ERR no such key", ""},
	} {
		var cmd history.Command
		for _, a := range strings.Fields(c.command) {
			cmd.Args = append(cmd.Args, history.Bytes(a))
		}
		cmd.Reply = history.Bytes(c.reply)
		if got := outcomeText(readCommand(cmd, nil)); got != c.want {
			t.Errorf("%s → %s\n got %s\nwant %s", c.command, c.reply, got, c.want)
		}
	}
}

func TestWhatDeclaredScriptsDo(t *testing.T) {
	source := "return 1"
	scripts := map[string]history.Script{digestOf("EVAL", source): {Name: "enter", Effects: map[string][]history.Effect{
		"1":    {{Kind: history.EffectSet, Key: 1, TTLArg: 2, TTLUnit: time.Second}},
		"OK":   {{Kind: history.EffectSet, Field: true}, {Kind: history.EffectExpire, TTLArg: 2, TTLUnit: time.Millisecond}},
		`"x"`:  {{Kind: history.EffectDelete, Key: 7}},
		"nil":  nil,
		"*":    {{Kind: history.EffectDelete}},
		"GONE": {{Kind: history.EffectPersist}},
	}}}
	for _, c := range []struct{ reply, want string }{
		{"1", "set l 5s"},
		{"OK", "set k.own keep · expire k 5ms"},
		{"nil", ""},
		{"27", "k there · delete k"},
		{`"x"`, "opaque"},
		{"ERR user_script:3: attempt to index a nil value", "opaque"},
		{"OOM command not allowed when used memory > 'maxmemory'.", ""},
		{"NOSCRIPT No matching script. Please use EVAL.", ""},
	} {
		for _, first := range []string{"EVAL " + source, "EVALSHA " + strings.ToUpper(digestOf("EVAL", source))} {
			name, script, _ := strings.Cut(first, " ")
			args := []string{name, script, "2", "k", "l", "owner-name", "5"}
			cmd := history.Command{Reply: history.Bytes(c.reply)}
			for _, a := range args {
				cmd.Args = append(cmd.Args, history.Bytes(a))
			}
			if got := outcomeText(readCommand(cmd, scripts)); got != c.want {
				t.Errorf("%s → %s\n got %s\nwant %s", name, c.reply, got, c.want)
			}
		}
	}
	undeclared := history.Command{Args: []history.Bytes{"EVALSHA", "abc", "1", "k"}, Reply: "1"}
	if o := readCommand(undeclared, scripts); !o.opaque || !slices.Equal(o.keys, []string{"k"}) {
		t.Errorf("an undeclared script that ran: got %+v, want opaque for its keys", o)
	}
	undeclared.Reply = "NOSCRIPT No matching script."
	if o := readCommand(undeclared, scripts); o.opaque {
		t.Errorf("an undeclared script that did not run: got %+v, want nothing", o)
	}
}
