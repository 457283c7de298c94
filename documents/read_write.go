package documents

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// readWriteTable tries every cell of D4's table on D4's two locks, and on their corrected form,
// rw-hash-owners.
var readWriteTable = Experiment{
	ID:   "read-write",
	Asks: "What does each cell of D4's table show in practice?",
	How: "Each row is one scene, played by clients in turn on an empty node, with a lease of 1 s. *A* and *B* are readers on different clients, *W* is a writer on a third. " +
		"The columns say what each lock did; a letter in brackets is D4's own answer, + for supported and − for not.",
	run: runReadWriteTable,
}

// readWriteLocks are the columns of the table: D4's two locks, and the corrected one.
var readWriteLocks = []string{"rw-two-keys", "rw-hash", "rw-hash-owners"}

const readWriteLease = time.Second

// scene is one row of the table. play returns the outcome.
type scene struct {
	name string
	// says holds D4's answers for its two locks: "+" for supported, "−" for not, "" if D4 does not
	// say.
	says [2]string
	play func(context.Context, stage) (string, error)
}

var scenes = []scene{
	{"A enters twice to read", [2]string{"+", "+"}, enterTwice},
	{"A enters twice, leaves once (the second entry): W", [2]string{"+", "+"}, leaveOnce},
	{"A and B read, A leaves: W", [2]string{"", ""}, firstLeaves},
	{"A and B read, B leaves: W", [2]string{"", ""}, secondLeaves},
	{"A and B enter in the same millisecond, B leaves: W", [2]string{"−", "+"}, sameMillisecond},
	{"W holds, another writer releases: a third", [2]string{"−", "+"}, strangerReleases},
	{"W enters twice to write", [2]string{"−", "−"}, writeTwice},
	{"A reads and dies: W", [2]string{"+", "+"}, readerDies},
	{"W writes and dies: A", [2]string{"+", "+"}, writerDies},
}

func runReadWriteTable(ctx context.Context, l lab) (result Result, err error) {
	result.Columns = append([]string{"scene"}, readWriteLocks...)
	did := make([][]string, len(scenes))
	for n, s := range scenes {
		cells := []any{s.name}
		for i, id := range readWriteLocks {
			what, err := l.scene(ctx, s, id)
			if err != nil {
				return result, err
			}
			did[n] = append(did[n], what)
			if i < len(s.says) && s.says[i] != "" {
				what += " (" + s.says[i] + ")"
			}
			cells = append(cells, what)
		}
		result.row(cells...)
	}
	result.says("re-entry", "Both let the second entry in, and neither counts it: after one of two releases a writer is %s with two keys and %s with the hash.", both(did[1])...)
	result.says("first", "A and B read: when A, who came first, leaves, a writer is %s with two keys and %s with the hash; when B leaves, %s and %s, beside A.", append(both(did[2]), both(did[3])...)...)
	result.says("own", "With the hash, two readers of the same millisecond are one owner: after B's release a writer is %s beside A.", did[4][1])
	result.says("stranger", "While a writer holds, another writer releases: a third is %s with two keys and %s with the hash.", both(did[5])...)
	result.says("write", "A writer's second entry is %s with two keys and %s with the hash.", both(did[6])...)
	result.says("timeouts", "A dead reader keeps a writer out for %s with two keys and %s with the hash; a dead writer keeps a reader out for %s and %s.", append(both(did[7]), both(did[8])...)...)
	return result, nil
}

// both returns the outcomes of D4's two locks.
func both(did []string) []any { return []any{did[0], did[1]} }

// stage holds the handles of three clients on the lock of a scene.
type stage struct {
	read, write [3]locks.Lock
}

// scene plays the scene s on an empty node with the recipe id. It returns the outcome, such as "in",
// "kept out" or "3.0 s".
func (l lab) scene(ctx context.Context, s scene, id string) (did string, err error) {
	r, err := recipe(id)
	if err != nil {
		return "", err
	}
	_, err = l.world(ctx, testbed.Setup{Topology: testbed.Single, Clients: 3, Seed: l.seed}, func(ctx context.Context, env testbed.Env) error {
		var on stage
		for i := range on.read {
			lock, err := handle(r, env.Client(i), readWriteLease)
			if err != nil {
				return err
			}
			rw, ok := lock.(locks.RWLocker)
			if !ok {
				return errors.New(id + " is no read-write lock")
			}
			on.read[i], on.write[i] = rw.Read(), rw.Write()
		}
		did, err = s.play(ctx, on)
		return err
	})
	return did, err
}

// tried names the outcome of an attempt: "in" or "kept out".
func tried(err error) (string, error) {
	switch {
	case err == nil:
		return "in", nil
	case errors.Is(err, locks.ErrBusy):
		return "kept out", nil
	}
	return "", err
}

func attempt(ctx context.Context, l locks.Lock) (string, error) {
	_, err := l.TryLock(ctx)
	return tried(err)
}

// apart waits between two entries, so that their timestamps differ by a millisecond or more.
func apart(ctx context.Context) error { return sleep.For(ctx, 2*time.Millisecond) }

func enterTwice(ctx context.Context, on stage) (string, error) {
	_, _, err := twice(ctx, on.read[0])
	return tried(err)
}

func writeTwice(ctx context.Context, on stage) (string, error) {
	_, _, err := twice(ctx, on.write[0])
	return tried(err)
}

// twice acquires the lock two times, without a release in between.
func twice(ctx context.Context, l locks.Lock) (first, second locks.Lease, err error) {
	if first, err = l.TryLock(ctx); err != nil {
		return first, second, err
	}
	if err = apart(ctx); err != nil {
		return first, second, err
	}
	second, err = l.TryLock(ctx)
	return first, second, err
}

func leaveOnce(ctx context.Context, on stage) (string, error) {
	_, second, err := twice(ctx, on.read[0])
	if err != nil {
		return "", err
	}
	if err := on.read[0].Unlock(ctx, second); err != nil {
		return "", err
	}
	return attempt(ctx, on.write[2])
}

func firstLeaves(ctx context.Context, on stage) (string, error) { return oneLeaves(ctx, on, 0) }

func secondLeaves(ctx context.Context, on stage) (string, error) { return oneLeaves(ctx, on, 1) }

// oneLeaves lets two readers enter, A first, and one of them leave. Then a writer tries.
func oneLeaves(ctx context.Context, on stage, who int) (string, error) {
	var leases [2]locks.Lease
	for i := range leases {
		var err error
		if leases[i], err = on.read[i].TryLock(ctx); err != nil {
			return "", err
		}
		if err := apart(ctx); err != nil {
			return "", err
		}
	}
	if err := on.read[who].Unlock(ctx, leases[who]); err != nil {
		return "", err
	}
	return attempt(ctx, on.write[2])
}

func sameMillisecond(ctx context.Context, on stage) (string, error) {
	// Begin just after a full millisecond. In the simulation an attempt takes less than half a
	// millisecond, so both attempts read the same time in milliseconds.
	now := time.Now()
	if err := sleep.For(ctx, now.Truncate(time.Millisecond).Add(time.Millisecond+time.Microsecond).Sub(now)); err != nil {
		return "", err
	}
	if _, err := on.read[0].TryLock(ctx); err != nil {
		return "", err
	}
	second, err := on.read[1].TryLock(ctx)
	if err != nil {
		return "", err
	}
	if err := on.read[1].Unlock(ctx, second); err != nil {
		return "", err
	}
	return attempt(ctx, on.write[2])
}

func strangerReleases(ctx context.Context, on stage) (string, error) {
	if _, err := on.write[0].TryLock(ctx); err != nil {
		return "", err
	}
	if err := apart(ctx); err != nil {
		return "", err
	}
	lease, err := on.write[1].TryLock(ctx) // busy; the lease has the token of the attempt
	if !errors.Is(err, locks.ErrBusy) {
		return "", errors.New("a second writer was not kept out")
	}
	if err := on.write[1].Unlock(ctx, lease); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return "", err
	}
	return attempt(ctx, on.write[2])
}

func readerDies(ctx context.Context, on stage) (string, error) {
	return outFor(ctx, on.read[0], on.write[2])
}

func writerDies(ctx context.Context, on stage) (string, error) {
	return outFor(ctx, on.write[2], on.read[0])
}

// outFor acquires the lock by the handle dead and never releases it. It returns how long the other
// handle, waits, is kept out.
func outFor(ctx context.Context, dead, waits locks.Lock) (string, error) {
	if _, err := dead.TryLock(ctx); err != nil {
		return "", err
	}
	start := time.Now()
	if _, err := locks.Wait(ctx, waits, 10*time.Millisecond); err != nil {
		return "", err
	}
	return milli(time.Since(start)), nil
}
