package resp

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestRepliesInCompactForm(t *testing.T) {
	for wire, want := range map[string]history.Bytes{
		"+OK\r\n":                       "OK",
		":1\r\n":                        "1",
		"$4\r\ntext\r\n":                `"text"`,
		"$2\r\n\xff\x00\r\n":            "\"\xff\x00\"",
		"$0\r\n\r\n":                    `""`,
		"$-1\r\n":                       "nil",
		"*-1\r\n":                       "nil",
		"_\r\n":                         "nil",
		"-NOSCRIPT No matching\r\n":     "NOSCRIPT No matching",
		"-ERR unknown\r\n":              "ERR unknown",
		"*2\r\n+a\r\n*1\r\n$1\r\nb\r\n": `[a ["b"]]`,
		"*0\r\n":                        "[]",
		"%1\r\n+k\r\n:2\r\n":            "[k 2]",
		"=5\r\ntxt:a\r\n":               `"a"`,
		"!5\r\nERR x\r\n":               "ERR x",
		"#t\r\n":                        "t",
		",1.5\r\n":                      "1.5",
	} {
		m, err := Read(NewReader(strings.NewReader(wire + "+next\r\n")))
		if err != nil || string(m) != wire {
			t.Errorf("%q: got %q, %v, want all of it", wire, m, err)
			continue
		}
		if got := m.Compact(); got != want {
			t.Errorf("%q: got %q, want %q", wire, got, want)
		}
	}
}

func TestRepliesFindTheirCommands(t *testing.T) {
	sub := func(kind string) string { return wire(kind + " ch 1") }
	for name, c := range map[string]struct {
		sent     []string
		received []string
		want     []int
	}{
		"in order":              {[]string{"GET a", "GET b"}, []string{"$-1\r\n", "+x\r\n"}, []int{1, 2}},
		"unasked":               {nil, []string{"+x\r\n"}, []int{0}},
		"array called message":  {[]string{"LRANGE a"}, []string{wire("message a")}, []int{1}},
		"subscription":          {[]string{"SUBSCRIBE a"}, []string{sub("subscribe"), sub("message"), sub("message")}, []int{1, 0, 0}},
		"two channels":          {[]string{"SUBSCRIBE a b"}, []string{sub("subscribe"), sub("subscribe")}, []int{0, 1}},
		"message before":        {[]string{"SUBSCRIBE a", "SUBSCRIBE b"}, []string{sub("subscribe"), sub("message"), sub("subscribe")}, []int{1, 0, 2}},
		"PING while subscribed": {[]string{"SUBSCRIBE a", "PING"}, []string{sub("subscribe"), sub("message"), wire("pong x")}, []int{1, 0, 2}},
		"unsubscribe from all":  {[]string{"SUBSCRIBE a b", "UNSUBSCRIBE", "PING"}, []string{sub("subscribe"), sub("subscribe"), sub("unsubscribe"), sub("unsubscribe"), wire("pong x")}, []int{0, 1, 2, 0, 3}},
		"RESP3 push between":    {[]string{"GET a"}, []string{">2\r\n$10\r\ninvalidate\r\n_\r\n", "+x\r\n"}, []int{0, 1}},
		"subscription refused":  {[]string{"SUBSCRIBE a b", "GET a"}, []string{"-ERR no\r\n", "+x\r\n"}, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var r Replies
			for _, cmd := range c.sent {
				var args []history.Bytes
				for _, word := range strings.Fields(cmd) {
					args = append(args, history.Bytes(word))
				}
				r.Sent(args)
			}
			var got []int
			for _, m := range c.received {
				got = append(got, r.Received(Message(m)))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// wire encodes commands, one string each, as clients send them.
func wire(commands ...string) string {
	var b []byte
	for _, c := range commands {
		b = AppendCommand(b, strings.Fields(c)...)
	}
	return string(b)
}
