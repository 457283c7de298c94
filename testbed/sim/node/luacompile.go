package node

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// chunkName is Redis's name for scripts in errors.
const chunkName = "user_script"

func sha1hex(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// compile returns the compiled script, from the cache if possible.
func (l *scripting) compile(source string) *script {
	if sc := l.compiled[source]; sc != nil {
		return sc
	}
	if l.compiled == nil || len(l.compiled) >= maxCompiled {
		l.compiled = map[string]*script{}
	}
	sc := &script{sha: sha1hex(source), source: source}
	sc.refused = sc.build()
	l.compiled[source] = sc
	return sc
}

const compileError = "ERR Error compiling script (new function): "

// build compiles the source, or returns the error.
func (sc *script) build() (refused string) {
	body := sc.source
	if strings.HasPrefix(body, "#!") {
		first, rest, _ := strings.Cut(body, "\n")
		if refused = sc.shebang(first); refused != "" {
			return refused
		}
		body = "\n" + rest // keeps the line numbers
	}
	chunk, err := parse.Parse(strings.NewReader(body), chunkName)
	if err == nil {
		var r rewriter
		if resp.EachInLua(chunk, r.visit); r.refused != "" {
			return compileError + r.refused
		}
		sc.proto, err = lua.Compile(chunk, chunkName)
	}
	if err != nil {
		return compileError + syntaxError(err, body)
	}
	// The main chunk has no arguments. Without this flag gopher-lua skips a table of
	// arguments that it would create in each run. No script can name that table.
	sc.proto.IsVarArg &^= lua.VarArgNeedsArg
	sc.harmless = true
	sc.inspect(sc.proto)
	return ""
}

// syntaxError returns gopher-lua's error text, with the position in Redis's form.
func syntaxError(err error, body string) string {
	var at *parse.Error
	if !errors.As(err, &at) {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	line, near := at.Pos.Line, at.Token
	if line == parse.EOF {
		line, near = 1+strings.Count(body, "\n"), "<eof>"
	}
	return fmt.Sprintf("%s:%d: %s near '%s'", chunkName, line, at.Message, near)
}

// shebang parses the first line, "#!lua flags=a,b".
func (sc *script) shebang(line string) (refused string) {
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return "ERR Unexpected engine in script shebang: " + words[0]
	}
	sc.flagged = true
	for _, word := range words[1:] {
		flags, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return "ERR Unknown lua shebang option: " + word
		}
		for _, flag := range strings.Split(flags, ",") {
			switch flag {
			case "no-writes":
				sc.noWrites = true
			case "", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return "ERR Unexpected flag in script shebang: " + flag
			}
		}
	}
	return ""
}

// harmlessGlobals are globals through which a script cannot change the Lua state.
var harmlessGlobals = []string{
	textGlobal, "ARGV", "KEYS", "assert", "cjson", "error", "ipairs", "math", "next", "pairs", "pcall", "redis", "select",
	"string", "tonumber", "tostring", "type", "unpack",
}

// inspect looks for instructions that change tables or globals, or that use globals which may change
// something. Most lock scripts have none, and so need no check of the Lua state after a run.
func (sc *script) inspect(p *lua.FunctionProto) {
	for _, instruction := range p.Code {
		switch int(instruction >> 26) {
		case lua.OP_SETGLOBAL:
			sc.assigns, sc.harmless = true, false
		case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
			sc.harmless = false
		case lua.OP_GETGLOBAL:
			name := p.Constants[instruction&0x3ffff].String()
			sc.harmless = sc.harmless && slices.Contains(harmlessGlobals, name)
		}
	}
	for _, inner := range p.FunctionPrototypes {
		sc.inspect(inner)
	}
}
