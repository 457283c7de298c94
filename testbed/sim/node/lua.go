package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// scripting is what a node needs to run scripts. Its one Lua state lives as long as the
// node: making one costs more than a hundred scripts. A state that a script changed is
// replaced, so that no script sees what another did.
type scripting struct {
	scripts  map[string]*script // the script cache, by SHA-1
	compiled map[string]*script // all compiled scripts, by source: only a cache
	random   uint64             // of math.random

	state   *lua.LState
	fixed   []fixedTable                // what no script may change
	shields map[*lua.LTable]*lua.LTable // tables that scripts see, and the tables behind them
	strict  *lua.LTable                 // the environment of scripts that assign to globals
	budget  budget

	// of the script that runs
	running  *script
	readOnly bool // it may not write: EVAL_RO
	line     int  // where the last error was raised; 0 = unknown
	args     []string
}

// script is a compiled script.
type script struct {
	sha, source string
	proto       *lua.FunctionProto
	refused     string // why it does not compile; "" if it does
	noWrites    bool   // flagged so in its first line
	flagged     bool   // has flags at all
	harmless    bool   // cannot change the Lua state, by its instructions
	assigns     bool   // assigns to globals
}

// maxCompiled bounds the memory of compiled scripts.
const maxCompiled = 1000

// flush empties the script cache.
func (l *scripting) flush() { l.scripts = map[string]*script{} }

// seedOfRandom is the state of Redis's generator when it starts.
const seedOfRandom = 0x1234abcd330e

// draw returns 31 random bits, as Redis's redisLrand48.
func (l *scripting) draw() int64 {
	l.random = (l.random*0x5deece66d + 0xb) & (1<<48 - 1)
	return int64(l.random >> 17)
}

// maxInstructions ends a script that would run for ever. Redis would let it run
// until somebody kills it; no lock's script needs a thousandth.
const maxInstructions = 5_000_000

// budget is a context that is done after a number of calls of Done: the Lua machine calls
// it before every instruction.
type budget struct {
	left  int
	ended chan struct{}
}

// Deadline implements context.Context.
func (*budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (*budget) Value(any) any { return nil }

// Done implements context.Context, and counts.
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

func (n *Node) cmdEval(s *Session, args []string)      { n.eval(s, args, false) }
func (n *Node) cmdEvalro(s *Session, args []string)    { n.eval(s, args, true) }
func (n *Node) cmdEvalsha(s *Session, args []string)   { n.evalsha(s, args, false) }
func (n *Node) cmdEvalsharo(s *Session, args []string) { n.evalsha(s, args, true) }

func (n *Node) eval(s *Session, args []string, readOnly bool) {
	keys, argv, ok := n.scriptArgs(args)
	if !ok {
		return
	}
	sc := n.lua.compile(args[1])
	if sc.refused != "" {
		n.fail(sc.refused)
		return
	}
	n.lua.scripts[sc.sha] = sc
	n.script(s, sc, readOnly, keys, argv)
}

const noScriptFound = "NOSCRIPT No matching script. Please use EVAL."

func (n *Node) evalsha(s *Session, args []string, readOnly bool) {
	if len(args[1]) != 40 {
		n.fail(noScriptFound)
		return
	}
	keys, argv, ok := n.scriptArgs(args)
	if !ok {
		return
	}
	sc := n.lua.scripts[args[1]]
	if sc == nil {
		sc = n.lua.scripts[strings.ToLower(args[1])]
	}
	if sc == nil {
		n.fail(noScriptFound)
		return
	}
	n.script(s, sc, readOnly, keys, argv)
}

// scriptArgs splits the arguments of EVAL into keys and others.
func (n *Node) scriptArgs(args []string) (keys, argv []string, ok bool) {
	count, isInt := parseInt(args[2])
	switch rest := args[3:]; {
	case !isInt:
		n.fail(notInteger)
	case count > int64(len(rest)):
		n.fail("ERR Number of keys can't be greater than number of args")
	case count < 0:
		n.fail("ERR Number of keys can't be negative")
	default:
		return rest[:count], rest[count:], true
	}
	return nil, nil, false
}

// script runs a script and writes its reply.
func (n *Node) script(s *Session, sc *script, readOnly bool, keys, argv []string) {
	if n.readOnly && sc.flagged && !sc.noWrites && !readOnly {
		n.fail(readOnlyError)
		return
	}
	l := &n.lua
	if l.state == nil {
		n.openLua()
	}
	state := l.state
	l.running, l.readOnly, l.line, l.budget.left = sc, readOnly || sc.noWrites, 0, maxInstructions
	n.resp3 = false // until redis.setresp
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
	n.out = n.out[:mark] // what an interrupted call left
	scriptResp3 := n.resp3
	n.resp3 = s.resp3
	if err != nil {
		n.fail(l.failure(err))
	} else {
		n.luaReply(state.Get(-1), scriptResp3, 0)
	}
	state.SetTop(0)
	l.running = nil
	if !sc.harmless && l.changed() {
		state.Close()
		l.state = nil
	}
}

// stringTable makes KEYS or ARGV.
func stringTable(state *lua.LState, items []string) *lua.LTable {
	t := state.CreateTable(len(items), 0)
	for _, item := range items {
		t.Append(lua.LString(item))
	}
	return t
}

// failure writes a script's error as Redis does.
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

// trimTraceback takes the first line of an error that gopher-lua has decorated.
func trimTraceback(text string) string {
	text, _, _ = strings.Cut(text, "\nstack traceback:")
	return text
}

// lineOf reads the line from "ERR user_script:3: …".
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

// scriptCommands are the subcommands of SCRIPT.
func scriptCommands() []command {
	return []command{
		{name: "load", arity: 3, traits: noScript, run: (*Node).scriptLoad},
		{name: "exists", arity: -3, traits: noScript, run: (*Node).scriptExists},
		{name: "flush", arity: -2, traits: noScript, run: (*Node).scriptFlush},
		{name: "kill", arity: 2, traits: noScript, run: func(n *Node, _ *Session, _ []string) {
			n.fail("NOTBUSY No scripts in execution right now.")
		}},
		// known to Redis only
		{name: "debug", arity: 3, traits: noScript},
		{name: "help", arity: 2, traits: noScript},
	}
}

func (n *Node) scriptLoad(_ *Session, args []string) {
	sc := n.lua.compile(args[2])
	if sc.refused != "" {
		n.fail(sc.refused)
		return
	}
	n.lua.scripts[sc.sha] = sc
	n.bulk(sc.sha)
}

func (n *Node) scriptExists(_ *Session, args []string) {
	n.array(len(args) - 2)
	for _, sha := range args[2:] {
		if n.lua.scripts[strings.ToLower(sha)] != nil {
			n.int(1)
		} else {
			n.int(0)
		}
	}
}

func (n *Node) scriptFlush(_ *Session, args []string) {
	if len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "ASYNC") && !strings.EqualFold(args[2], "SYNC") {
		n.fail("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	n.lua.flush()
	n.ok()
}
