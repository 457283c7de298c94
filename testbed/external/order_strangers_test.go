package external

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// TestNoOrderIsClaimedIfSomebodyElseWrote lays lines of others among those of a client,
// whose own commands fit.
func TestNoOrderIsClaimedIfSomebodyElseWrote(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string // origin, then what was told
		err   string   // "" = the order is known
	}{
		"a delete":               {[]string{`o:9] "DEL" "lock"`}, "somebody else wrote: DEL lock from o:9"},
		"in lower case":          {[]string{`o:9] "set" "lock" "a b" "px" "10"`}, `somebody else wrote: set lock "a b" px 10 from o:9`},
		"everything":             {[]string{`o:9] "FLUSHALL"`}, "somebody else wrote: FLUSHALL from o:9"},
		"a look that gives time": {[]string{`o:9] "GETEX" "lock" "PERSIST"`}, "somebody else wrote: GETEX lock PERSIST from o:9"},
		"an unknown command":     {[]string{`o:9] "NEWTHING" "" "\x00"`}, `somebody else wrote: NEWTHING "" "\x00" from o:9`},
		"over a unix socket":     {[]string{`unix:/s] "DEL" "lock"`}, "somebody else wrote: DEL lock from unix:/s"},
		"in a transaction":       {[]string{`o:9] "MULTI"`, `o:9] "DEL" "lock"`, `o:9] "EXEC"`}, "somebody else wrote: DEL lock from o:9"},
		"in a script":            {[]string{`o:9] "EVALSHA" "ff" "1" "lock"`, `lua] "get" "lock"`, `lua] "del" "lock"`}, "somebody else wrote: del lock from a script of o:9"},
		"a script, later":        {[]string{`c:1] "SET" "k" "1"`, `o:9] "EVAL" "…" "0"`, `lua] "del" "lock"`}, "somebody else wrote: del lock from a script of o:9"},
		"scripts flushed":        {[]string{`o:9] "script" "flush"`}, "somebody else wrote: script flush from o:9"},
		"a script loaded":        {[]string{`o:9] "SCRIPT" "LOAD" "…"`}, ""},
		"much":                   {[]string{`o:9] "MSET" "a" "1" "b" "2" "c" "` + strings.Repeat("3", 41) + `"`}, "somebody else wrote: MSET a 1 b 2 c … from o:9"},
		"something long":         {[]string{`o:9] "APPEND" "k" "` + strings.Repeat("3", 41) + `"`}, "somebody else wrote: APPEND k " + strings.Repeat("3", 40) + "… from o:9"},
		"another trial's":        {[]string{`o:9] "ECHO" "other-1"`, `o:9] "SET" "k" "1"`}, "somebody else wrote: SET k 1 from o:9"},
		"a look":                 {[]string{`o:9] "HELLO" "2"`, `o:9] "SELECT" "0"`, `o:9] "SCAN" "0"`, `o:9] "MULTI"`, `o:9] "TYPE" "k"`, `o:9] "PTTL" "k"`, `o:9] "GET" "k"`, `o:9] "HGETALL" "k"`, `o:9] "EXEC"`}, ""},
		"a script that looks":    {[]string{`o:9] "EVAL" "…" "1" "k"`, `lua] "get" "k"`}, ""},
		"a Sentinel that came":   {[]string{`o:9] "CLIENT" "SETNAME" "sentinel-a5df2b70-cmd"`, `o:9] "PING"`, `o:9] "INFO"`, `o:9] "PUBLISH" "__sentinel__:hello" "s0,…"`, `o:8] "CLIENT" "SETNAME" "sentinel-a5df2b70-pubsub"`, `o:8] "SUBSCRIBE" "__sentinel__:hello"`}, ""},
		"a replica that came":    {[]string{`o:9] "PING"`, `o:9] "REPLCONF" "listening-port" "6379"`, `o:9] "PSYNC" "?" "-1"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, line := range append(append([]string{`c:1] "ECHO" "tag-a"`}, c.lines...), `c:1] "GET" "k"`) {
				text.WriteString("+1795300281.000000 [0 " + line + "\n")
			}
			commands := []*history.Command{sentAs("", "SET k 1"), sentAs("nil", "GET k")}
			stamps, err := order("tag-", map[string]*talk{"tag-a": {commands: commands}}, readAll(t, text.String()))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != c.err {
				t.Errorf("got error %q, want %q", got, c.err)
			}
			if c.err == "" && (len(stamps) != 1 || stamps[0].command != commands[1]) {
				t.Errorf("got %+v, want the place of GET", stamps)
			}
		})
	}
}

// TestWhatTheServerSaysWritesCountsAsSuch compares the list with what the server itself
// says of its commands.
func TestWhatTheServerSaysWritesCountsAsSuch(t *testing.T) {
	c := admin(t, &redis.Options{Addr: startRedis(t).Addr()})
	all, err := c.Command(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	writes, reads := 0, 0
	for name, info := range all {
		counts := stranger([]history.Bytes{history.Bytes(name)}, "x") != nil
		for _, flag := range info.Flags {
			switch flag {
			case "write":
				writes++
				if !counts {
					t.Errorf("%s: the server says that it writes", name)
				}
			case "readonly":
				if !counts {
					reads++
				}
			}
		}
	}
	if writes == 0 || reads == 0 {
		t.Errorf("the server told of %d commands that write, and %d that do not", writes, reads)
	}
}

// TestTheLabClaimsNoOrderIfSomebodyElseDeletes wants that a key which a stranger deleted
// is not laid to the clients' charge.
func TestTheLabClaimsNoOrderIfSomebodyElseDeletes(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	commands := inLab(t, testbed.Setup{Logs: logs}, func(ctx context.Context, e testbed.Env) error {
		set := first(e).Set(ctx, "lock", "1", 0).Err()
		del := e.(*labEnv).nodes[0].ask(ctx, func(c *redis.Client) error {
			return c.Eval(ctx, "return redis.call('del', KEYS[1])", []string{"lock"}).Err()
		})
		return errors.Join(set, del, first(e).Set(ctx, "lock", "2", 0).Err())
	})
	for _, c := range commands {
		if c.Exec > 0 {
			t.Fatalf("got %+v", c)
		}
	}
	why, err := os.ReadFile(filepath.Join(logs, "order.log"))
	if err != nil || !strings.Contains(string(why), "n0: somebody else wrote: del lock from a script of 127.0.0.1:") {
		t.Errorf("got %s, %v", why, err)
	}
}
