package timeline

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

func TestTitlesTellTheWholeOperation(t *testing.T) {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	acquire := history.Op{Time: at(1), Process: 4, Client: 1, Type: history.Invoke, F: history.FAcquire, Lock: "orders"}
	done := func(typ history.Type, change func(*history.Op)) *history.Op {
		op := acquire
		op.Time, op.Type = at(3), typ
		change(&op)
		return &op
	}
	for _, c := range []struct {
		done *history.Op
		want string
	}{
		{nil, "c1: acquire: outcome unknown (0.001000 s to ?)"},
		{done(history.OK, func(op *history.Op) {
			op.Lease = &history.Lease{Token: "0123456789abcdef0123456789abcdef", Fence: 7, Deadline: at(1001)}
		}), "c1: acquire: done, until 1.001 s by its clock, token 0123456789…, fence 7 (0.001000 to 0.003000 s)"},
		{done(history.Fail, func(op *history.Op) { op.Reason = history.Busy }), "c1: acquire: refused (busy) (0.001000 to 0.003000 s)"},
		{done(history.Info, func(op *history.Op) { op.Reason, op.Error = history.Unknown, "i/o timeout" }), "c1: acquire: outcome unknown: i/o timeout (0.001000 to 0.003000 s)"},
		{done(history.OK, func(op *history.Op) { op.Mode, op.Value = history.Read, []int64{3, 3} }), "c1: acquire to read: done, value 3, 3 (0.001000 to 0.003000 s)"},
	} {
		if got := (titles{}).operation(history.Pair{Invoke: &acquire, Complete: c.done}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
