package nodetest

import (
	"crypto/sha1"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
)

// Scripts returns the Lua scripts of the recipes in a folder, by the SHA-1 of their source.
func Scripts(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if source, ok := scriptIn(n); ok {
				sum := sha1.Sum([]byte(source))
				all[hex.EncodeToString(sum[:])] = source
			}
			return true
		})
	}
	return all, nil
}

// scriptIn returns the source if n is a call newScript("name", `source`).
func scriptIn(n ast.Node) (source string, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) != 2 {
		return "", false
	}
	name, isName := call.Fun.(*ast.Ident)
	text, isText := call.Args[1].(*ast.BasicLit)
	if !isName || name.Name != "newScript" || !isText {
		return "", false
	}
	source, err := strconv.Unquote(text.Value)
	return source, err == nil
}
