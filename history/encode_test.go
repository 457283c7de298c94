package history

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// fill sets the fields of v, and of structs in v, to random values. It leaves some of them empty.
func fill(t *rapid.T, v reflect.Value) {
	if rapid.IntRange(0, 3).Draw(t, "empty") == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Min(-1).Draw(t, "number"))
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\n\t\r\x00-\x1f]*`),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("what is a %s?", v.Type())
	}
}

func TestAppendJSONIsWhatTheLibraryWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var op Op
		var cmd Command
		var change KeyChange
		fill(t, reflect.ValueOf(&op).Elem())
		fill(t, reflect.ValueOf(&cmd).Elem())
		fill(t, reflect.ValueOf(&change).Elem())
		for _, c := range []struct {
			got []byte
			of  any
		}{{op.AppendJSON([]byte("x")), op}, {cmd.AppendJSON([]byte("x")), cmd}, {change.AppendJSON([]byte("x")), change}} {
			want, err := json.Marshal(c.of)
			if err != nil {
				t.Fatal(err)
			}
			if string(c.got) != "x"+string(want) {
				t.Fatalf("got\n%s, want\n%s", c.got[1:], want)
			}
		}
	})
}
