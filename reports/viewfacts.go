package reports

import (
	"strconv"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
)

func versionFacts(v campaign.Versions) []fact {
	var out []fact
	for _, f := range []fact{{"lockstorm", v.Lockstorm}, {"Go", v.Go}, {"Redis", v.Redis}} {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}

const projectURL = "https://github.com/lockstorm/lockstorm"

// projectWords names the project, the version that ran the campaign, and its commit.
func projectWords(v campaign.Versions) string {
	commit := v.Commit
	if commit != "" {
		commit = "commit " + commit
	}
	return joinWords(" · ", projectURL, v.Lockstorm, commit)
}

func setupFacts(c campaign.Config) []fact {
	var out []fact
	add := func(label, value string, show bool) {
		if show {
			out = append(out, fact{label, value})
		}
	}
	add("clients", strconv.Itoa(c.Clients), c.Clients > 0)
	add("keys", strconv.Itoa(c.Keys), c.Keys > 0)
	add("TTL", wording.Length(c.TTL), c.TTL > 0)
	add("hold", wording.Length(c.Hold), c.Hold > 0)
	add("disturbed for", wording.Length(c.Duration), c.Duration > 0)
	add("trials per cell and workload", strconv.Itoa(c.Trials), c.Trials > 0)
	add("topology", string(c.Topology), c.Topology != "")
	add("clients", "trusting: they ignore deadlines and lost leases", c.Trusting)
	return out
}

// timeFacts says how long the campaign took, in real time and in virtual time.
func timeFacts(r result) []fact {
	if r.Info.Elapsed <= 0 {
		return nil
	}
	out := []fact{{"took", Roughly(r.Info.Elapsed)}}
	if virtual := (campaign.Stored{Trials: r.Trials}).Virtual(); virtual > 0 {
		out = append(out, fact{"virtual time", Roughly(virtual)})
	}
	return out
}
