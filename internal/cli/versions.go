package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/lockstorm/lockstorm/campaign"
)

// module is the path of this program's module.
const module = "github.com/lockstorm/lockstorm"

// versions returns the versions of this program and of Go.
func versions() campaign.Versions {
	v := campaign.Versions{Lockstorm: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) { // in a user's own program, a dependency
		if m.Path == module && m.Version != "" {
			v.Lockstorm = m.Version
		}
	}
	return v
}
