package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// No recorder writes such histories, but a file may have them: two operations on the resource with
// the same seq, or an operation of a crashed client.
func TestWhatCannotHaveHappenedIsNoEvidence(t *testing.T) {
	touch := func(index int, client int, f string, typ history.Type, seq int64) history.Op {
		return history.Op{
			Index: index, Time: time.Duration(index), Process: history.Process(client), Client: client,
			F: f, Type: typ, Lock: "a", Seq: seq, Value: []int64{1},
		}
	}
	for name, tt := range map[string]struct {
		oracle string
		ops    []history.Op
		result Result
		why    string
	}{
		"two touches in one place": {"resource", []history.Op{
			touch(0, 0, history.FAcquire, history.Invoke, 0), touch(1, 0, history.FAcquire, history.OK, 0),
			touch(2, 0, history.FRead, history.Invoke, 0), touch(3, 0, history.FRead, history.OK, 1),
			touch(4, 1, history.FWrite, history.Invoke, 0), touch(5, 1, history.FWrite, history.OK, 2),
			touch(6, 0, history.FWrite, history.Invoke, 0), touch(7, 0, history.FWrite, history.OK, 2),
		}, Unknown, "entries 5 and 7 touch a with the same seq 2"},
		"a dead client that goes on": {"exclusion", []history.Op{
			{Index: 0, Process: history.Nemesis, Client: 0, Type: history.Info, F: history.FCrash},
			touch(1, 0, history.FAcquire, history.Invoke, 0), touch(2, 0, history.FAcquire, history.OK, 0),
		}, Unknown, "c0 has crashed before"},
		"nothing at all": {"exclusion", nil, NotApplicable, "nothing was acquired"},
	} {
		t.Run(name, func(t *testing.T) {
			verdicts, err := Judge(t.Context(), history.Evidence{Ops: tt.ops, Claims: history.Claims{TTL: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range verdicts {
				if v.Oracle == tt.oracle && (v.Result != tt.result || !strings.Contains(v.Why, tt.why)) {
					t.Errorf("got %s (%s), want %s (%s)", v.Result, v.Why, tt.result, tt.why)
				}
			}
		})
	}
}
