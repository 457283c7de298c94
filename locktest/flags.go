package locktest

import (
	"cmp"
	"flag"
	"path/filepath"
	"testing"
)

// Flags of test binaries that import this package.
var (
	seedFlag   = new(uint64)
	replayFlag = new(string)
)

func init() {
	if testing.Testing() {
		flag.Uint64Var(seedFlag, "lockstorm.seed", 0, "seed of the trials that locktest.Run draws; 0 = as the test says")
		flag.StringVar(replayFlag, "lockstorm.replay", "", "run this trial only: WORKLOAD/SCHEDULE or WORKLOAD/NUMBER, as a failure prints it, or a file below testdata/lockstorm")
	}
}

// workerEnv is an environment variable. In a worker process it names the call of Run that the
// process serves, such as "TestLock#1", the first call in TestLock.
const workerEnv = "LOCKSTORM_LOCKTEST_WORKER"

// seed returns the value of the flag -lockstorm.seed, or Options.Seed if the flag is 0.
func seed(o Options) uint64 { return cmp.Or(*seedFlag, o.Seed) }

// filename replaces each character that a file name should not contain by an underscore.
func filename(name string) string {
	safe := []rune(filepath.ToSlash(name))
	for i, r := range safe {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '+', r == '.':
		default:
			safe[i] = '_'
		}
	}
	return string(safe)
}
