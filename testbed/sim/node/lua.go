package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// scripting holds a node's scripts and its Lua state. The state is reused, since a new one
// costs more than a hundred script runs. If a script changes the state, the node replaces
// the state, so that no script affects another.
type scripting struct {
	node     *Node
	scripts  map[string]*script // the script cache, by SHA-1
	compiled map[string]*script // cache of compiled scripts, by source
	random   uint64             // state of the generator of math.random and RANDOMKEY

	state   *lua.LState
	fixed   []fixedTable                // tables that no script may change
	shields map[*lua.LTable]*lua.LTable // the real tables, by the tables that scripts see
	strict  *lua.LTable                 // the environment of scripts that assign to globals
	budget  budget

	// State of the running script.
	running  *script
	readOnly bool // the script may not write, as with EVAL_RO
	line     int  // the line in which the last error was raised; 0 = unknown
	args     []string
}

// script is a compiled script.
type script struct {
	sha, source string
	proto       *lua.FunctionProto
	refused     string // the compile error; "" if it compiles
	noWrites    bool   // the script has the flag no-writes
	flagged     bool   // the script has a shebang line
	harmless    bool   // the script's instructions cannot change the Lua state
	assigns     bool   // the script assigns to globals
}

// maxCompiled limits the number of compiled scripts in the cache.
const maxCompiled = 1000

func (l *scripting) flush() { l.scripts = map[string]*script{} }

// seedOfRandom is the state of Redis's generator when it starts.
const seedOfRandom = 0x1234abcd330e

// draw returns 31 random bits, like Redis's redisLrand48.
func (l *scripting) draw() int64 {
	l.random = (l.random*0x5deece66d + 0xb) & (1<<48 - 1)
	return int64(l.random >> 17)
}

// maxInstructions is the number of instructions after which the node ends a script. Redis
// would let an endless script run until SCRIPT KILL. No lock's script needs a thousandth of
// the limit.
const maxInstructions = 5_000_000

// budget is a context that is done after a number of calls of Done: the Lua machine calls
// Done before every instruction.
type budget struct {
	left  int
	ended chan struct{}
}

// Deadline implements context.Context.
func (*budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (*budget) Value(any) any { return nil }

// Done implements context.Context, and counts its calls.
func (b *budget) Done() <-chan struct{} {
	if b.left--; b.left >= 0 {
		return nil
	}
	return b.ended
}

// Err implements context.Context.
func (*budget) Err() error { return errBudget }

var (
	errBudget                 = fmt.Errorf("the simulated node ends a script after %d instructions", maxInstructions)
	_         context.Context = (*budget)(nil)
)

// scriptCommands run the commands for scripts.
var scriptCommands = map[string]handler{
	"eval":       func(c call) written { return c.eval(false) },
	"eval_ro":    func(c call) written { return c.eval(true) },
	"evalsha":    func(c call) written { return c.evalsha(false) },
	"evalsha_ro": func(c call) written { return c.evalsha(true) },
	"script|load": func(c call) written {
		sc := c.lua.compile(c.args[2])
		if sc.refused != "" {
			return c.fail(sc.refused)
		}
		c.lua.scripts[sc.sha] = sc
		return c.bulk(sc.sha)
	},
	"script|exists": func(c call) written {
		c.array(len(c.args) - 2)
		for _, sha := range c.args[2:] {
			c.bool(c.lua.scripts[strings.ToLower(sha)] != nil)
		}
		return written{}
	},
	"script|flush": func(c call) written {
		if !syncOrAsync(c.args[2:]) {
			return c.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		}
		c.lua.flush()
		return c.ok()
	},
	"script|kill": func(c call) written { return c.fail("NOTBUSY No scripts in execution right now.") },
}

func (c call) eval(readOnly bool) written {
	keys, argv, refusal := scriptArgs(c.args)
	if refusal != "" {
		return c.fail(refusal)
	}
	sc := c.lua.compile(c.args[1])
	if sc.refused != "" {
		return c.fail(sc.refused)
	}
	c.lua.scripts[sc.sha] = sc
	return c.lua.script(c.s, sc, readOnly, keys, argv)
}

func (c call) evalsha(readOnly bool) written {
	const missing = "NOSCRIPT No matching script. Please use EVAL."
	if len(c.args[1]) != 40 {
		return c.fail(missing)
	}
	keys, argv, refusal := scriptArgs(c.args)
	if refusal != "" {
		return c.fail(refusal)
	}
	sc := c.lua.scripts[c.args[1]]
	if sc == nil {
		sc = c.lua.scripts[strings.ToLower(c.args[1])]
	}
	if sc == nil {
		return c.fail(missing)
	}
	return c.lua.script(c.s, sc, readOnly, keys, argv)
}

// scriptArgs splits the arguments of EVAL into keys and other arguments. If the number of keys
// is invalid, it returns the error reply.
func scriptArgs(args []string) (keys, argv []string, refusal string) {
	count, isInt := parseInt(args[2])
	switch rest := args[3:]; {
	case !isInt:
		return nil, nil, notInteger
	case count > int64(len(rest)):
		return nil, nil, "ERR Number of keys can't be greater than number of args"
	case count < 0:
		return nil, nil, "ERR Number of keys can't be negative"
	default:
		return rest[:count], rest[count:], ""
	}
}

// script runs a script and writes its reply.
func (l *scripting) script(s *Session, sc *script, readOnly bool, keys, argv []string) written {
	n := l.node
	if n.readOnly && sc.flagged && !sc.noWrites && !readOnly {
		return n.fail(readOnlyError)
	}
	if l.state == nil {
		l.open()
	}
	state := l.state
	l.running, l.readOnly, l.line, l.budget.left = sc, readOnly || sc.noWrites, 0, maxInstructions
	n.resp3 = false // scripts use RESP2 until they call redis.setresp
	globals := state.G.Global
	globals.RawSetString("KEYS", stringTable(state, keys))
	globals.RawSetString("ARGV", stringTable(state, argv))
	f := state.NewFunctionFromProto(sc.proto)
	if sc.assigns {
		f.Env = l.strict
	}
	mark := len(n.out)
	state.Push(f)
	err := state.PCall(0, 1, nil)
	n.out = n.out[:mark] // drops partial output of an interrupted call
	scriptResp3 := n.resp3
	n.resp3 = s.resp3
	if err != nil {
		n.fail(l.failure(err))
	} else {
		n.clients.lua(state.Get(-1), scriptResp3, 0)
	}
	state.SetTop(0)
	l.running = nil
	if !sc.harmless && l.changed() {
		state.Close()
		l.state = nil
	}
	return written{}
}

// stringTable returns a Lua table of strings, for KEYS or ARGV.
func stringTable(state *lua.LState, items []string) *lua.LTable {
	t := state.CreateTable(len(items), 0)
	for _, item := range items {
		t.Append(lua.LString(item))
	}
	return t
}

// failure returns the text of a script's error in Redis's form.
func (l *scripting) failure(err error) string {
	text, line := err.Error(), l.line
	var api *lua.ApiError
	if errors.As(err, &api) {
		if t, ok := api.Object.(*lua.LTable); ok {
			text = "ERR unknown error"
			if e, ok := t.RawGetString("err").(lua.LString); ok {
				text = string(e)
			}
		} else {
			text = "ERR " + trimTraceback(api.Object.String())
			if at := lineOf(text); at > 0 {
				line = at
			}
		}
	}
	return fmt.Sprintf("%s script: %s, on @user_script:%d.", cut(text, len(text)), l.running.sha, max(line, 1))
}

// trimTraceback removes gopher-lua's stack traceback from an error text.
func trimTraceback(text string) string {
	text, _, _ = strings.Cut(text, "\nstack traceback:")
	return text
}

// lineOf returns the line number in "ERR user_script:3: …", or 0.
func lineOf(text string) (line int) {
	rest, ok := strings.CutPrefix(text, "ERR "+chunkName+":")
	if !ok {
		return 0
	}
	for _, c := range rest {
		if c < '0' || c > '9' || line > 1e6 {
			break
		}
		line = line*10 + int(c-'0')
	}
	return line
}
