package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/lockstorm/lockstorm/trial"
)

// trialSeed derives a trial's seed from its names and number, so that the seed does not
// depend on other trials.
func trialSeed(campaign uint64, lock, fault, workload string, k int) uint64 {
	return seedOf(campaign, lock, fault, workload, strconv.Itoa(k))
}

// fixedSeed replaces the campaign's seed where a trial must not depend on it: in named
// schedules, and in the probe that finds them.
const fixedSeed = 1

func scheduleSeed(lock, fault, workload, schedule string) uint64 {
	return seedOf(fixedSeed, lock, fault, workload, schedule)
}

func seedOf(campaign uint64, lock, fault, workload, number string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s\x00%s", campaign, lock, fault, workload, number))
	return binary.BigEndian.Uint64(sum[:8]) & trial.MaxSeed
}
