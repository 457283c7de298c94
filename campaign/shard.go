package campaign

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/trial"
)

// Shard is one part of a campaign whose trials are divided among programs, which may run on
// other machines; Merge puts the parts together. The zero value is a whole campaign.
type Shard struct {
	Index int // 1 to Count
	Count int
}

// mostShards bounds Shard.Count.
const mostShards = 1 << 20

// ParseShard reads a shard in the form "2/8". The error is an input.Error that does not name the setting.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil {
		return Shard{}, input.Errorf("%q: expected a shard and their number, such as 2/8", text)
	}
	s := Shard{Index: i, Count: n}
	return s, s.check()
}

// check returns an input.Error if there is no such shard.
func (s Shard) check() error {
	switch {
	case s == Shard{}:
		return nil
	case s.Count < 1 || s.Count > mostShards:
		return input.Errorf("%s: expected 1 to %d shards", s, mostShards)
	case s.Index < 1 || s.Index > s.Count:
		return input.Errorf("%s: expected a shard from 1 to %d", s, s.Count)
	}
	return nil
}

// Part says whether the shard is only a part of the campaign.
func (s Shard) Part() bool { return s.Count > 1 }

// String returns the form that ParseShard reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// MarshalText implements encoding.TextMarshaler.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shard) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShard(string(text))
	return err
}

// has says whether a trial belongs to the shard. The answer depends only on the trial itself:
// adding recipes to the campaign moves no trial to another shard.
func (s Shard) has(t trial.Spec) bool {
	if !s.Part() {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(filepath.ToSlash(trial.Folder(t)))) // never fails
	return h.Sum64()%uint64(s.Count) == uint64(s.Index-1)
}

// share returns the shard's jobs, in their order. In each cell, it sets inShard to the number of
// trials that the shard runs, probes included. Every shard runs all probes, since they show where
// faults can strike.
func (s Shard) share(probes, jobs []job, cells []plannedCell) []job {
	if !s.Part() {
		return jobs
	}
	type at struct{ lock, fault string }
	count := map[at]int{}
	for _, j := range probes {
		count[at{j.spec.Lock, j.spec.Fault}]++
	}
	var own []job
	for _, j := range jobs {
		if s.has(j.spec) {
			own = append(own, j)
			count[at{j.spec.Lock, j.spec.Fault}]++
		}
	}
	for i := range cells {
		cells[i].inShard = count[at{cells[i].recipe.ID, cells[i].fault.Name}]
	}
	return own
}
