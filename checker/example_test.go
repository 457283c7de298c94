package checker_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/linear"
	"github.com/lockstorm/lockstorm/history"
)

// Judge accepts a history that any program recorded. It judges what clients believed: each
// acquire's ok begins a hold, and the release ends it.
func Example() {
	const recorded = `
{"index":0,"time":0,"process":0,"client":0,"type":"invoke","f":"acquire","lock":"jobs"}
{"index":1,"time":1000000,"process":0,"client":0,"type":"ok","f":"acquire","lock":"jobs"}
{"index":2,"time":2000000,"process":1,"client":1,"type":"invoke","f":"acquire","lock":"jobs"}
{"index":3,"time":3000000,"process":1,"client":1,"type":"ok","f":"acquire","lock":"jobs"}
{"index":4,"time":5000000,"process":0,"client":0,"type":"invoke","f":"release","lock":"jobs"}
{"index":5,"time":6000000,"process":0,"client":0,"type":"ok","f":"release","lock":"jobs"}
`
	ops, _, err := history.ReadOps(strings.NewReader(strings.TrimPrefix(recorded, "\n")), "history.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	evidence := history.Evidence{Ops: ops, Claims: history.Claims{Lock: "mine", Quorum: 1, TTL: time.Second, Recovery: time.Second}}

	verdicts, err := checker.Judge(context.Background(), evidence)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range verdicts {
		if v.Result != checker.Violated {
			continue
		}
		fmt.Println(v.Oracle, v.Result)
		for _, f := range v.Findings {
			fmt.Println(f.Summary)
		}
	}
	// Output:
	// exclusion violated
	// c1 was granted jobs at 0.003s while c0 still believed it held it (since 0.001s, until its release at 0.005s)
}

// Linearizable checks a history against one model, such as "mutex". Like Knossos, it goes by how
// operations completed, and not by what clients believed meanwhile.
func ExampleLinearizable() {
	ok := func(process int, f string, at time.Duration) []history.Op {
		op := history.Op{Process: history.Process(process), Client: process, F: f, Lock: "jobs"}
		invoke, done := op, op
		invoke.Type, invoke.Time = history.Invoke, at
		done.Type, done.Time = history.OK, at+time.Millisecond
		return []history.Op{invoke, done}
	}
	var ops []history.Op
	for i, f := range []string{history.FAcquire, history.FAcquire} {
		ops = append(ops, ok(i, f, time.Duration(i)*time.Second)...)
	}
	for i := range ops {
		ops[i].Index = i
	}
	mutex, _ := linear.ModelNamed("mutex")
	v := checker.Linearizable(context.Background(), mutex.Name, history.Evidence{Ops: ops, Claims: mutex.Claims})
	fmt.Println(v.Result)
	// Output: violated
}
