package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// heard formats each push as "2: message", where 2 is the number of the session.
func heard(pushes []Push) (all []string) {
	for _, p := range pushes {
		all = append(all, fmt.Sprintf("%d: %s", p.To.id, line(p.Message)))
	}
	return all
}

func TestPublish(t *testing.T) {
	n := newNode(t)
	publisher, one, two := n.Connect(), n.Connect(), n.Connect()
	do(two, 0, "HELLO 3")
	play(t, two, []step{{0, "SUBSCRIBE c", ">3 $9 subscribe $1 c :1"}, {0, "PSUBSCRIBE c* *", ">3 $10 psubscribe $2 c* :2 >3 $10 psubscribe $1 * :3"}})
	play(t, one, []step{
		{0, "SUBSCRIBE c d", "*3 $9 subscribe $1 c :1 *3 $9 subscribe $1 d :2"},
		{0, "GET k", "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"},
		{0, "PING", "*2 $4 pong $0"},
	})
	reply, pushes := pushed(publisher, 0, "PUBLISH c m")
	if reply != ":4" {
		t.Errorf("PUBLISH answered %q, want 4 receivers", reply)
	}
	want := []string{
		"2: *3 $7 message $1 c $1 m",
		"3: >3 $7 message $1 c $1 m",
		"3: >4 $8 pmessage $1 * $1 c $1 m",
		"3: >4 $8 pmessage $2 c* $1 c $1 m",
	}
	if got := heard(pushes); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	play(t, publisher, []step{
		{0, "PUBSUB NUMSUB c d e", "*6 $1 c :2 $1 d :1 $1 e :0"}, {0, "PUBSUB CHANNELS", "*2 $1 c $1 d"}, {0, "PUBSUB NUMPAT", ":2"},
	})
	play(t, one, []step{{0, "UNSUBSCRIBE", "*3 $11 unsubscribe $1 c :1 *3 $11 unsubscribe $1 d :0"}, {0, "GET k", "$-1"}})
	two.Close()
	two.Close()
	play(t, publisher, []step{{0, "PUBLISH c m", ":0"}, {0, "PUBSUB CHANNELS", "*0"}, {0, "PUBSUB NUMPAT", ":0"}})
}

func TestScriptsPublish(t *testing.T) {
	n := newNode(t)
	s, waiter := n.Connect(), n.Connect()
	do(waiter, 0, "SUBSCRIBE c")
	reply, pushes := pushed(s, 0, "EVAL redis.call('PUBLISH','c','1')_return_redis.call('PUBLISH','c','2') 0")
	if got := heard(pushes); reply != ":1" || len(got) != 2 || !strings.HasSuffix(got[0], "1") || !strings.HasSuffix(got[1], "2") {
		t.Errorf("got %q and %q", reply, got)
	}
	n.Restarted()
	play(t, s, []step{{0, "PUBLISH c m", ":0"}})
}

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "abc", true}, {"*", "", false}, {"", "", true}, {"a*", "a", true}, {"a*c", "abbc", true}, {"a*c", "abb", false}, {"**b", "ab", true},
		{"a?c", "abc", true}, {"a?", "a", false}, {"[a-c]x", "bx", true}, {"[c-a]x", "bx", true}, {"[^a]x", "bx", true}, {"[^b]x", "bx", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {"[ab", "a", true}, {`[\]]`, "]", true}, {"a", "ab", false}, {`a\`, `a\`, true}, {"[", "a", false},
	} {
		if got := matches(test.pattern, test.text); got != test.want {
			t.Errorf("matches(%q, %q) = %v", test.pattern, test.text, got)
		}
	}
}
