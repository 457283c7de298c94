package resp_test

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
	"pgregory.net/rapid"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func words(text string) (args []history.Bytes) {
	for _, word := range strings.Fields(text) {
		args = append(args, history.Bytes(word))
	}
	return args
}

func TestArgumentsOfACommandComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 50), func(b []byte) string { return string(b) })
		args := rapid.SliceOfN(text, 1, 10).Draw(t, "arguments")
		wire := resp.AppendCommand([]byte("before"), args...)
		got, err := resp.Message(wire[len("before"):]).Args()
		if err != nil || !slices.EqualFunc(got, args, func(g history.Bytes, a string) bool { return string(g) == a }) {
			t.Fatalf("got %q, %v, want %q", got, err, args)
		}
	})
}

func TestWhatIsNoCommandHasNoArguments(t *testing.T) {
	for _, wire := range []string{
		"+PING\r\n", "*0\r\n", "*-1\r\n", "*?\r\n", "*99999999\r\n", "*\r\n", "*1\n", "*12345678901234\r\n",
		"*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n$999999999\r\n", "*1\r\n$3\r\nPINGS\r\n", "*1\r\n$x\r\n", "*1\r\n$4\r\nPING\r\n+more\r\n",
	} {
		if got, err := resp.Message(wire).Args(); got != nil && err == nil || !errors.Is(err, resp.ErrMalformed) {
			t.Errorf("%q: got %q, %v, want %v", wire, got, err, resp.ErrMalformed)
		}
	}
}

func TestKindsOfCommands(t *testing.T) {
	for text, want := range map[string]struct {
		name           string
		counts, blocks bool
	}{
		"":                        {"", true, false},
		"set k v NX":              {"SET", true, false},
		"GET k":                   {"GET", true, false},
		"wait 1 0":                {"WAIT", true, true},
		"BLPOP k 0":               {"BLPOP", true, true},
		"XREADGROUP GROUP":        {"XREADGROUP", true, true},
		"Hello 3":                 {"HELLO", false, false},
		"client SETINFO":          {"CLIENT", false, false},
		"PING":                    {"PING", false, false},
		"subscribe ch":            {"SUBSCRIBE", false, false},
		"PUNSUBSCRIBE":            {"PUNSUBSCRIBE", false, false},
		"PUNSUBSCRIBES":           {"PUNSUBSCRIBES", true, false},
		"publish ch":              {"PUBLISH", true, false},
		"gears.pingexecutionlist": {"GEARS.PINGEXECUTIONLIST", true, false},
	} {
		args := words(text)
		if name, counts, blocks := resp.Name(args), resp.Counts(args), resp.Of(args).Is(resp.Blocks); name != want.name || counts != want.counts || blocks != want.blocks {
			t.Errorf("%q: got %q, counts %v, blocks %v, want %+v", text, name, counts, blocks, want)
		}
	}
}

func TestMessagesBeyondLimitsAreRefused(t *testing.T) {
	for name, wire := range map[string]string{
		"a long line":            "+" + strings.Repeat("x", 20<<10) + "\r\n",
		"many elements":          "*16777217\r\n",
		"many pairs":             "%16777216\r\n",
		"many elements together": "*16777216\r\n*1\r\n*2\r\n",
		"a long string":          "$536870913\r\n",
		"an unknown kind":        "?1\r\n",
		"a string unended":       "$1\r\nabc\r\n",
		"a length below null":    "$-2\r\n",
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(wire), "byte by byte": iotest.OneByteReader(strings.NewReader(wire))} {
			if m, err := resp.Read(resp.NewReader(r)); m != nil || !errors.Is(err, resp.ErrMalformed) {
				t.Errorf("%s, %s: got %.40q, %v, want %v", name, how, m, err, resp.ErrMalformed)
			}
		}
	}
}

func TestALostConnectionIsNoMalformedMessage(t *testing.T) {
	lost := errors.New("reset by peer")
	text := strings.Repeat("x", 40<<10)
	whole := "*2\r\n+a\r\n$40960\r\n" + text + "\r\n"
	for _, n := range []int{0, 1, 3, 7, 12, 20, 20 << 10, len(whole) - 1} {
		for _, want := range []error{lost, io.EOF} {
			r := io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(want))
			if m, err := resp.Read(resp.NewReader(r)); m != nil || err != want {
				t.Errorf("after %d bytes: got %.40q, %v, want %v", n, m, err, want)
			}
		}
	}
	if m, err := resp.Read(resp.NewReader(strings.NewReader(whole))); string(m) != whole || err != nil {
		t.Errorf("a message longer than the buffer: got %d bytes, %v, want %d", len(m), err, len(whole))
	}
}

// The compact form of values that are inside others; alone, they take another way.
func TestNestedRepliesInCompactForm(t *testing.T) {
	for wire, want := range map[string]history.Bytes{
		"*3\r\n$-1\r\n_\r\n*-1\r\n":                     "[nil nil nil]",
		"*2\r\n=6\r\ntxt:ab\r\n!5\r\nERR x\r\n":         `["ab" ERR x]`,
		"~2\r\n:7\r\n(12345678901234567890\r\n":         "[7 12345678901234567890]",
		">2\r\n$7\r\nmessage\r\n%1\r\n+a\r\n*0\r\n":     `["message" [a []]]`,
		"|1\r\n+ttl\r\n:3\r\n":                          "[ttl 3]",
		"*2\r\n$2\r\n\r\n\r\n-ERR nested \"error\"\r\n": "[\"\r\n\" ERR nested \"error\"]",
	} {
		if got := resp.Message(wire).Compact(); got != want {
			t.Errorf("%q: got %q, want %q", wire, got, want)
		}
	}
}

func TestAConnectionIsIdleOnceAllIsAnsweredUnlessItSubscribed(t *testing.T) {
	var r resp.Replies
	idle := func(when string, want bool) {
		t.Helper()
		if r.Idle() != want {
			t.Errorf("%s: idle is %v, want %v", when, !want, want)
		}
	}
	idle("new", true)
	r.Sent(words("GET a"))
	r.Sent(words("GET b"))
	idle("two commands sent", false)
	r.Received(resp.Message(">0\r\n"))
	r.Received(resp.Message(">1\r\n$-1\r\n"))
	r.Received(resp.Message(">1\r\n:1\r\n"))
	r.Received(resp.Message("$-1\r\n"))
	idle("one answered", false)
	r.Received(resp.Message("$-1\r\n"))
	idle("both answered", true)
	r.Sent(words("subscribe ch"))
	r.Received(resp.Message("*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"))
	idle("subscribed", false)
}

func TestAQueueIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q resp.Queue[int]
		var want []int
		next := 0
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch i := rapid.IntRange(-2, len(want)-1).Draw(t, "remove"); {
			case i >= 0 && rapid.Bool().Draw(t, "first"):
				q.Remove(0)
				want = want[1:]
			case i >= 0:
				q.Remove(i)
				want = slices.Delete(slices.Clone(want), i, i+1)
			default:
				next++
				q.Push(next)
				want = append(want, next)
			}
			if !slices.Equal(q.Live(), want) {
				t.Fatalf("got %v, want %v", q.Live(), want)
			}
		}
	})
}

func TestAQueueThatStaysShortTakesNoMoreMemory(t *testing.T) {
	var q resp.Queue[*int]
	v := new(int)
	for range 3 {
		q.Push(v)
	}
	if n := testing.AllocsPerRun(1, func() { // together: a mean would hide that a list grows ever more rarely
		for range 1000 {
			q.Push(v)
			q.Remove(0)
		}
	}); n != 0 {
		t.Errorf("got %v allocations for 1000 elements, want none", n)
	}
}

func TestEachNodeOfALuaScriptIsVisitedFromOutsideIn(t *testing.T) {
	chunk, err := parse.Parse(strings.NewReader(`
		local a = redis.call('get', KEYS[1])
		if a == ARGV[1] then return {x = a, 2} else for i = 1, 3 do f(function(...) return -i end) end end`), "test")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	resp.EachInLua(chunk, func(node any) {
		if k := reflect.TypeOf(node).Elem(); k.PkgPath() == reflect.TypeFor[ast.IdentExpr]().PkgPath() {
			kinds = append(kinds, k.Name())
		}
	})
	want := strings.Fields(`LocalAssignStmt FuncCallExpr AttrGetExpr IdentExpr StringExpr StringExpr AttrGetExpr IdentExpr NumberExpr
		IfStmt RelationalOpExpr IdentExpr AttrGetExpr IdentExpr NumberExpr ReturnStmt TableExpr Field StringExpr IdentExpr Field NumberExpr
		NumberForStmt NumberExpr NumberExpr FuncCallStmt FuncCallExpr IdentExpr FunctionExpr ParList ReturnStmt UnaryMinusOpExpr IdentExpr`)
	if !slices.Equal(kinds, want) {
		t.Errorf("visited %v,\nwant %v", kinds, want)
	}
}

func TestAVisitorOfALuaScriptMayChangeWhatComesNext(t *testing.T) {
	chunk, err := parse.Parse(strings.NewReader(`old()`), "test")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	resp.EachInLua(chunk, func(node any) {
		switch n := node.(type) {
		case *ast.FuncCallExpr:
			n.Func = &ast.IdentExpr{Value: "new"}
			n.Args = []ast.Expr{&ast.IdentExpr{Value: "argument"}}
		case *ast.IdentExpr:
			names = append(names, n.Value)
		}
	})
	if want := []string{"new", "argument"}; !slices.Equal(names, want) {
		t.Errorf("visited %v, want %v", names, want)
	}
}
