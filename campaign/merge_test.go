package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// shardRun runs a small campaign, or a part of it, in the simulation.
func shardRun(t *testing.T, change func(*Config)) Stored {
	t.Helper()
	c := small(t, "set-nx-px", "none,client-pause")
	c.Workloads = []string{"mutex"}
	c.Trials, c.Named, c.Parallel = 2, true, 1 // in parallel, chance would decide which trial shows a flaw first
	change(&c)
	s := mustRun(t, c)
	return s
}

// shardsOf runs a campaign in n parts.
func shardsOf(t *testing.T, n int, change func(*Config)) (dirs []string, parts []Stored) {
	t.Helper()
	for i := 1; i <= n; i++ {
		s := shardRun(t, func(c *Config) {
			change(c)
			c.Shard = Shard{i, n}
		})
		dirs, parts = append(dirs, s.Dir), append(parts, s)
	}
	return dirs, parts
}

// matrixOf returns matrix.json without the fields that name the command and the directory.
func matrixOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, MatrixFile))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "command")
	delete(m, "store")
	text, err = json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func merge(t *testing.T, dirs ...string) (Merged, error) {
	t.Helper()
	return Merge(t.Context(), dirs, t.TempDir(), "merged", "lockstorm merge", nil)
}

func folders(t *testing.T, dir string) (all []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "trials", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], dir)
	}
	return all
}

func TestMergedShardsAreTheUndividedCampaign(t *testing.T) {
	raced(t)
	several := func(c *Config) { c.Locks, c.Faults = []string{"set-nx-px", "setnx"}, []string{"none", "reset"} }
	whole := shardRun(t, several)
	dirs, parts := shardsOf(t, 3, several)
	slices.Reverse(dirs) // the order of the directories does not matter
	m, err := merge(t, append(dirs, dirs[0])...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := matrixOf(t, m.Dir), matrixOf(t, whole.Dir); got != want {
		t.Errorf("the matrix is\n%s\nwant\n%s", got, want)
	}
	if got, want := folders(t, m.Dir), folders(t, whole.Dir); !slices.Equal(got, want) {
		t.Errorf("folders %q, want %q", got, want)
	}
	for i, c := range m.Matrix.Cells {
		if want := whole.Matrix.Cells[i].Dir; c.Dir != want {
			t.Errorf("%s under %s: %q shows the verdict, want %q", c.Lock, c.Fault, c.Dir, want)
		}
		if _, err := trial.LoadRecord(filepath.Join(m.Dir, c.Dir)); c.Dir != "" && err != nil {
			t.Error(err)
		}
	}
	if m.Words() != "" || m.Matrix.Interrupted || len(m.Trials) != len(whole.Trials) {
		t.Errorf("%q, interrupted %t, %d trials of %d", m.Words(), m.Matrix.Interrupted, len(m.Trials), len(whole.Trials))
	}
	sum := 0
	for _, p := range parts {
		sum += len(p.Trials)
		if p.Matrix.Interrupted || len(p.Matrix.Missed) > 0 || p.Matrix.ExitCode(true) != ExitExpected {
			t.Errorf("shard %s: %d of %d trials, missed %v, exit %d", p.Matrix.Shard, p.Matrix.Finished, p.Matrix.Planned, p.Matrix.Missed, p.Matrix.ExitCode(true))
		}
	}
	if probes := 2; sum != len(whole.Trials)+2*probes { // every shard runs all probes
		t.Errorf("the shards ran %d trials, want %d and the probes of two more shards", sum, len(whole.Trials))
	}
	again, err := Load(m.Dir)
	if err != nil || again.Truncated != nil || len(again.Trials) != len(m.Trials) {
		t.Errorf("read back: %v, %v, %d trials", err, again.Truncated, len(again.Trials))
	}
}

func TestMoreRecipesMoveNoTrialToAnotherShard(t *testing.T) {
	own := func(locks ...string) (all []string) {
		c := DefaultConfig()
		c.Locks, c.Faults, c.Workloads, c.Trials, c.Named = locks, []string{"client-pause"}, []string{"mutex"}, 4, true
		specs, err := specsOfAll(t.Context(), sim.New(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range specs {
			if s.Lock == "set-nx-px" && (Shard{2, 3}).has(s) {
				all = append(all, trial.Folder(s))
			}
		}
		return all
	}
	if few, many := own("set-nx-px"), own("getset", "set-nx-px"); len(few) == 0 || !slices.Equal(few, many) {
		t.Errorf("got %q beside another recipe, want %q", many, few)
	}
}

func TestAMergeWithoutAllShardsHasHoles(t *testing.T) {
	dirs, _ := shardsOf(t, 3, func(*Config) {})
	m, err := merge(t, dirs[0], dirs[2])
	if err != nil {
		t.Fatal(err)
	}
	if want := "shard 2/3 is missing"; m.Words() != want || !m.Matrix.Interrupted {
		t.Errorf("got %q, interrupted %t; want %q", m.Words(), m.Matrix.Interrupted, want)
	}
	if m.Matrix.Finished >= m.Matrix.Planned || len(m.Matrix.Missed) > 0 {
		t.Errorf("%d of %d trials, missed %v", m.Matrix.Finished, m.Matrix.Planned, m.Matrix.Missed)
	}
	whole := filepath.Join(t.TempDir(), "2")
	if err := os.CopyFS(whole, os.DirFS(dirs[1])); err != nil {
		t.Fatal(err)
	}
	cutShort(t, dirs[1])
	if m, err = merge(t, append(slices.Clone(dirs), filepath.Dir(whole))...); err != nil {
		t.Fatal(err)
	}
	if m.Words() != "" || m.Matrix.Interrupted {
		t.Errorf("a shard was run again: got %q, interrupted %t", m.Words(), m.Matrix.Interrupted)
	}
	if m, err = merge(t, dirs...); err != nil {
		t.Fatal(err)
	}
	if want := dirs[1] + " did not run to the end"; m.Words() != want || !m.Matrix.Interrupted {
		t.Errorf("got %q, interrupted %t; want %q", m.Words(), m.Matrix.Interrupted, want)
	}
}

// cutShort removes the last third of the file in which a campaign lists its trials.
func cutShort(t *testing.T, dir string) {
	t.Helper()
	path := packed.Find(filepath.Join(dir, trial.ResultsFile))
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, text[:len(text)*2/3], 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNoPartOfOneCampaignIsNotMerged(t *testing.T) {
	part := func(change func(*Config)) string {
		return shardRun(t, func(c *Config) {
			c.Faults, c.Named, c.Trials, c.Shard = []string{"client-pause"}, false, 4, Shard{1, 2}
			change(c)
		}).Dir
	}
	first := part(func(*Config) {})
	altered := part(func(*Config) {})
	rewrite(t, filepath.Join(altered, CampaignFile), `"lockstorm": "`, `"lockstorm": "other `)
	for name, c := range map[string]struct {
		dirs []string
		want string
	}{
		"nothing":               {nil, "no shards"},
		"no campaign":           {[]string{t.TempDir()}, "expected the directory of a stored campaign"},
		"a whole campaign":      {[]string{part(func(c *Config) { c.Shard = Shard{} })}, "expected a shard of a campaign; this is a whole one"},
		"another number":        {[]string{first, part(func(c *Config) { c.Shard = Shard{1, 3} })}, "shards 1/2 and 1/3; expected the same number of shards"},
		"another seed":          {[]string{first, part(func(c *Config) { c.Seed, c.Shard = 2, Shard{2, 2} })}, "the configurations differ in seed: 1 and 2"},
		"another fault":         {[]string{first, part(func(c *Config) { c.Faults, c.Shard = []string{"reset"}, Shard{2, 2} })}, "the configurations differ in faults"},
		"another version":       {[]string{first, altered}, "the versions differ in lockstorm"},
		"one index, two trials": {[]string{first, otherHistory(t, part(func(*Config) {}))}, "both are shard 1/2, with other trials"},
	} {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			_, err := Merge(t.Context(), c.dirs, store, "merged", "", nil)
			var bad *input.Error
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(store); len(left) > 0 {
				t.Errorf("%s was left in the store", left[0].Name())
			}
		})
	}
}

// otherHistory changes the hash of the first trial in a stored list.
func otherHistory(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, trial.ResultsFile)
	f, err := packed.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err == nil {
		err = packed.WriteFile(path, bytes.Replace(text, []byte(`"hash":"`), []byte(`"hash":"other`), 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func rewrite(t *testing.T, path, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %s", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, replacement, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestShardsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"1/1": "", "3/8": "", "8/8": "",
		"": "expected a shard and their number", "2": "expected a shard and their number", "a/b": "expected a shard", "1/2/3": "expected a shard",
		"0/8": "expected a shard from 1 to 8", "9/8": "expected a shard from 1 to 8", "1/0": "expected 1 to 1048576 shards", "-1/-1": "expected 1 to",
	} {
		s, err := ParseShard(text)
		switch {
		case want == "" && (err != nil || s.String() != text):
			t.Errorf("%q: got %v, %v", text, s, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
