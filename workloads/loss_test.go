package workloads

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// slowly returns a call of a lock that takes the time d and returns err.
func slowly(d time.Duration, err error) func() error {
	return func() error {
		time.Sleep(d)
		return err
	}
}

// stuck returns a fakeEnv.at with which clients take the time d for each step of the given name.
func stuck(step string, d time.Duration) func(int, string) error {
	return func(_ int, name string) error {
		if name == step {
			time.Sleep(d)
		}
		return nil
	}
}

// hangsFirst is a value for fakeEnv.work: client 0 hangs, and the work of other clients is not
// prolonged.
func hangsFirst(client int) (<-chan struct{}, error) {
	if client == 0 {
		return nil, testbed.ErrHung
	}
	return nil, nil
}

// The history has a loss at the time of the lock's report, whatever the holder waits for at that
// time.
func TestALossIsRecordedWhenItIsReported(t *testing.T) {
	const reported, long = 300 * time.Millisecond, 500 * time.Millisecond
	slowSecond := func(l *memoryLock) { // the second lock takes long, the first is lost meanwhile
		if l.key == "lock-1" {
			l.try = slowly(long, nil)
			return
		}
		losing(reported)(l)
	}
	atDeadline := func(l *memoryLock) { // the loss comes with the deadline
		losing(reported)(l)
		end := time.Now().Add(reported)
		l.deadline = func() time.Time { return end }
	}
	for _, c := range []struct {
		name, workload string
		env            fakeEnv
		adapt          func(*memoryLock)
		trusting       bool
		// want lists the losses: the lock, the open operation during which the loss was recorded,
		// and the time after the report. Virtual times are exact, but for a nanosecond per hold.
		want []string
	}{
		{
			name: "while the client waits for a second lock", workload: "two-locks",
			adapt: slowSecond,
			want:  []string{"lock-0 during acquire of lock-1 after 0s"},
		},
		{
			name: "of both locks, under both, while the client reaches a step late", workload: "two-locks",
			env: fakeEnv{at: stuck(testbed.StepRead, long)}, adapt: losing(reported),
			want: []string{"lock-0 after 0s", "lock-1 after 0s"},
		},
		{
			name: "while the client asks for an extension", workload: "extend",
			adapt: func(l *memoryLock) {
				l.extend = slowly(long, nil)
				losing(reported)(l)
			},
			want: []string{"lock-0 during extend of lock-0 after 0s"},
		},
		{
			name: "an extension that is refused is no second loss", workload: "extend",
			adapt: func(l *memoryLock) {
				l.extend = slowly(long, locks.ErrNotHeld)
				losing(reported)(l)
			},
			want: []string{"lock-0 during extend of lock-0 after 0s"},
		},
		{
			name: "while the client reaches its release late", workload: "mutex",
			env: fakeEnv{at: stuck(testbed.StepRelease, long)}, adapt: losing(reported),
			want: []string{"lock-0 after 0s"},
		},
		{
			name: "a frozen client learns of it when it is resumed", workload: "two-locks",
			env:   fakeEnv{awake: func(int) { time.Sleep(100 * time.Millisecond) }},
			adapt: slowSecond,
			want:  []string{"lock-0 during acquire of lock-1 after 100ms"},
		},
		{
			name: "a client that is frozen at its work learns of it when it is resumed", workload: "mutex",
			env: fakeEnv{
				work:  slowOnce(2*long, 1),
				awake: func(int) { time.Sleep(100 * time.Millisecond) },
			},
			adapt: losing(reported), want: []string{"lock-0 after 100ms"},
		},
		{
			name: "a release that ends the lease is no loss", workload: "mutex",
			adapt: func(l *memoryLock) {
				l.lost = make(chan struct{})
				over := sync.OnceFunc(func() { close(l.lost) })
				l.unlock = func() error {
					over()
					return slowly(long, nil)()
				}
			},
		},
		{
			name: "a deadline that has passed tells no more", workload: "two-locks",
			adapt: func(l *memoryLock) {
				if slowSecond(l); l.key != "lock-1" {
					atDeadline(l)
				}
			},
			want: []string{"lock-0 after 210.51ms"}, // when the client next checks for a loss
		},
		{
			name: "a client that hangs when its deadline has passed looks no more", workload: "mutex",
			env:   fakeEnv{at: stuck(testbed.StepHold, long), work: hangsFirst},
			adapt: atDeadline,
			want:  []string{"lock-0 after 201.01ms"}, // when the client begins to hang
		},
		{
			name: "a client that hangs before its deadline learns of the loss then", workload: "mutex",
			env:   fakeEnv{work: hangsFirst},
			adapt: atDeadline,
			want:  []string{"lock-0 after 0s"},
		},
		{
			name: "a trusting client does not ask", workload: "two-locks", trusting: true,
			adapt: slowSecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			load, _ := ByName(c.workload)
			opts := options
			// The second client keeps the trial going if the first one hangs.
			opts.Clients, opts.Keys, opts.Trusting = 2, max(1, load.Locks), c.trusting
			opts.Script = [][]Section{{{Hold: 30 * time.Millisecond, Retry: time.Millisecond}}}
			ops := played(t, c.workload, &c.env, opts, c.adapt)
			if got := losses(ops, reported); !slices.Equal(got, c.want) {
				t.Errorf("got the losses\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// losses lists the losses of the first client before the liveness phase.
func losses(ops []history.Op, reported time.Duration) (all []string) {
	var open *history.Op
	for i, op := range ops {
		switch {
		case op.F == history.FHealed:
			return all
		case op.Client != 0:
		case op.F == history.FLost:
			text := op.Lock
			if open != nil {
				text += fmt.Sprintf(" during %s of %s", open.F, open.Lock)
			}
			all = append(all, fmt.Sprintf("%s after %v", text, (op.Time-reported).Truncate(time.Microsecond)))
		case op.Type == history.Invoke:
			open = &ops[i]
		default:
			open = nil
		}
	}
	return all
}

// If a client learned of a loss before its extension succeeded, it does no work on the guarded
// resource.
func TestAnExtensionDoesNotUndoALoss(t *testing.T) {
	opts := options
	opts.Clients, opts.Script = 1, [][]Section{{{Hold: 30 * time.Millisecond, Retry: time.Millisecond}}}
	ops := played(t, "extend", &fakeEnv{}, opts, func(l *memoryLock) {
		l.extend = slowly(500*time.Millisecond, nil)
		losing(300 * time.Millisecond)(l)
	})
	healed := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FHealed })
	writes, extended := count(ops[:healed], is(history.FWrite, history.OK)), count(ops[:healed], is(history.FExtend, history.OK))
	if writes != 0 || extended != 1 {
		t.Errorf("%d writes and %d extensions, want none and the one that was under way", writes, extended)
	}
}

// A client that extends late (Section.Late) does not check first whether the lock reported a loss.
// So the lock itself must refuse the extension.
func TestALateExtensionIsAskedForAfterALoss(t *testing.T) {
	opts := options
	opts.Clients, opts.Script = 1, [][]Section{{{Hold: 30 * time.Millisecond, Late: time.Second, Retry: time.Millisecond}}}
	ops := played(t, "extend", &fakeEnv{}, opts, func(l *memoryLock) {
		l.extend = func() error { return locks.ErrNotHeld }
		losing(300 * time.Millisecond)(l)
	})
	lost, asked := slices.IndexFunc(ops, is(history.FLost, history.Info)), slices.IndexFunc(ops, is(history.FExtend, history.Invoke))
	if lost < 0 || asked < lost {
		t.Errorf("the loss is entry %d and the extension is invoked in entry %d, want the extension later", lost, asked)
	}
	healed := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FHealed })
	if n := count(ops[:healed], is(history.FLost, history.Info)); n != 1 {
		t.Errorf("the loss is recorded %d times, want once", n)
	}
}
