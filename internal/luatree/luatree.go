// Package luatree walks the syntax trees of Lua scripts as gopher-lua parses them.
package luatree

import "reflect"

// Each calls visit with all nodes of a syntax tree of package ast, outer nodes first. visit may change
// the node; Each then goes on with the node's new children.
func Each(tree any, visit func(node any)) { each(reflect.ValueOf(tree), visit) }

func each(v reflect.Value, visit func(node any)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			visit(v.Interface())
		}
		each(v.Elem(), visit)
	case reflect.Slice:
		for i := range v.Len() {
			each(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			each(v.Field(i), visit)
		}
	}
}
