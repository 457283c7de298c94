package resp

import "reflect"

// EachInLua calls visit with all nodes of a syntax tree of a Lua script, of gopher-lua's package ast, outer nodes first. visit may change
// the node; EachInLua then goes on with the node's new children.
func EachInLua(tree any, visit func(node any)) { each(reflect.ValueOf(tree), visit) }

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
