package campaign

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"

	math "math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// randomLock draws its tokens from the process's global generators.
const randomLock = "test-random"

func init() {
	registerLibrary(randomLock, goRedisDoer, func(*locks.Client) (string, error) {
		return fmt.Sprint(rand.Text(), "-", uuid.NewString(), "-", math.Int63()), nil
	})
}

func goRedisDoer(c *locks.Client) (doer, error) {
	return func(ctx context.Context, args ...string) (any, error) {
		words := make([]any, len(args))
		for i, a := range args {
			words[i] = a
		}
		reply, err := c.Nodes[0].Do(ctx, words...).Result()
		if errors.Is(err, goredis.Nil) {
			return nil, nil
		}
		return reply, err
	}, nil
}

func TestWorkersDrawRandomNumbersFromTheTrialsSeed(t *testing.T) {
	spec := someTrials(t, sim.New(), randomLock, "client-pause")[0]
	hash := func(p worker.Pool, s trial.Spec) string {
		d, err := p.Run(t.Context(), trial.Task{Spec: s, Folder: filepath.Join(t.TempDir(), "trial"), Drop: true}, nil)
		if err != nil || d.Trial.Err != "" {
			t.Fatal(err, d.Trial.Err)
		}
		return d.Trial.Hash
	}
	other := spec
	other.Seed++
	t.Setenv(trialtest.AsWorker, "1")
	p := worker.NewPool(nil, []string{os.Args[0]}, 1)
	t.Cleanup(p.Close)
	first, another, again := hash(p, spec), hash(p, other), hash(p, spec)
	p.Renew()
	if elsewhere := hash(p, spec); again != first || elsewhere != first || another == first {
		t.Errorf("got %s, in the same process %s, in another %s, and with another seed %s", first, again, elsewhere, another)
	}
}

func TestATestDrawsRandomNumbersFromTheTrialsSeed(t *testing.T) {
	t.Setenv("GODEBUG", "randseednop=0")
	tb := sim.New()
	spec := someTrials(t, tb, randomLock, undisturbed)[0]
	var hashes [2]string
	for i := range hashes {
		sim.SeedTest(t, spec.Seed)
		e, err := trial.Run(t.Context(), tb, spec, history.NewRecorder(nil, tb.Clock()), nil)
		if err != nil {
			t.Fatal(err)
		}
		hashes[i] = history.Hash(e)
	}
	if hashes[0] != hashes[1] {
		t.Errorf("got %s and %s", hashes[0], hashes[1])
	}
}
