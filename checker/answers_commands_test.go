package checker

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestWhatOnlyCreates(t *testing.T) {
	for command, want := range map[string]bool{
		"SETNX lock t0": true, "HSETNX lock f t0": true, "SET lock t0 nx PX 1000": true,
		"SET lock t0 PX 1000": false, "SET lock t0 XX": false, "SET lock NX": false, "FCALL NX 1 lock": false, "": false,
	} {
		var args []history.Bytes
		for _, a := range strings.Fields(command) {
			args = append(args, history.Bytes(a))
		}
		if got := onlyCreates(args); got != want {
			t.Errorf("%q: got %t, want %t", command, got, want)
		}
	}
}
