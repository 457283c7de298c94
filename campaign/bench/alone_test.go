package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

const ms = time.Millisecond

// exchange returns a command of operation op with the given times; replied 0 = there was no reply.
func exchange(op int, sent, replied time.Duration) history.Command {
	return history.Command{Op: op, N: 1, Sent: sent, Replied: replied}
}

func TestRoundTripsAreTheLongestChainOfRepliesAndRequests(t *testing.T) {
	handshake := exchange(0, 1*ms, 2*ms)
	handshake.N = 0
	tests := []struct {
		name     string
		commands []history.Command
		want     int
	}{
		{"nothing was sent", nil, 0},
		{"one command", []history.Command{exchange(0, 1*ms, 2*ms)}, 1},
		{"two, one after the other's reply", []history.Command{exchange(0, 1*ms, 2*ms), exchange(0, 2*ms, 3*ms)}, 2},
		{"a pipeline of three", []history.Command{exchange(0, 1*ms, 4*ms), exchange(0, 1*ms+1, 4*ms+1), exchange(0, 1*ms+2, 4*ms+2)}, 1},
		{"five nodes in turn", []history.Command{exchange(0, 1*ms, 2*ms), exchange(0, 3*ms, 4*ms), exchange(0, 5*ms, 6*ms), exchange(0, 7*ms, 8*ms), exchange(0, 9*ms, 10*ms)}, 5},
		{"three nodes at once, of which one is slow", []history.Command{exchange(0, 1*ms, 2*ms), exchange(0, 1*ms, 9*ms), exchange(0, 1*ms, 3*ms)}, 1},
		{"release after a majority, while one node still owes its answer", []history.Command{
			exchange(0, 1*ms, 2*ms), exchange(0, 1*ms, 3*ms), exchange(0, 1*ms, 9*ms), exchange(0, 4*ms, 5*ms), exchange(0, 4*ms, 6*ms), exchange(0, 4*ms, 10*ms),
		}, 2},
		{"without a reply nothing follows", []history.Command{exchange(0, 1*ms, 0), exchange(0, 5*ms, 0)}, 1},
		{"gave up on one node and asked the next", []history.Command{exchange(0, 1*ms, 2*ms), exchange(0, 3*ms, 0), exchange(0, 8*ms, 9*ms)}, 2},
		{"handshakes do not count", []history.Command{handshake, exchange(0, 3*ms, 4*ms)}, 1},
		{"in any order", []history.Command{exchange(0, 5*ms, 6*ms), exchange(0, 1*ms, 2*ms), exchange(0, 3*ms, 4*ms)}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.commands)
			if got := RoundTrips(test.commands); got != test.want {
				t.Errorf("%d round trips, want %d", got, test.want)
			}
			if !slices.EqualFunc(before, test.commands, func(a, b history.Command) bool { return a.Sent == b.Sent && a.Replied == b.Replied }) {
				t.Error("the commands are in another order now")
			}
		})
	}
}

// entry returns a history entry of a client, without an index: ops sets it.
func entry(client int, at time.Duration, typ history.Type, f string) history.Op {
	return history.Op{Process: history.Process(client), Client: client, Time: at, Type: typ, F: f, Lock: "lock-0"}
}

// ops sets the indices of the entries, and returns the entries.
func ops(all ...history.Op) []history.Op {
	for i := range all {
		all[i].Index = i
	}
	return all
}

func TestCostsAreThoseOfSuccessfulOperationsOfOneKind(t *testing.T) {
	ping := exchange(0, 1*ms, 2*ms)
	ping.N = 0
	e := history.Evidence{
		Ops: ops(
			entry(0, 1*ms, history.Invoke, history.FAcquire), entry(0, 4*ms, history.OK, history.FAcquire),
			entry(1, 4*ms, history.Invoke, history.FAcquire), entry(1, 5*ms, history.Fail, history.FAcquire),
			entry(0, 6*ms, history.Invoke, history.FRelease), entry(0, 8*ms, history.OK, history.FRelease),
			entry(1, 9*ms, history.Invoke, history.FAcquire),
		),
		Commands: []history.Command{
			ping, exchange(0, 1*ms, 2*ms), exchange(0, 2*ms, 4*ms), // an acquire of two commands
			exchange(2, 4*ms, 5*ms),                          // a busy acquire
			exchange(-1, 5*ms, 6*ms),                         // a watchdog's command
			exchange(4, 6*ms, 8*ms), exchange(4, 6*ms, 7*ms), // a release of one pipeline
			exchange(6, 9*ms, 0),
		},
	}
	for f, want := range map[string][]Cost{
		history.FAcquire: {{Commands: 2, RoundTrips: 2, Took: 3 * ms}},
		history.FRelease: {{Commands: 2, RoundTrips: 1, Took: 2 * ms}},
		history.FExtend:  nil,
	} {
		got, err := Costs(e, f)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", f, got, err, want)
		}
	}
	e.Ops = ops(entry(0, 1*ms, history.OK, history.FAcquire))
	if _, err := Costs(e, history.FAcquire); err == nil {
		t.Error("an impossible history has costs")
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, test := range []struct {
		values []int
		q      float64
		want   int
	}{
		{[]int{7}, 0.5, 7}, {[]int{7}, 0.99, 7}, {[]int{2, 1}, 0.5, 1}, {[]int{3, 1, 2}, 0.5, 2}, {hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100},
	} {
		if got, ok := quantile(test.values, test.q); !ok || got != test.want {
			t.Errorf("quantile %v of %d values is %d (%v), want %d", test.q, len(test.values), got, ok, test.want)
		}
	}
	if _, ok := quantile([]int(nil), 0.5); ok {
		t.Error("no values have a quantile")
	}
}
