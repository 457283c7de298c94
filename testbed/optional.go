package testbed

// CallIfAny calls a callback, such as the argument down of testbed.Nodes.Kill, unless it is nil.
func CallIfAny(of func() error) error {
	if of == nil {
		return nil
	}
	return of()
}
