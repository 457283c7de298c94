package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
)

func TestTheEnvironmentTellsTheShard(t *testing.T) {
	for _, c := range []struct {
		env   string // environment variables, separated by blanks
		shard string
		n     int
		want  string // the shard, or a part of the error; "" = the whole campaign
	}{
		{"", "", 0, ""},
		{"JOB_COMPLETION_INDEX=0", "", 4, "1/4"},
		{"JOB_COMPLETION_INDEX=3", "", 4, "4/4"},
		{"JOB_COMPLETION_INDEX=4", "", 4, "JOB_COMPLETION_INDEX=4 of 4: expected 0 to 3"},
		{"JOB_COMPLETION_INDEX=0", "", 0, "JOB_COMPLETION_INDEX=0 is the number of this shard: expected also --shards"},
		{"JOB_COMPLETION_INDEX=one", "", 4, "JOB_COMPLETION_INDEX=one: expected a number; --shard wins"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=3", "", 0, "1/3"},
		{"CI_NODE_INDEX=3 CI_NODE_TOTAL=3", "", 0, "3/3"},
		{"CI_NODE_INDEX=0 CI_NODE_TOTAL=3", "", 0, "CI_NODE_INDEX=0 of 3: expected 1 to 3"},
		{"CI_NODE_TOTAL=1", "", 0, ""},
		{"CI_NODE_TOTAL=3", "", 0, "CI_NODE_TOTAL=3 without CI_NODE_INDEX: expected both"},
		{"CI_NODE_INDEX=1", "", 0, "CI_NODE_INDEX without CI_NODE_TOTAL: expected both"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=1", "", 0, ""},
		{"CIRCLE_NODE_INDEX=1 CIRCLE_NODE_TOTAL=2", "", 0, "2/2"},
		{"BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=5", "", 0, "1/5"},
		{"AWS_BATCH_JOB_ARRAY_INDEX=2 AWS_BATCH_JOB_ARRAY_SIZE=5", "", 0, "3/5"},
		{"CLOUD_RUN_TASK_INDEX=9 CLOUD_RUN_TASK_COUNT=10", "", 0, "10/10"},
		{"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2", "", 0, "3/3"},
		{"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3", "", 0, "SLURM_ARRAY_TASK_ID without SLURM_ARRAY_TASK_MIN: expected both"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=3", "2/8", 0, "2/8"},
		{"CI_NODE_INDEX=x", "1/1", 0, "1/1"},
		{"CI_NODE_INDEX=1 CI_NODE_TOTAL=3", "", 8, "--shards 8: CI_NODE_TOTAL=3"},
		{"", "2/8", 4, "--shards 4: --shard 2/8 says 8"},
		{"", "8", 0, `--shard "8": expected a shard and their number, such as 2/8`},
		{"", "", 3, "--shards 3: expected --shard, or a variable of the environment"},
		{"", "", -1, "--shards -1: expected at least 1"},
	} {
		vars := map[string]string{}
		for _, word := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(word, "=")
			vars[name] = value
		}
		a := app{output: output{stderr: &bytes.Buffer{}, lookup: func(v string) (string, bool) { s, ok := vars[v]; return s, ok }}}
		s, err := a.shard(runFlags{shard: c.shard, shards: c.n})
		got := ""
		switch {
		case err != nil:
			got = oneLine(err)
		case s != campaign.Shard{}:
			got = s.String()
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want) || c.want == "") {
			t.Errorf("%s --shard %s --shards %d: got %q, want %q", c.env, c.shard, c.n, got, c.want)
		}
	}
}

func TestShardsAreMergedOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	run := func(store string, args ...string) (int, string) {
		code, _, errs := lockstorm(t, append([]string{"run", "--locks", "set-nx-px", "--faults", "none,client-pause", "--workloads", "mutex",
			"--trials", "2", "--shrink", "0", "--expect", "--store", filepath.Join(dir, store)}, args...)...)
		return code, errs
	}
	for i, shard := range []string{"1/2", "2/2"} {
		if code, errs := run(string("ab"[i]), "--shard", shard); code != 0 {
			t.Fatalf("shard %s: exit %d: %s", shard, code, errs)
		}
	}
	latest := func(store string) string { return filepath.Join(dir, store, campaign.Latest) }
	for _, c := range []struct {
		dirs []string
		code int
		out  string
		errs string
	}{
		{[]string{latest("a"), latest("b")}, campaign.ExitExpected, "as expected: every declared flaw that was looked for was found", ""},
		{[]string{latest("b")}, campaign.ExitUnknown, "report: ", "lockstorm: shard 1/2 is missing: the matrix has holes"},
		{[]string{latest("a"), dir}, campaign.ExitUsage, "", "expected the directory of a stored campaign"},
		{nil, campaign.ExitUsage, "", "lockstorm merge: expected the directories of stored shards, got 0 arguments"},
	} {
		code, out, errs := lockstorm(t, append([]string{"merge", "--store", filepath.Join(dir, "merged")}, c.dirs...)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) {
			t.Errorf("%q: exit %d, want %d:\n%s\n%s", c.dirs, code, c.code, out, errs)
		}
	}
	if code, errs := run("c", "--shard", "1/2", "--seed", "0"); code != campaign.ExitUsage || !strings.Contains(errs, "--seed 0: expected a seed with shard 1/2") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, errs := run("c", "--shard", "1/2", "--confirm", latest("a")); code != campaign.ExitUsage || !strings.Contains(errs, "--shard 1/2: expected no --confirm") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
