// Package optional calls callbacks that a caller may leave out.
package optional

// Call calls a callback, such as the argument down of testbed.Nodes.Kill, unless it is nil.
func Call(of func() error) error {
	if of == nil {
		return nil
	}
	return of()
}
