// Package node is a Redis node for the simulation: miniredis without its
// network, its goroutines and its clock.
package node

import (
	_ "github.com/alicebob/miniredis/v2" // until the node is built
	_ "github.com/yuin/gopher-lua"
)
