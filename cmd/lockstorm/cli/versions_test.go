package cli

import (
	"runtime/debug"
	"testing"
)

func TestTheCommitIsThatOfThisModule(t *testing.T) {
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0a1b"}, {Key: "vcs.modified", Value: "true"}}
	for name, test := range map[string]struct {
		info            debug.BuildInfo
		version, commit string
	}{
		"modified":             {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}, Settings: settings}, "v1.2.3", "0a1b, modified"},
		"as committed":         {debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}, Settings: settings[:1]}, "v1.2.3", "0a1b"},
		"without a repository": {debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "(devel)", ""},
		"in another program":   {debug.BuildInfo{Main: debug.Module{Path: "example.com/own"}, Deps: []*debug.Module{{Path: module, Version: "v1.2.3"}}, Settings: settings}, "v1.2.3", ""},
	} {
		if v := versionsOf(&test.info); v.Lockstorm != test.version || v.Commit != test.commit {
			t.Errorf("%s: got %s, commit %q; want %s, %q", name, v.Lockstorm, v.Commit, test.version, test.commit)
		}
	}
}
