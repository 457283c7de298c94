package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// Merged is the campaign that Merge made of shards.
type Merged struct {
	Stored
	// Missing lists the shards that were not given.
	Missing []Shard
	// Short lists the directories of shards that did not run to their end.
	Short []string
}

// Merge makes one campaign of shards. Each of dirs is a shard's directory, or contains such
// directories, as a store does. If a shard was run twice, Merge leaves out the run that was cut
// short. Merge stores the campaign as name below root, with command as its command line. Its matrix
// is that of the undivided campaign, except that shards run no more schedules of a recipe that has changed.
// Merge does not change the shards' directories. If a shard is
// missing or did not run to its end, Matrix.Interrupted is set. An input.Error says why the shards
// are not parts of one campaign, or which file cannot be read. On such an error, or when ctx ends,
// nothing is stored.
func Merge(ctx context.Context, dirs []string, root, name, command string, newSink func(dir string) (Sink, error)) (Merged, error) {
	shards, err := loadShards(ctx, dirs)
	if err != nil {
		return Merged{}, err
	}
	m := merging{shards: shards, info: shards[0].Info}
	m.info.Config.Shard, m.info.Config.Store, m.info.Config.Name = Shard{}, root, name
	m.info.Command, m.info.Varying, m.info.Further, m.info.Elapsed = command, nil, nil, 0
	if err := cmp.Or(m.info.Config.check(), m.plan(), m.collect()); err != nil {
		return Merged{}, err
	}
	st, err := createStore(root, name, time.Now())
	if err != nil {
		return Merged{}, err
	}
	st.batched = true // lines that a kill loses are still in the shards
	merged, err := m.write(ctx, st)
	if err == nil && newSink != nil {
		err = merged.Report(ctx, newSink)
	}
	if err == nil {
		err = st.publish()
	}
	if err != nil {
		return Merged{}, errors.Join(err, st.close(), st.discard())
	}
	return merged, st.close()
}

// loadShards reads the shards in the order of their indices, one run of each.
func loadShards(ctx context.Context, dirs []string) ([]Stored, error) {
	dirs, err := campaignsIn(dirs)
	if err != nil {
		return nil, err
	}
	byIndex := map[int]Stored{}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := Over(dir); err != nil {
			return nil, err
		}
		s, err := Load(dir)
		if err != nil {
			return nil, err
		}
		at := s.Info.Config.Shard
		if !at.Part() {
			return nil, input.Errorf("%s: expected a shard of a campaign; this is a whole one", dir)
		}
		for _, other := range byIndex {
			if err := sameCampaign(other, s); err != nil {
				return nil, err
			}
		}
		other, twice := byIndex[at.Index]
		switch {
		case !twice, other.short() && !s.short(): // a shard that was cut short was run again
			byIndex[at.Index] = s
		case !s.short() && !sameTrials(other, s):
			return nil, input.Errorf("%s and %s: both are shard %s, with other trials; expected one of them", other.Dir, dir, at)
		}
	}
	if len(byIndex) == 0 {
		return nil, input.Errorf("no shards: expected the directories of at least one")
	}
	var all []Stored
	for _, i := range slices.Sorted(maps.Keys(byIndex)) {
		all = append(all, byIndex[i])
	}
	return all, nil
}

// campaignsIn returns dirs, but replaces a directory that contains campaigns, such as a store or
// the directory of one name in it, by these campaigns.
func campaignsIn(dirs []string) (all []string, err error) {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, CampaignFile)); err == nil {
			all = append(all, dir)
			continue
		}
		found, err := below(dir, "*", "*/*")
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, input.Errorf("%s: expected the directory of a stored campaign, or of several", dir)
		}
		all = append(all, found...)
	}
	return all, nil
}

// below returns the directories below a directory that match a pattern and have a campaign.
func below(dir string, patterns ...string) (found []string, err error) {
	for _, p := range patterns {
		files, err := fs.Glob(os.DirFS(dir), p+"/"+CampaignFile)
		if err != nil {
			return nil, fmt.Errorf("look for campaigns in %s: %w", dir, err)
		}
		for _, file := range files {
			path := filepath.Join(dir, filepath.FromSlash(filepath.Dir(file)))
			if info, err := os.Lstat(path); err == nil && info.IsDir() { // latest is a link
				found = append(found, path)
			}
		}
	}
	return found, nil
}

// short says whether a campaign did not run to its end.
func (s Stored) short() bool { return s.Truncated != nil || s.Matrix.Interrupted }

// sameCampaign returns an input.Error that names the first way in which two shards are not
// parts of one campaign.
func sameCampaign(a, b Stored) error {
	if n, m := a.Info.Config.Shard, b.Info.Config.Shard; n.Count != m.Count {
		return input.Errorf("%s and %s: shards %s and %s; expected the same number of shards", a.Dir, b.Dir, n, m)
	}
	if differs := differing(a.Info.Versions, b.Info.Versions); differs != "" {
		return input.Errorf("%s and %s: the versions differ in %s", a.Dir, b.Dir, differs)
	}
	// These settings change no trial: where a shard is stored, how fast it runs, and which trials
	// it shrinks or keeps.
	common := func(c Config) Config {
		c.Shard, c.Store, c.Name, c.Parallel, c.Shrink, c.Keep = Shard{}, "", "", 0, 0, false
		return c
	}
	if differs := differing(common(a.Info.Config), common(b.Info.Config)); differs != "" {
		return input.Errorf("%s and %s: the configurations differ in %s", a.Dir, b.Dir, differs)
	}
	return nil
}

// differing names the first field, as in JSON, in which two values of one type differ, with
// both values; "" if they are equal.
func differing(a, b any) string {
	fields := func(v any) map[string]any {
		var all map[string]any
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil { // impossible: both types were read from JSON
			return map[string]any{"": err.Error()}
		}
		return all
	}
	first, second := fields(a), fields(b)
	names := maps.Clone(first)
	maps.Copy(names, second)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !reflect.DeepEqual(first[name], second[name]) {
			return fmt.Sprintf("%s: %v and %v", name, first[name], second[name])
		}
	}
	return ""
}

// sameTrials says whether two runs of a shard have the same trials with the same histories
// and verdicts.
func sameTrials(a, b Stored) bool {
	type ran struct{ hash, shows string }
	index := func(s Stored) map[string]ran {
		all := map[string]ran{}
		for _, t := range s.Trials {
			all[trial.Folder(t.Spec)] = ran{t.Hash, t.Shows()}
		}
		return all
	}
	return maps.Equal(index(a), index(b))
}

// merging is the state of one Merge.
type merging struct {
	shards []Stored // in the order of their indices
	info   Info
	trials []mergedTrial
}

// mergedTrial is a trial with the directory of its shard.
type mergedTrial struct {
	trial.Result
	from string
}

// plan merges the shards' plans into the campaign's. On deterministic testbeds, the shards' plans
// must be equal. On real time, the probes of two machines may show different places for a fault to
// strike; then the larger numbers count.
func (m *merging) plan() error {
	m.info.Plan = slices.Clone(m.info.Plan)
	for i := range m.info.Plan {
		p := &m.info.Plan[i]
		p.InShard = 0
		for _, s := range m.shards[1:] {
			if len(s.Info.Plan) != len(m.info.Plan) {
				return input.Errorf("%s and %s: one ended before its first trials", m.shards[0].Dir, s.Dir)
			}
			q := s.Info.Plan[i]
			q.InShard = 0
			if m.info.Deterministic {
				if differs := differing(*p, q); differs != "" {
					return input.Errorf("%s and %s: %s under %s is planned differently: %s", m.shards[0].Dir, s.Dir, p.Lock, p.Fault, differs)
				}
				continue
			}
			p.Named, p.Variants = max(p.Named, q.Named), max(p.Variants, q.Variants)
			if p.NotSupported != nil && q.NotSupported == nil {
				p.NotSupported, p.Workloads = nil, q.Workloads
			}
		}
	}
	return nil
}

// collect gathers the shards' trials, each probe once, in an order that does not depend on any
// clock. It drops folders that the undivided campaign would not have kept.
func (m *merging) collect() error {
	at := map[string]int{} // indices in m.trials, by folder
	for _, s := range m.shards {
		for _, v := range s.Info.Varying {
			if !m.info.varies(v.Lock) {
				m.info.Varying = append(m.info.Varying, v)
			}
		}
		for _, t := range s.Trials {
			folder := trial.Folder(t.Spec)
			if i, twice := at[folder]; twice {
				first := m.trials[i]
				if m.info.Deterministic && first.Hash != t.Hash && Ours(t.Spec.Lock) {
					return input.Errorf("%s and %s: %s differs, though both ran the same trial", first.from, s.Dir, folder)
				}
				continue
			}
			at[folder] = len(m.trials)
			m.trials = append(m.trials, mergedTrial{t, s.Dir})
		}
		if s.Info.Further != nil {
			if m.info.Further == nil {
				m.info.Further = &Further{}
			}
			m.info.Further.add(s.Info.Further)
			m.info.Further.sort(m.info.Plan)
		}
		if m.info.Started.After(s.Info.Started) {
			m.info.Started = s.Info.Started
		}
		m.info.Elapsed += s.Info.Elapsed // the sum over all shards, even if they ran at the same time
	}
	slices.SortStableFunc(m.trials, func(a, b mergedTrial) int {
		return cmp.Or(orderOf(a.Spec).compare(orderOf(b.Spec)), cmp.Compare(trial.Folder(a.Spec), trial.Folder(b.Spec)))
	})
	if !m.info.Deterministic || m.info.Config.Keep {
		return nil
	}
	var kept shown
	for i := range m.trials {
		t := &m.trials[i].Result
		if t.Violation() && !t.Headline && !t.ShowsMore(kept.enough(t.Spec)) {
			t.Dir = ""
		}
		kept.add(*t)
	}
	return nil
}

// write stores the campaign. The caller closes the store.
func (m *merging) write(ctx context.Context, st *store) (Merged, error) {
	merged := Merged{Stored: Stored{Dir: st.dir, Info: m.info}}
	for _, t := range m.trials {
		if err := ctx.Err(); err != nil {
			return merged, err
		}
		if err := copyFolders(t.from, st.dir, t.Dir); err != nil {
			return merged, err
		}
		if err := st.add(t.Result); err != nil {
			return merged, err
		}
		merged.Trials = append(merged.Trials, t.Result)
	}
	for _, s := range m.shards {
		for _, v := range s.Info.Varying {
			if slices.Contains(m.info.Varying, v) {
				if err := copyFolders(s.Dir, st.dir, v.Dir, v.Again); err != nil {
					return merged, err
				}
			}
		}
	}
	m.holes(&merged)
	merged.Matrix = fold(m.info, st.dir, merged.Trials)
	merged.Matrix.Interrupted = merged.Matrix.Interrupted || len(merged.Missing)+len(merged.Short) > 0
	merged.Matrix.withMinimals(st.dir)
	return merged, cmp.Or(st.seal(), packed.WriteJSON(filepath.Join(st.dir, CampaignFile), m.info),
		packed.WriteJSON(filepath.Join(st.dir, MatrixFile), merged.Matrix))
}

// holes lists in merged the shards that were not given (Missing) and those that did not run to
// their end (Short).
func (m *merging) holes(merged *Merged) {
	given := map[int]bool{}
	for _, s := range m.shards {
		given[s.Info.Config.Shard.Index] = true
		if s.short() {
			merged.Short = append(merged.Short, s.Dir)
		}
	}
	count := m.shards[0].Info.Config.Shard.Count
	for i := 1; i <= count; i++ {
		if !given[i] {
			merged.Missing = append(merged.Missing, Shard{i, count})
		}
	}
}

// copyFolders copies folders from one campaign's directory to another's. It skips folders that
// the other directory already has, and empty names.
func copyFolders(from, to string, folders ...string) error {
	for _, folder := range folders {
		target := filepath.Join(to, folder)
		if _, err := os.Stat(target); folder == "" || err == nil {
			continue
		}
		if err := os.CopyFS(target, os.DirFS(filepath.Join(from, folder))); err != nil {
			return fmt.Errorf("copy %s: %w", filepath.Join(from, folder), err)
		}
	}
	return nil
}

// Words says in a sentence without a full stop which shards are missing or short; "" if none.
func (m Merged) Words() string {
	var parts []string
	if n := len(m.Missing); n > 0 {
		var names []string
		for _, s := range m.Missing {
			names = append(names, s.String())
		}
		parts = append(parts, fmt.Sprintf("%s %s %s missing", wording.Plural(n, "shard"), strings.Join(names, ", "), map[bool]string{true: "is", false: "are"}[n == 1]))
	}
	if len(m.Short) > 0 {
		parts = append(parts, strings.Join(m.Short, ", ")+" did not run to the end")
	}
	return strings.Join(parts, "; ")
}
