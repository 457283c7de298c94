package locktest

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// acquires returns the record of a fault-free trial with these operations.
func acquires(ops ...history.Op) trial.Record {
	return trial.Record{Evidence: history.Evidence{Ops: ops}}
}

// entry returns an operation of a client. The kind is its history.Type, such as "ok".
func entry(client int, f, kind string, seconds float64) history.Op {
	return history.Op{Client: client, F: f, Type: history.Type(kind), Time: time.Duration(seconds * float64(time.Second)), Error: "i/o timeout"}
}

func TestReentryIsJudgedByTheLeaseOfItsHolder(t *testing.T) {
	const ttl = 30 * time.Second
	again := func(kind string, ends float64) string {
		return reentryLacks(attemptsOf(acquires(
			entry(0, history.FAcquire, "invoke", 1), entry(0, history.FAcquire, "ok", 2),
			entry(0, history.FAcquire, "invoke", 3), entry(0, history.FAcquire, kind, ends),
		)), ttl)
	}
	for name, c := range map[string]struct{ got, want string }{
		"at once":              {again("ok", 3), ""},
		"a quarter":            {again("ok", 3+7.5), ""},
		"more than that":       {again("ok", 3+8), "waited 8s: expected at most a quarter of the lease"},
		"more than a half":     {again("ok", 3+16), "waited 16s: expected at most a quarter of the lease"},
		"until the lease ends": {again("ok", 2+30), "waited 29s, until its own lease had ended"},
		"refused":              {again("fail", 3), "was refused: ErrBusy"},
		"an error":             {again("info", 4), "failed after 1s: i/o timeout"},
		"it never ended": {reentryLacks(attemptsOf(acquires(
			entry(0, history.FAcquire, "invoke", 1), entry(0, history.FAcquire, "ok", 2), entry(0, history.FAcquire, "invoke", 3), entry(0, history.FHealed, "info", 20),
		)), ttl), "waited 17s: expected at most a quarter of the lease"},
		"by another client": {reentryLacks(attemptsOf(acquires(
			entry(0, history.FAcquire, "invoke", 1), entry(0, history.FAcquire, "ok", 2), entry(1, history.FAcquire, "invoke", 3), entry(1, history.FAcquire, "ok", 40),
		)), ttl), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

func TestAHintSaysWhetherALockWaitsForItsTurn(t *testing.T) {
	const ttl = 30 * time.Second
	behind := func(kind string, waited float64) []attempt {
		return attemptsOf(acquires(
			entry(0, history.FAcquire, "invoke", 1), entry(0, history.FAcquire, "ok", 2),
			entry(1, history.FAcquire, "invoke", 3), entry(1, history.FAcquire, kind, 3+waited),
		))
	}
	for name, c := range map[string]struct{ got, want string }{
		"gives up at once":             {turnHint(behind("fail", 0), ttl, true), "gave up 1 time at once"},
		"gives up after a while":       {turnHint(behind("fail", 2), ttl, true), "gave up 1 time after at most 2s"},
		"waits":                        {turnHint(behind("ok", 2), ttl, true), ""},
		"waits, which nobody declared": {turnHint(behind("ok", 2), ttl, false), "Acquire waited up to 2s for its turn: the option Blocking"},
		"refuses":                      {turnHint(behind("fail", 0), ttl, false), ""},
	} {
		if c.want == "" && c.got != "" || !strings.Contains(c.got, c.want) {
			t.Errorf("%s: got %q, want %q in it", name, c.got, c.want)
		}
	}
}

func TestAHintNamesAnErrorThatShouldBeErrBusy(t *testing.T) {
	refused := func(kind string, c history.Command) string {
		ops := []history.Op{
			entry(0, history.FAcquire, "invoke", 1), entry(0, history.FAcquire, "ok", 2),
			entry(1, history.FAcquire, "invoke", 3), entry(1, history.FAcquire, kind, 4),
		}
		for i := range ops {
			ops[i].Index = i
		}
		r := acquires(ops...)
		r.Evidence.Commands = []history.Command{c}
		return busyHint(attemptsOf(r))
	}
	reply := history.Command{Client: 1, Op: 2, Replied: 1, Reply: "nil"}
	for name, c := range map[string]struct {
		kind string
		of   history.Command
		told bool
	}{
		"an unknown error":            {"info", reply, true},
		"busy":                        {"fail", reply, false},
		"granted":                     {"ok", reply, false},
		"no command":                  {"info", history.Command{Client: 1, Op: 0, Replied: 1, Reply: "nil"}, false},
		"no reply":                    {"info", history.Command{Client: 1, Op: 2}, false},
		"Redis answered by an error ": {"info", history.Command{Client: 1, Op: 2, Replied: 1, Reply: "LOADING Redis is loading"}, false},
	} {
		if got := refused(c.kind, c.of); c.told != (got != "") || c.told && !strings.Contains(got, `1 call of Acquire ended with an error that leaves open whether the lock was acquired ("i/o timeout")`) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
