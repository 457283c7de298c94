package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// closed makes every object of a schema refuse fields that the schema does not list.
func closed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closed(inner)
		}
	case []any:
		for _, inner := range v {
			closed(inner)
		}
	}
}

// matrixSchema returns docs/matrix.schema.json. For tests, it refuses fields that the schema does
// not describe.
func matrixSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(readPage(t, "docs/matrix.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	closed(schema)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("matrix.schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("matrix.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validates(schema *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestMatrixJSONIsAsItsSchemaSays validates the output of run, which equals the stored matrix.
func TestMatrixJSONIsAsItsSchemaSays(t *testing.T) {
	schema := matrixSchema(t)
	code, stdout, stderr := lockstorm(t, "run", "--locks", "set-nx-px,setnx,redlock", "--faults", "none,client-pause,failover", "--trials", "1", "--shrink", "50", "--store", filepath.Join(t.TempDir(), "s"), "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := validates(schema, []byte(stdout)); err != nil {
		t.Errorf("%#v", err)
	}
	for _, verdict := range []trial.Outcome{trial.Violated, trial.NotSupported, trial.Holds} {
		if !strings.Contains(stdout, `"verdict": "`+string(verdict)+`"`) {
			t.Errorf("the campaign has no cell that is %s: the schema is not put to the test", verdict)
		}
	}
}

// TestTheSchemaKnowsEveryFieldOfTheMatrix includes fields that few campaigns have.
func TestTheSchemaKnowsEveryFieldOfTheMatrix(t *testing.T) {
	schema := matrixSchema(t)
	hash := strings.Repeat("0a", 32)
	whole := campaign.Matrix{
		Schema: campaign.Schema, Seed: 7, Testbed: "sim", Command: "lockstorm run", Store: "store/compare/t", Shard: campaign.Shard{Index: 2, Count: 8},
		Cells: []campaign.Cell{{
			Lock: "a", Fault: "none", Verdict: trial.Violated, Kind: locks.Bug, Causes: []string{"race"}, Oracles: map[string]string{"exclusion": "violated"},
			Enumerated: 1, Hash: hash, Varies: true, Replay: "lockstorm replay", Minimal: "trials/a/none/mutex-1/minimal",
		}},
		Varying:  []campaign.Varying{{Lock: "a", Difference: history.Difference{Log: "keys"}}},
		Programs: []campaign.ProgramFlaw{{Workload: "lottery", Why: "w", Source: "s"}},
		New:      []campaign.Discrepancy{{Lock: "a", Fault: "none", Oracle: "exclusion", Cause: "race", Dir: "trials/a/none/mutex-1"}},
		Lost:     []campaign.LostFact{{Lock: "a", Fault: "none", Workload: "mutex", Trial: "trial 1 of seed 7", Fact: "outcome violated bug"}},
		Changed:  []campaign.Changed{{Lock: "a", Trials: 1}},
	}
	for name, change := range map[string]func(*campaign.Matrix){
		"":                           func(*campaign.Matrix) {},
		"another version":            func(m *campaign.Matrix) { m.Schema++ },
		"an unknown verdict":         func(m *campaign.Matrix) { m.Cells[0].Verdict = "safe" },
		"a hash that is none":        func(m *campaign.Matrix) { m.Cells[0].Hash = "0a" },
		"no list of causes":          func(m *campaign.Matrix) { m.Cells[0].Causes = nil },
		"an unknown oracle's result": func(m *campaign.Matrix) { m.Cells[0].Oracles["exclusion"] = "fine" },
	} {
		m := whole
		m.Cells = []campaign.Cell{whole.Cells[0]}
		m.Cells[0].Oracles = map[string]string{"exclusion": "violated"}
		change(&m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := validates(schema, text); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
