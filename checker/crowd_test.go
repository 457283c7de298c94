package checker

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A crashed client blocks more than maxFindings locks for ever. The verdict is violated all the
// same, and lists maxFindings of these locks.
func TestMoreBlockedLocksThanAreListedAreStillAViolation(t *testing.T) {
	const locks = maxFindings + 20
	var ops []history.Op
	var cmds []history.Command
	log := func(at time.Duration, op history.Op) {
		op.Index, op.Time = len(ops), at
		ops = append(ops, op)
	}
	set := func(at time.Duration, client int, lock, reply string) {
		cmds = append(cmds, history.Command{
			Index: len(cmds), Client: client, Node: "n0", Conn: 1, Op: len(ops) - 1, Exec: len(cmds) + 1,
			Args: []history.Bytes{"SETNX", history.Bytes(lock), "1"}, Reply: history.Bytes(reply),
			Sent: at, Arrived: at, Served: at, Replied: at,
		})
	}
	var keys []history.KeyState
	for i := range locks {
		lock, at := fmt.Sprintf("lock-%03d", i), time.Duration(i+1)*time.Millisecond
		log(at, history.Op{Client: 0, Type: history.Invoke, F: history.FAcquire, Lock: lock})
		set(at, 0, lock, "1")
		log(at, history.Op{Client: 0, Type: history.OK, F: history.FAcquire, Lock: lock})
		keys = append(keys, history.KeyState{Key: lock, Type: "string", TTL: -1})
	}
	log(time.Second, history.Op{Process: history.Nemesis, Client: 0, Type: history.Info, F: history.FCrash})
	log(2*time.Second, history.Op{Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: history.FHealed})
	for i := range locks {
		lock, at := fmt.Sprintf("lock-%03d", i), 20*time.Second+time.Duration(i)*time.Millisecond
		log(at, history.Op{Process: 1, Client: 1, Type: history.Invoke, F: history.FAcquire, Lock: lock})
		set(at, 1, lock, "0")
		log(at, history.Op{Process: 1, Client: 1, Type: history.Fail, F: history.FAcquire, Lock: lock, Reason: history.Busy})
	}
	log(60*time.Second, history.Op{Process: history.Nemesis, Client: history.NoClient, Type: history.Info, F: history.FKeys, Node: "n0", Keys: keys})
	verdicts, err := Judge(t.Context(), history.Evidence{Ops: ops, Commands: cmds, Claims: history.Claims{Quorum: 1, TTL: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(verdicts, func(v Verdict) bool { return v.Oracle == "liveness" })
	if v := verdicts[i]; v.Result != Violated || len(v.Findings) != maxFindings || !v.Findings[0].Forever {
		t.Errorf("got %s (%s) with %d findings, want %s with %d, for ever", v.Result, v.Why, len(v.Findings), Violated, maxFindings)
	}
}
