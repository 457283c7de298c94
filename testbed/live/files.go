package live

import (
	"fmt"
	"syscall"
)

// Open files of this program. A connection to a node needs five: the client's end, two of
// the proxy, and two of the tap. A link needs the listeners of proxy and tap.
const (
	filesPerConnection = 5
	filesPerLink       = 2
)

// checkFiles returns an error if the clients need more open files than this program may
// open. Go has raised the limit to its maximum; concurrent trials share it.
func (e *env) checkFiles() error {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return nil
	}
	nodes := len(e.serving())
	links := nodes * e.setup.Clients
	if e.setup.SharedLinks {
		links = nodes
	}
	need := nodes*e.setup.Clients*e.warmth()*filesPerConnection + links*filesPerLink
	if uint64(need) <= uint64(limit.Cur) {
		return nil
	}
	hint := ", or let clients share links"
	if e.setup.SharedLinks {
		hint = ""
	}
	return fmt.Errorf("%d clients need %d open files, and this program may have %d: raise the limit (ulimit -n)%s",
		e.setup.Clients, need, limit.Cur, hint)
}
