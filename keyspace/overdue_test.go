package keyspace

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// On real Redis a key can expire while a command runs. The evidence does not tell whether
// the command found the old key, so the old grant ends as Unclear. But the command did put
// the new content, so it made the new grant.
func TestALifeThatEndsWhileACommandPutsAnother(t *testing.T) {
	const ms = time.Millisecond
	value := func(v history.Bytes, ends time.Duration) *history.KeyContent {
		return &history.KeyContent{Type: "string", Value: v, Expires: ends}
	}
	var e history.Evidence
	e.Watched = true
	for i, at := range []time.Duration{10 * ms, 1008 * ms} {
		op := history.Op{Index: 2 * i, Time: at - ms, Process: history.Process(i), Client: i, Type: history.Invoke, F: history.FAcquire, Lock: "lock"}
		done := op
		done.Index, done.Time, done.Type = op.Index+1, at+5*ms, history.OK
		e.Ops = append(e.Ops, op, done)
		e.Commands = append(e.Commands, history.Command{
			Index: i, Client: i, Node: "n0", Op: op.Index, Exec: i + 1, Args: []history.Bytes{"SET", "lock", "t", "NX", "PX", "1000"},
			Reply: "OK", Sent: at, Arrived: at, Served: at + 4*ms, Replied: at + 4*ms,
		})
	}
	e.Keys = []history.KeyChange{
		{Index: 0, Node: "n0", Key: "lock", By: history.ByCommand, Exec: 1, From: 10 * ms, To: 14 * ms, After: value("t0", 1010*ms)},
		{Index: 1, Node: "n0", Key: "lock", By: history.ByUnknown, Exec: 2, From: 1008 * ms, To: 1013 * ms, Before: value("t0", 1010*ms)},
		{Index: 2, Node: "n0", Key: "lock", By: history.ByCommand, Exec: 2, From: 1008 * ms, To: 1012 * ms, After: value("t1", 2010*ms)},
	}
	k := Read(e)
	if len(k.Grants) != 2 {
		t.Fatalf("%d grants, want 2", len(k.Grants))
	}
	first, second := k.Grants[0], k.Grants[1]
	if first.End == nil || first.End.How != Unclear || first.Over != nil {
		t.Errorf("the first ended by %+v, under %v: want an end that nobody saw", first.End, first.Over)
	}
	if second.Cmd != 1 || second.Op != 2 || second.Rested || second.Value != "t1" {
		t.Errorf("the second is %+v, want what the second SET put there", second)
	}
}
