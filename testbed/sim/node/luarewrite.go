package node

import (
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// textGlobal is the name of the function that rewritten scripts call on the operands of a
// concatenation.
const textGlobal = "__text"

// rewriter rewrites a script so that gopher-lua runs it like Redis's Lua 5.1: numbers
// concatenate as %.14g, literals are never octal, and goto is an error.
type rewriter struct{ refused string }

// visit rewrites one node of the syntax tree, before its children.
func (r *rewriter) visit(node any) {
	switch n := node.(type) {
	case *ast.GotoStmt:
		r.refuse(n, "=", n.Label)
	case *ast.LabelStmt:
		r.refuse(n, "", ":")
	case *ast.NumberExpr:
		n.Value = decimal(n.Value)
	case *ast.StringConcatOpExpr:
		n.Lhs, n.Rhs = asText(n.Lhs), asText(n.Rhs)
	}
}

// refuse notes a syntax error for a statement that Lua 5.1 lacks.
func (r *rewriter) refuse(s ast.Stmt, expected, near string) {
	if r.refused != "" {
		return
	}
	message := "unexpected symbol"
	if expected != "" {
		message = "'" + expected + "' expected"
	}
	r.refused = fmt.Sprintf("%s:%d: %s near '%s'", chunkName, s.Line(), message, near)
}

// asText wraps an operand of a concatenation in a call of textGlobal, unless the operand is always
// a string.
func asText(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return e
	}
	f := &ast.IdentExpr{Value: textGlobal}
	call := &ast.FuncCallExpr{Func: f, Args: []ast.Expr{e}, AdjustRet: true}
	for _, node := range []ast.PositionHolder{f, call} {
		node.SetLine(e.Line())
		node.SetLastLine(e.LastLine())
	}
	return call
}

// decimal removes the leading zeros of a literal, which gopher-lua would parse as octal.
func decimal(literal string) string {
	if len(literal) < 2 || literal[0] != '0' || literal[1] < '0' || literal[1] > '9' {
		return literal
	}
	trimmed := strings.TrimLeft(literal, "0")
	if trimmed == "" || trimmed[0] < '0' || trimmed[0] > '9' {
		trimmed = "0" + trimmed
	}
	return trimmed
}
