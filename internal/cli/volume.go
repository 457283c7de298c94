package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/internal/input"
)

// volume is how much a command tells beside its result.
type volume int

// Volumes.
const (
	normal volume = iota
	quiet         // nothing but what is not as it should be
	verbose
)

// volumeFlags are the flags that choose a volume.
type volumeFlags struct{ quiet, verbose bool }

// register declares --quiet and --verbose; each may be left out by an empty help text.
func (f *volumeFlags) register(cmd *cobra.Command, quietHelp, verboseHelp string) {
	if quietHelp != "" {
		cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, quietHelp)
	}
	if verboseHelp != "" {
		cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, verboseHelp)
	}
}

func (f volumeFlags) check() error {
	if f.quiet && f.verbose {
		return input.Errorf("--quiet: --verbose asks for more; expected one of them")
	}
	return nil
}

func (f volumeFlags) volume() volume {
	switch {
	case f.quiet:
		return quiet
	case f.verbose:
		return verbose
	}
	return normal
}
