package external

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// readAll reads lines of MONITOR, each heard 1 ms after it was told.
func readAll(t *testing.T, text string) (all []told) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		l, err := readTold(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		l.heard = sinceStart(l.at) + time.Millisecond
		all = append(all, l)
	}
	return all
}

// started is when the trials of these tests did, on their nodes' clocks.
const started = 1795300279 * time.Second

func sinceStart(at time.Duration) time.Duration { return at - started }

// sentAs is a command that was sent early; without a reply it got none.
func sentAs(reply, text string) *history.Command {
	c := &history.Command{Sent: time.Millisecond, Reply: history.Bytes(reply)}
	if reply != "" {
		c.Replied = time.Hour
	}
	for arg := range strings.FieldsSeq(text) {
		c.Args = append(c.Args, history.Bytes(arg))
	}
	return c
}

// numbers are the places in the order, "-" of what was answered without one and
// "" of what is not known to have come.
func numbers(commands []*history.Command, stamps []stamp) (all []string) {
	for _, c := range commands {
		text := ""
		for _, s := range stamps {
			if s.command != c {
				continue
			}
			if text = "-"; s.exec > 0 {
				text = string(rune('a' + s.exec - 1))
			}
		}
		all = append(all, text)
	}
	return all
}

func TestRecordedLinesFitTheCommandsOfTheirConnection(t *testing.T) {
	text, err := os.ReadFile("testdata/monitor-7.0.15.txt")
	if err != nil {
		t.Fatal(err)
	}
	replace := func(c *history.Command, i int, arg string) *history.Command {
		c.Args[i] = history.Bytes(arg)
		return c
	}
	const wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
	var commands []*history.Command
	var want []string
	add := func(place string, c *history.Command) { commands, want = append(commands, c), append(want, place) }
	add("a", sentAs("OK", "SET k v NX PX 1000"))
	add("b", sentAs("nil", "SET k w NX PX 1000"))
	add("-", sentAs("ERR wrong number of arguments for 'set' command", "SET"))
	add("-", sentAs("ERR unknown command 'NOSUCH'", "NOSUCH a"))
	add("c", sentAs("OK", "WATCH k"))
	add("d", sentAs("OK", "MULTI"))
	add("e", sentAs("QUEUED", "SET a 1"))
	add("f", sentAs("QUEUED", "INCR a"))
	add("g", sentAs("QUEUED", "LPUSH k x"))
	add("h", sentAs("[OK 2 "+wrong+"]", "EXEC"))
	add("i", sentAs("OK", "MULTI"))
	add("-", sentAs("ERR wrong number of arguments for 'set' command", "SET"))
	add("j", sentAs("EXECABORT Transaction discarded because of previous errors.", "EXEC"))
	add("k", sentAs("OK", "MULTI"))
	add("-", sentAs("QUEUED", "SET q 1"))
	add("l", sentAs("OK", "DISCARD"))
	add("m", sentAs("OK", "WATCH k"))
	add("n", sentAs("OK", "SET k other"))
	add("o", sentAs("OK", "MULTI"))
	add("-", sentAs("QUEUED", "SET k third"))
	add("p", sentAs("nil", "EXEC"))
	eval := replace(sentAs(`"…"`, "EVAL source 1 s escaped"), 1, "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])")
	add("q", replace(eval, 4, "a\"b\x00\xff\n"))
	add("r", sentAs("NOSCRIPT No matching script.", "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 s"))
	add("s", replace(sentAs(wrong, "EVAL source 1 s"), 1, "return redis.call('lpush', KEYS[1], 'x')"))
	add("t", replace(sentAs("BAD x", "EVAL source 1 s"), 1, "return redis.error_reply('BAD x')"))
	add("u", replace(sentAs(`"e0e1"`, "SCRIPT LOAD source"), 2, "return 1"))
	add("v", sentAs("OK", "CLIENT SETNAME x"))
	add("w", sentAs(`"id=4"`, "CLIENT INFO"))
	add("x", sentAs("[]", "HELLO 2"))
	add("y", sentAs("ERR AUTH", "AUTH"))
	add("z", sentAs("OK", "SELECT 1"))
	add("{", sentAs("nil", "GET k"))
	add("-", sentAs("OK", "QUIT"))              // which other versions tell
	add("|", sentAs("0", "WAIT 0 10"))          // answered later
	add("}", sentAs("nil", "BLPOP nolist 0.1")) // the same
	add("~", sentAs("[subscribe ch 1]", "SUBSCRIBE ch"))
	add("", sentAs("", "SET never came"))

	lines := readAll(t, string(text))
	others := slices.IndexFunc(lines, func(l told) bool { return l.from != fromScript && l.from != lines[0].from })
	stamps, err := order("tag-", map[string]*talk{"tag-1": {commands: commands}}, lines[:others])
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(commands, stamps); !slices.Equal(got, want) {
		t.Errorf("got %q,\nwant %q", got, want)
	}
	for _, s := range stamps {
		if c := s.command; s.arrived < c.Sent || s.served < s.arrived || s.served > c.Replied && c.Reply != "QUEUED" {
			t.Errorf("%s: arrived %v, served %v", c.Args, s.arrived, s.served)
		}
		if s.command == eval { // until its last call had ended
			from, to := 515139*time.Microsecond, 515199*time.Microsecond
			if s.arrived > from || s.served < to || s.served > to+time.Millisecond {
				t.Errorf("a script of %v to %v: got %v to %v", from, to, s.arrived, s.served)
			}
		}
	}
}

func TestCommandsOfSeveralConnectionsAreTakenApart(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		a, b  []*history.Command
		want  string // places, a's first
		err   string
	}{
		"in turns": {
			lines: `1 a "ECHO" "tag-a"|2 b "ECHO" "tag-b"|3 b "SET" "k" "1"|4 a "SET" "k" "1"|5 b "GET" "k"`,
			a:     []*history.Command{sentAs("OK", "SET k 1")},
			b:     []*history.Command{sentAs("OK", "SET k 1"), sentAs(`"1"`, "GET k")},
			want:  "b,a c",
		},
		"others' commands": {
			lines: `1 a "ECHO" "tag-a"|2 c "ECHO" "tag"|2 c "GET" "k"|3 a "SET" "k" "1"`,
			a:     []*history.Command{sentAs("OK", "SET k 1")},
			want:  "a,",
		},
		"one address after the other": {
			lines: `1 a "ECHO" "tag-a"|2 a "SET" "k" "1"|3 a "ECHO" "tag-b"|4 a "SET" "k" "2"`,
			a:     []*history.Command{sentAs("", "SET k 1"), sentAs("", "SET k 2")},
			b:     []*history.Command{sentAs("OK", "SET k 2")},
			want:  "a ,b",
		},
		"a reply that got lost": {
			lines: `1 a "ECHO" "tag-a"|2 a "SET" "k" "1"`,
			a:     []*history.Command{sentAs("", "SET k 1")},
			b:     []*history.Command{sentAs("", "SET k 1")},
			want:  "a,",
		},
		"the same twice, without replies": {
			lines: `1 a "ECHO" "tag-a"|2 a "SET" "k" "1"`,
			a:     []*history.Command{sentAs("", "SET k 1"), sentAs("", "SET k 1")},
			want:  "a ,",
		},
		"refused, then not": {
			lines: `1 a "ECHO" "tag-a"|2 a "SET" "k" "1"`,
			a:     []*history.Command{sentAs("OOM command not allowed", "SET k 1"), sentAs("OK", "SET k 1")},
			err:   "which SET was executed cannot be told",
		},
		"the same twice, without replies, and more": {
			lines: `1 a "ECHO" "tag-a"|2 a "SET" "k" "1"|3 a "GET" "k"`,
			a:     []*history.Command{sentAs("", "SET k 1"), sentAs("", "SET k 1"), sentAs("", "GET k")},
			err:   "which SET was executed cannot be told",
		},
		"answered, but not told": {
			lines: `1 a "ECHO" "tag-a"`,
			a:     []*history.Command{sentAs("OK", "SET k 1")},
			err:   "SET was answered, but not executed",
		},
		"in another order than sent": {
			lines: `1 a "ECHO" "tag-a"|2 a "GET" "k"|3 a "SET" "k" "1"`,
			a:     []*history.Command{sentAs("OK", "SET k 1"), sentAs("nil", "GET k")},
			err:   "GET was executed where SET should have been",
		},
		"never sent": {
			lines: `1 a "ECHO" "tag-a"|2 a "DEL" "k"`,
			a:     []*history.Command{sentAs("", "SET k 1")},
			err:   "DEL was executed, and not sent",
		},
		"without a name": {
			lines: `2 a "GET" "k"`,
			a:     []*history.Command{sentAs("nil", "GET k")},
			err:   "GET was answered, but not executed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for l := range strings.SplitSeq(c.lines, "|") {
				text.WriteString("+179530028" + l[:1] + ".000000 [0 10.0.0.2:" + l[2:3] + "] " + l[4:] + "\n")
			}
			stamps, err := order("tag-", map[string]*talk{"tag-a": {commands: c.a}, "tag-b": {commands: c.b}}, readAll(t, text.String()))
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(numbers(c.a, stamps), " ") + "," + strings.Join(numbers(c.b, stamps), " ")
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTimesOfExecutionFitAllThatIsKnown(t *testing.T) {
	const ms = time.Millisecond
	sent := func(sent, replied time.Duration) *history.Command {
		return &history.Command{Args: []history.Bytes{"SET", "k", "1"}, Sent: sent * ms, Replied: replied * ms}
	}
	see := func(c *history.Command, at, heard time.Duration) sight {
		return sight{command: c, begin: at * ms, end: at * ms, heard: heard * ms}
	}
	for name, c := range map[string]struct {
		seen []sight
		want [][2]time.Duration // in ms
	}{
		"one": {[]sight{see(sent(10, 14), 1012, 15)}, [][2]time.Duration{{10, 14}}},
		"a clock that others set right": { // by 1000 to 1001 ms
			[]sight{see(sent(10, 12), 1011, 20), see(sent(20, 40), 1030, 40), see(sent(50, 51), 1051, 60)},
			[][2]time.Duration{{10, 11}, {29, 30}, {50, 51}},
		},
		"late, without a reply": {
			[]sight{see(sent(10, 11), 1011, 20), see(sent(5, 0), 1500, 510), see(sent(501, 502), 1502, 512)},
			[][2]time.Duration{{10, 11}, {499, 500}, {501, 502}},
		},
		"a clock that was set": {
			[]sight{see(sent(10, 14), 1012, 15), see(sent(5, 0), 9020, 30), see(sent(20, 24), 9022, 25)},
			[][2]time.Duration{{10, 14}, {10, 24}, {20, 24}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, s := range timed(c.seen) {
				if want := c.want[i]; s.exec != i+1 || s.arrived != want[0]*ms || s.served != want[1]*ms {
					t.Errorf("command %d: got number %d, %v to %v, want %d to %d ms", i, s.exec, s.arrived, s.served, want[0], want[1])
				}
			}
		})
	}
}

func TestWhatIsNoLineOfMonitorIsRefused(t *testing.T) {
	for _, line := range []string{
		"", "+OK", "-ERR no", "+1.5 [0 a:1] \"x\"", "+1.000000 [0 a:1] ", "+1.000000 [a:1] \"x\"", "+1.000000 [0 a:1] x",
		"+1.000000 [0 a:1] \"x", `+1.000000 [0 a:1] "\q"`, `+1.000000 [0 a:1] "\x0`, `+1.000000 [0 a:1] "\xzz"`, `+1.000000 [0 a:1] "\`,
	} {
		if got, err := readTold(line); err == nil {
			t.Errorf("%q: got %+v", line, got)
		}
	}
	l, err := readTold("+1.000002 [0 [::1]:7] \"\" \"a] \\\\b\"\r\n")
	if err != nil || l.from != "[::1]:7" || l.at != time.Second+2*time.Microsecond || !slices.Equal(l.args, []history.Bytes{"", `a] \b`}) {
		t.Errorf("got %+v, %v", l, err)
	}
}
