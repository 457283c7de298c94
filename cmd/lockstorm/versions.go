package main

import (
	"runtime"
	"runtime/debug"

	"github.com/lockstorm/lockstorm/campaign"
)

// versions reads those of this program and of Go.
func versions() campaign.Versions {
	v := campaign.Versions{Lockstorm: "unknown", Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v.Lockstorm = info.Main.Version
	}
	return v
}
