package cli

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
)

// parallelism describes a system that starts a program several times in parallel. Its environment
// variables tell each process its index and the total.
type parallelism struct {
	name         string
	index, total string // the names of variables; total is "" if the system does not tell
	first        int    // the lowest index, unless firstIn is set
	// firstIn and step, if set, are the variables for the lowest index and for the distance
	// between indices: some systems let users choose these.
	firstIn, step string
}

// parallelisms are the known systems, as their documentation describes them:
//   - https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode
//   - https://docs.gitlab.com/ci/variables/predefined_variables/
//   - https://circleci.com/docs/reference/variables/
//   - https://buildkite.com/docs/pipelines/configure/environment-variables
//   - https://docs.aws.amazon.com/batch/latest/userguide/job_env_vars.html
//   - https://docs.cloud.google.com/run/docs/container-contract
//   - https://slurm.schedmd.com/job_array.html
var parallelisms = []parallelism{
	{name: "an array job of AWS Batch", index: "AWS_BATCH_JOB_ARRAY_INDEX", total: "AWS_BATCH_JOB_ARRAY_SIZE"},
	{name: "Buildkite", index: "BUILDKITE_PARALLEL_JOB", total: "BUILDKITE_PARALLEL_JOB_COUNT"},
	{name: "GitLab", index: "CI_NODE_INDEX", total: "CI_NODE_TOTAL", first: 1},
	{name: "CircleCI", index: "CIRCLE_NODE_INDEX", total: "CIRCLE_NODE_TOTAL"},
	{name: "Cloud Run", index: "CLOUD_RUN_TASK_INDEX", total: "CLOUD_RUN_TASK_COUNT"},
	{name: "an indexed job of Kubernetes", index: "JOB_COMPLETION_INDEX"},
	{name: "an array job of Slurm", index: "SLURM_ARRAY_TASK_ID", total: "SLURM_ARRAY_TASK_COUNT", firstIn: "SLURM_ARRAY_TASK_MIN", step: "SLURM_ARRAY_TASK_STEP"},
}

// shard returns the shard that --shard or else the environment chooses; the zero Shard is the
// whole campaign. With --confirm, the environment is ignored: such a campaign cannot be divided.
func (a *app) shard(f runFlags) (campaign.Shard, error) {
	switch {
	case f.shards < 0:
		return campaign.Shard{}, input.Errorf("--shards %d: expected at least 1", f.shards)
	case f.shard != "":
		s, err := campaign.ParseShard(f.shard)
		if err != nil {
			return s, input.Errorf("--shard %w", err)
		}
		if f.shards != 0 && f.shards != s.Count {
			return s, input.Errorf("--shards %d: --shard %s says %d", f.shards, s, s.Count)
		}
		return s, nil
	case f.Confirm != "" || a.lookup == nil:
		return campaign.Shard{}, nil
	}
	for _, p := range parallelisms {
		s, told, err := p.shard(a.lookup, f.shards)
		if err != nil {
			return s, err
		}
		if told {
			fmt.Fprintf(a.stderr, "lockstorm: shard %s, according to %s; --shard 1/1 runs the whole campaign\n", s, p.name)
			return s, nil
		}
	}
	if f.shards != 0 {
		return campaign.Shard{}, input.Errorf("--shards %d: expected --shard, or a variable of the environment, to tell which this is", f.shards)
	}
	return campaign.Shard{}, nil
}

// shard reads the process's shard from the environment. told is false if the environment does not
// give an index, or if it says that there is only one shard. If the environment gives only some of
// the variables, or an invalid value, the error is an input.Error that names the variable.
func (p parallelism) shard(lookup func(string) (string, bool), shards int) (s campaign.Shard, told bool, err error) {
	if text, _ := lookup(p.index); text == "" {
		// GitLab sets the total even for a job that is not divided: to 1.
		if n, _ := lookup(p.total); n != "" && n != "1" {
			return s, false, input.Errorf("%s=%s without %s: expected both, or --shard", p.total, n, p.index)
		}
		return s, false, nil
	}
	number := func(variable string) int {
		n, problem := p.number(lookup, variable)
		err = cmp.Or(err, problem)
		return n
	}
	index, first, step := number(p.index), p.first, 1
	if p.firstIn != "" {
		first, step = number(p.firstIn), max(1, number(p.step))
	}
	total := shards
	if p.total != "" {
		total = number(p.total)
	}
	switch {
	case err != nil:
		return s, false, err
	case total == 0:
		return s, false, input.Errorf("%s=%d is the number of this shard: expected also --shards (the number of shards), or --shard", p.index, index)
	case shards != 0 && total != shards:
		return s, false, input.Errorf("--shards %d: %s=%d", shards, p.total, total)
	case index < first || (index-first)/step >= total:
		return s, false, input.Errorf("%s=%d of %d: expected %d to %d", p.index, index, total, first, first+(total-1)*step)
	}
	if total == 1 {
		return s, false, nil
	}
	return campaign.Shard{Index: (index-first)/step + 1, Count: total}, true, nil
}

// number returns the value of an environment variable that must be set to a number.
func (p parallelism) number(lookup func(string) (string, bool), variable string) (int, error) {
	text, _ := lookup(variable)
	if text == "" {
		return 0, input.Errorf("%s without %s: expected both, or --shard", p.index, variable)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, input.Errorf("%s=%s: expected a number; --shard wins", variable, text)
	}
	return n, nil
}
