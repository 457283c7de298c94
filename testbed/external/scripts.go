package external

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

var (
	// library are the names of the Lua table through which scripts call the server; the
	// second is Valkey's.
	library = []string{"redis", "server"}
	// harmless are the table's other permitted fields, besides call and pcall. Any further use may
	// hide a call.
	harmless = []string{"sha1hex", "error_reply", "status_reply", "setresp", "log",
		"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"}
	// detours are functions and tables that may hide a call, too.
	detours = []string{"loadstring", "load", "dofile", "rawget", "getfenv", "setfenv", "getmetatable", "setmetatable", "_G"}
)

// keys is the name of the table with the keys that a script got.
const keys = "KEYS"

// checkScript returns an error if a script may access keys or channels of others: each name in a
// call must be made of KEYS, that is, begin with an element of KEYS. It refuses everything that it
// cannot analyse, with two exceptions: it assumes that parameters of functions, and values that are
// put into a table later, are made of KEYS. Only the server's own access control stops a malicious
// script.
func checkScript(text string) error {
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	chunk, err := parse.Parse(strings.NewReader(text), "script")
	if err != nil {
		return fmt.Errorf("a script that cannot be read: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	s := luaScript{named: map[string][]source{}, seen: map[*ast.IdentExpr]bool{}, called: map[ast.Expr]bool{}}
	resp.EachInLua(chunk, s.learn)
	resp.EachInLua(chunk, s.check)
	return s.refused
}

// luaScript is a script under examination, with facts about its variables and calls.
type luaScript struct {
	named   map[string][]source     // the values of variables by name, whatever their scopes
	seen    map[*ast.IdentExpr]bool // permitted uses of library
	called  map[ast.Expr]bool       // redis.call and redis.pcall where they are called, not only mentioned
	refused error
}

// source is a value that is assigned to a variable.
type source struct {
	value    ast.Expr // nil = cannot be analysed
	element  bool     // the variable gets each element of the table value, as in for _, k in ipairs(value)
	believed bool     // if value is nil: assumed to be made of KEYS
}

// learn notes which values are assigned to variables, and where library is used.
func (s *luaScript) learn(node any) {
	switch n := node.(type) {
	case *ast.LocalAssignStmt:
		for i, name := range n.Names {
			s.give(name, i, n.Exprs)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if name, ok := left.(*ast.IdentExpr); ok {
				s.give(name.Value, i, n.Rhs)
			} else if isTable(left, keys) {
				s.named[keys] = append(s.named[keys], source{})
			}
		}
	case *ast.NumberForStmt:
		s.named[n.Name] = append(s.named[n.Name], source{})
	case *ast.GenericForStmt:
		for i, name := range n.Names {
			var from source
			if table := spread(n.Exprs[0], "ipairs", "pairs"); table != nil && i == 1 {
				from = source{value: table, element: true}
			}
			s.named[name] = append(s.named[name], from)
		}
	case *ast.FunctionExpr:
		for _, name := range n.ParList.Names {
			s.named[name] = append(s.named[name], source{believed: true})
		}
	case *ast.FuncCallExpr:
		if isCall(n.Func) {
			s.called[n.Func] = true
		}
	case *ast.AttrGetExpr:
		if table, ok := n.Object.(*ast.IdentExpr); ok && (isCall(n) && s.called[n] || slices.Contains(harmless, constant(n.Key))) {
			s.seen[table] = true
		}
	}
}

// give notes the assignment of the i-th value to a variable. If there are fewer values, it notes a
// value that cannot be analysed. If there are no values at all, it notes a value that is assumed to
// be made of KEYS: the variable is nil until assigned, and nil is no key.
func (s *luaScript) give(name string, i int, values []ast.Expr) {
	switch {
	case i < len(values):
		s.named[name] = append(s.named[name], source{value: values[i]})
	case len(values) > 0:
		s.named[name] = append(s.named[name], source{})
	default:
		s.named[name] = append(s.named[name], source{believed: true})
	}
}

// check sets refused if a node may access keys or channels of others.
func (s *luaScript) check(node any) {
	if s.refused != nil {
		return
	}
	switch n := node.(type) {
	case *ast.IdentExpr:
		switch {
		case slices.Contains(detours, n.Value) || slices.Contains(library, n.Value) && !s.seen[n]:
			s.refused = errors.New("a script that hides what it calls")
		case n.Value == keys && len(s.named[keys]) > 0:
			s.refused = errors.New("a script that changes KEYS")
		}
	case *ast.FuncCallExpr:
		if s.called[n.Func] {
			s.refused = s.checkCall(n.Args)
		}
	}
}

// checkCall returns an error if redis.call with these arguments may access keys or channels
// of others.
func (s *luaScript) checkCall(args []ast.Expr) error {
	var name string
	if len(args) > 0 {
		name = strings.ToUpper(constant(args[0]))
	}
	if name == "" {
		return errors.New("a script that calls a command whose name does not stand in the call")
	}
	c := resp.Lookup(name)
	if !keyless[name] && !c.Confined() {
		return fmt.Errorf("a script that calls %q", name)
	}
	for i := range args {
		if mayName(c, i, args) && !s.own(args[i]) && !s.ownTable(spread(args[i], "unpack")) {
			return fmt.Errorf("a script that calls %s on a name that is not made of KEYS", name)
		}
	}
	return nil
}

// mayName reports whether the i-th argument of a call is a key or channel, or may expand to
// several arguments that include one.
func mayName(c *resp.Command, i int, args []ast.Expr) bool {
	end := len(args) - 1
	if !many(args[end]) {
		return slices.Contains(c.Places(len(args)), i)
	}
	switch {
	case c.First == 0 || i < c.First || c.Last > 0 && i > c.Last:
		return false
	case i == end:
		return true
	default:
		return (i-c.First)%c.Step == 0
	}
}

// many reports whether an expression at the end of a list may have several values.
func many(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Comma3Expr:
		return true
	case *ast.FuncCallExpr:
		return !e.AdjustRet && !isCall(e.Func) && spread(e, "tostring", "tonumber") == nil
	}
	return false
}
