package campaign

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// MaxSeed is the largest seed: seeds stay below 2^53, so that programs that
// read JSON numbers as floats keep them.
const MaxSeed = 1<<53 - 1

// trialSeed derives a trial's seed from what names it in its campaign, so that
// a trial keeps its seed whatever else is run beside it.
func trialSeed(campaign uint64, lock, fault, workload string, k int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s\x00%d", campaign, lock, fault, workload, k))
	return binary.BigEndian.Uint64(sum[:8]) & MaxSeed
}
