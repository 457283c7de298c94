package external

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// own reports whether a string is made of KEYS: it begins with an element of KEYS, and so with the
// trial's prefix.
func (s *luaScript) own(e ast.Expr) bool { return s.made(e, nil) }

// ownTable reports whether all strings in a table are made of KEYS.
func (s *luaScript) ownTable(e ast.Expr) bool { return s.madeTable(e, nil) }

// made implements own. asked are the variables that are being examined already.
func (s *luaScript) made(e ast.Expr, asked []string) bool {
	switch e := e.(type) {
	case *ast.StringConcatOpExpr:
		return s.made(e.Lhs, asked)
	case *ast.AttrGetExpr:
		return s.madeTable(e.Object, asked)
	case *ast.IdentExpr:
		return s.given(e.Value, asked, func(from source, asked []string) bool {
			if from.element {
				return s.madeTable(from.value, asked)
			}
			return s.made(from.value, asked)
		})
	}
	return false
}

// madeTable implements ownTable. asked are the variables that are being examined already.
func (s *luaScript) madeTable(e ast.Expr, asked []string) bool {
	switch e := e.(type) {
	case *ast.TableExpr:
		return !slices.ContainsFunc(e.Fields, func(f *ast.Field) bool { return !s.made(f.Value, asked) })
	case *ast.IdentExpr:
		if e.Value == keys {
			return true
		}
		return s.given(e.Value, asked, func(from source, asked []string) bool {
			return !from.element && s.madeTable(from.value, asked)
		})
	}
	return false
}

// given reports whether a variable is assigned at least one value, and each of its values is
// believed or accepted by good.
func (s *luaScript) given(name string, asked []string, good func(source, []string) bool) bool {
	if slices.Contains(asked, name) {
		return true // the variable's other values decide
	}
	asked = append(slices.Clip(asked), name)
	all := s.named[name]
	return len(all) > 0 && !slices.ContainsFunc(all, func(from source) bool {
		if from.value == nil {
			return !from.believed
		}
		return !good(from, asked)
	})
}

// spread returns t if e is f(t) and f is one of these functions, else nil.
func spread(e ast.Expr, functions ...string) ast.Expr {
	call, ok := e.(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	if f, ok := call.Func.(*ast.IdentExpr); !ok || !slices.Contains(functions, f.Value) {
		return nil
	}
	return call.Args[0]
}

// isCall reports whether an expression is redis.call or redis.pcall.
func isCall(e ast.Expr) bool {
	at, ok := e.(*ast.AttrGetExpr)
	return ok && slices.ContainsFunc(library, func(name string) bool { return isTable(at, name) }) &&
		slices.Contains([]string{"call", "pcall"}, constant(at.Key))
}

// isTable reports whether an expression is an element of the table of that name.
func isTable(e ast.Expr, table string) bool {
	at, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return false
	}
	object, ok := at.Object.(*ast.IdentExpr)
	return ok && object.Value == table
}

// constant returns the value of a string literal, "" for any other expression.
func constant(e ast.Expr) string {
	if text, ok := e.(*ast.StringExpr); ok {
		return text.Value
	}
	return ""
}
