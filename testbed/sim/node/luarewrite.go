package node

import (
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// textGlobal names the function that rewritten scripts call on what they
// concatenate.
const textGlobal = "__text"

// rewriter makes a script mean in gopher-lua what it means in Redis's Lua 5.1:
// numbers concatenate as %.14g, literals have no octal digits, there is no goto.
type rewriter struct{ refused string }

func (r *rewriter) stmts(stmts []ast.Stmt) {
	for _, s := range stmts {
		r.stmt(s)
	}
}

func (r *rewriter) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.exprs(s.Lhs)
		r.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		r.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		r.expr(s.Expr)
	case *ast.DoBlockStmt:
		r.stmts(s.Stmts)
	case *ast.WhileStmt:
		r.expr(s.Condition)
		r.stmts(s.Stmts)
	case *ast.RepeatStmt:
		r.expr(s.Condition)
		r.stmts(s.Stmts)
	case *ast.IfStmt:
		r.expr(s.Condition)
		r.stmts(s.Then)
		r.stmts(s.Else)
	case *ast.NumberForStmt:
		r.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		r.stmts(s.Stmts)
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		r.stmts(s.Stmts)
	case *ast.FuncDefStmt:
		r.stmts(s.Func.Stmts)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	case *ast.GotoStmt:
		r.refuse(s, "=", s.Label)
	case *ast.LabelStmt:
		r.refuse(s, "", ":")
	}
}

// refuse what Lua 5.1 does not know.
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

func (r *rewriter) exprs(exprs []ast.Expr) {
	for _, e := range exprs {
		r.expr(e)
	}
}

func (r *rewriter) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.NumberExpr:
		e.Value = decimal(e.Value)
	case *ast.AttrGetExpr:
		r.expr(e.Object)
		r.expr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			r.expr(f.Key)
			r.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		r.expr(e.Func)
		r.expr(e.Receiver)
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		r.expr(e.Lhs)
		r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		r.expr(e.Lhs)
		r.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		r.expr(e.Lhs)
		r.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.stmts(e.Stmts)
	case *ast.StringConcatOpExpr:
		r.expr(e.Lhs)
		r.expr(e.Rhs)
		e.Lhs, e.Rhs = asText(e.Lhs), asText(e.Rhs)
	}
}

// asText wraps an operand of a concatenation.
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

// decimal takes the leading zeros off a literal, which gopher-lua reads as octal.
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
