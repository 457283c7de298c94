package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/locks"
)

// module is the path of this program's module.
const module = "github.com/lockstorm/lockstorm"

// client is the path of the Redis client that recipes use.
const client = "github.com/redis/go-redis/v9"

// versions returns the versions of this program, of Go, and of the libraries that the
// registered recipes use.
func versions() campaign.Versions {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return campaign.Versions{Lockstorm: "unknown", Go: runtime.Version()}
	}
	return versionsOf(info)
}

// versionsOf returns the versions recorded in a build. The commit is known only if this module is
// the main module: a user's own program records the commit of the user's module.
func versionsOf(info *debug.BuildInfo) campaign.Versions {
	v := campaign.Versions{Lockstorm: "unknown", Go: runtime.Version()}
	if info.Main.Path == module {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if v.Commit = settings["vcs.revision"]; v.Commit != "" && settings["vcs.modified"] == "true" {
			v.Commit += ", modified"
		}
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) { // in a user's own program, this module is a dependency
		if m.Path == module && m.Version != "" {
			v.Lockstorm = m.Version
		}
		if m.Path == client || usedByRecipe(m.Path) {
			if v.Libraries == nil {
				v.Libraries = map[string]string{}
			}
			v.Libraries[m.Path] = m.Version
		}
	}
	return v
}

// usedByRecipe reports whether a registered recipe uses a package of the module.
func usedByRecipe(module string) bool {
	return slices.ContainsFunc(locks.All(), func(r locks.Recipe) bool {
		return r.Library == module || strings.HasPrefix(r.Library, module+"/")
	})
}
