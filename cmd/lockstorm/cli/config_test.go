package cli

import (
	"testing"
)

func TestConfigFileSetsFlagsAndFlagsWin(t *testing.T) {
	for name, text := range map[string]string{
		"config.json": `{"locks": ["getset", "setnx"], "ttl": "3s", "trials": 9, "expect": true, "seed": 9007199254740990}`,
		"tabs.json":   "{\n\t\"locks\": [\"getset\", \"setnx\"],\n\t\"ttl\": \"3s\",\n\t\"trials\": 9, \"expect\": true,\n\t\"seed\": 9007199254740990\n}",
		"list.yaml":   "# the locks of our services\nlocks:\n  - getset\n  - setnx\nttl: 3s # longer than ours\ntrials: 9\nexpect: true\nseed: 9007199254740990\n",
		"line.yaml":   "locks: getset,setnx\nttl: 3s\ntrials: 9\nexpect: true\nseed: 9007199254740990\n",
	} {
		a := &app{testbeds: testbeds}
		cmd := runCommand(a)
		if err := cmd.Flags().Parse([]string{"--ttl", "7s"}); err != nil {
			t.Fatal(err)
		}
		if err := configFlags(cmd.Flags(), file(t, name, text)); err != nil {
			t.Fatal(err)
		}
		for flag, want := range map[string]string{"locks": "getset,setnx", "ttl": "7s", "trials": "9", "expect": "true", "seed": "9007199254740990"} {
			if got := cmd.Flags().Lookup(flag).Value.String(); got != want {
				t.Errorf("%s: --%s is %s, want %s", name, flag, got, want)
			}
		}
	}
}

func TestAnEmptyConfigFileSetsNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "{}"} {
		a := &app{testbeds: testbeds}
		if err := configFlags(runCommand(a).Flags(), file(t, "config.yaml", text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
