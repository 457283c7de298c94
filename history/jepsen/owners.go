package jepsen

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/history"
)

// own sets Op.Client in a history without clients. named maps a process to the owner that its
// entries name, such as "n1". If own had to guess, it also sets r.Apart and r.Step.
func (r *Reading) own(named map[history.Process]string) {
	apart := slices.Clone(r.Ops)
	notes, step := owners(r.Ops, named)
	if step > 0 {
		assign(apart, named, 0, true)
		if slices.EqualFunc(apart, r.Ops, func(a, b history.Op) bool { return a.Client == b.Client }) {
			notes = notes[1:] // every owner is named: no guess was needed
		} else {
			r.Apart, r.Step = apart, int(step)
		}
	}
	r.note(notes...)
}

// owners sets Op.Client in a history without clients, and returns notes on how it did so. Jepsen
// runs process p on thread p mod concurrency: an info retires the process, and its thread goes on
// as process p + concurrency. step is the guessed concurrency; 0 means that each process is a
// client of its own. The guess may be wrong, since another thread may have begun late.
func owners(ops []history.Op, named map[history.Process]string) (notes []string, step history.Process) {
	step, retired := concurrency(ops)
	return assign(ops, named, step, retired)
}

// assign sets Op.Client. A process's thread is its number mod step, or the process itself if step is
// 0. The threads of a named owner get that owner's number. If no owner is named, a thread's number
// is its client. guessed is step, or 0 if one thread names two owners.
func assign(ops []history.Op, named map[history.Process]string, step history.Process, retired bool) (notes []string, guessed history.Process) {
	thread := func(p history.Process) history.Process {
		if step > 0 {
			return p % step
		}
		return p
	}
	names := map[history.Process]string{} // names of owners by thread
	for p, name := range named {
		if old, ok := names[thread(p)]; ok && old != name {
			// One thread names two owners: the guess is wrong.
			step = 0
		}
		names[thread(p)] = name
	}
	if step == 0 {
		names = named
	}
	switch {
	case step > 0:
		notes = append(notes, fmt.Sprintf("processes whose numbers differ by %d may be one client, as in a Jepsen run of concurrency %d: after an info, a thread continues as a new process. The history was judged both ways, with such processes as one client and with each process as its own client. A :client in the entries would remove the doubt", step, step))
	case retired:
		notes = append(notes, "the process numbers do not show which process continues for a process that ended with an info: each process counts as its own client")
	}
	numbers, told := map[string]int{}, map[int]string{}
	for i := range ops {
		op := &ops[i]
		if op.Process == history.Nemesis {
			continue
		}
		op.Client = int(thread(op.Process))
		if name, ok := names[thread(op.Process)]; ok {
			if _, known := numbers[name]; !known {
				numbers[name] = len(numbers)
			}
			op.Client = numbers[name]
			told[op.Client] = name
		}
	}
	if len(numbers) == 0 {
		return notes, step
	}
	unnamed(ops, names, thread, len(numbers))
	var parts []string
	for _, c := range slices.Sorted(maps.Keys(told)) {
		parts = append(parts, fmt.Sprintf("c%d is %s", c, told[c]))
	}
	return append(notes, "clients are those that completions name: "+strings.Join(parts, ", ")), step
}

// unnamed numbers the threads without an entry in names, the first of them with next, and sets
// Op.Client in their operations.
func unnamed(ops []history.Op, names map[history.Process]string, thread func(history.Process) history.Process, next int) {
	numbers := map[history.Process]int{}
	for i := range ops {
		t := thread(ops[i].Process)
		if _, ok := names[t]; ok || ops[i].Process == history.Nemesis {
			continue
		}
		if _, ok := numbers[t]; !ok {
			numbers[t] = next + len(numbers)
		}
		ops[i].Client = numbers[t]
	}
}

// concurrency infers how many threads ran a history. step is the least number that explains all
// processes (see succeed). It is 0 if there is no such number, or if no info retired a process.
// retired reports whether an info retired a process that another process may continue.
func concurrency(ops []history.Op) (step history.Process, retired bool) {
	seen, over := map[history.Process]int{}, map[history.Process]int{}
	var order []history.Process
	for i, op := range ops {
		if op.Process == history.Nemesis {
			continue
		}
		if _, gone := over[op.Process]; gone {
			return 0, true // in Jepsen, a process does nothing after its info
		}
		if _, known := seen[op.Process]; !known {
			seen[op.Process] = i
			order = append(order, op.Process)
		}
		if op.Type == history.Info && op.F != history.FLost {
			over[op.Process] = i
		}
	}
	if len(over) == 0 || len(order) == 0 {
		return 0, false
	}
	last := slices.Max(order)
	var steps []history.Process
	for p := range over {
		if p < last {
			steps = append(steps, last-p)
		}
	}
	slices.Sort(steps)
	for _, step := range slices.Compact(steps) {
		if succeed(step, order, seen, over) {
			return step, true
		}
	}
	return 0, len(steps) > 0
}

// succeed reports whether step threads explain the processes. order lists the processes by their
// first entry. Processes below step must come first, and each later process p must begin after
// process p - step was retired.
func succeed(step history.Process, order []history.Process, seen, over map[history.Process]int) bool {
	for i, p := range order {
		if p < step {
			if i >= int(step) {
				return false
			}
			continue
		}
		end, gone := over[p-step]
		if i < int(step) || !gone || end > seen[p] {
			return false
		}
	}
	return true
}
