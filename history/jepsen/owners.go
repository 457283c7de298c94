package jepsen

import (
	"fmt"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// own sets Op.Client in a history without clients: each process is a client, except that processes
// whose entries name the same owner, such as "n1", are one. named maps a process to its owner's name;
// named owners have the first numbers.
func (r *Reading) own(named map[history.Process]string) {
	clients, numbers := map[history.Process]int{}, map[string]int{}
	var parts []string
	for _, op := range r.Ops {
		name, ok := named[op.Process]
		if !ok {
			continue
		}
		n, known := numbers[name]
		if !known {
			n = len(numbers)
			numbers[name] = n
			parts = append(parts, fmt.Sprintf("c%d is %s", n, name))
		}
		clients[op.Process] = n
	}
	next, retired, succeeded := len(numbers), false, false
	for i := range r.Ops {
		op := &r.Ops[i]
		if op.Process == history.Nemesis {
			continue
		}
		if _, known := clients[op.Process]; !known {
			clients[op.Process] = int(op.Process)
			if len(numbers) > 0 {
				clients[op.Process] = next
				next++
			}
			succeeded = succeeded || retired
		}
		op.Client = clients[op.Process]
		retired = retired || op.Type == history.Info && op.F != history.FLost
	}
	if succeeded {
		r.note("after an info, a thread of Jepsen goes on as a new process: each process counts as a client of its own, unless a :client in its entries names it")
	}
	if len(parts) > 0 {
		r.note("clients are those that completions name: " + strings.Join(parts, ", "))
	}
}
