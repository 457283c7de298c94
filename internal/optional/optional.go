// Package optional calls callbacks that a caller may leave out.
package optional

// Call calls a callback, such as down of testbed.Nodes.Kill, unless the callback is nil.
func Call(of func() error) error {
	if of == nil {
		return nil
	}
	return of()
}
