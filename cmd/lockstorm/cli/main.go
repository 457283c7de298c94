package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
)

// Main runs the command line of this process and exits with the command's exit code. It registers
// the given recipes besides the built-in ones. Worker and client processes run the same program.
func Main(recipes ...locks.Recipe) {
	a := app{args: os.Args[1:], testbeds: testbeds, output: output{stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, program: calledAs(os.Args)}}
	if len(recipes) > 0 {
		a.testbeds = forGuests(testbeds)
	}
	if err := cmp.Or(register(recipes), commandFromEnvironment()); err != nil {
		fmt.Fprintf(a.stderr, "lockstorm: %s\n", oneLine(err))
		os.Exit(campaign.ExitUsage)
	}
	os.Exit(a.run(a.interrupts.listen(context.Background())))
}

// exit is an outcome that is not an error: nothing is printed about it.
type exit int

// Error implements error.
func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// app is the program with all its external inputs and outputs.
type app struct {
	args []string
	output
	testbeds offer
	// interrupts handles the signals that the process gets.
	interrupts interrupts
	// noHelp is the error if the user asked for help about an unknown command.
	noHelp error
}

// run executes the command line and returns the exit code. An error is printed as one line on
// stderr; results go to stdout.
func (a *app) run(ctx context.Context) int {
	root := a.root()
	root.SetArgs(a.args)
	err := cmp.Or(root.ExecuteContext(ctx), a.noHelp)
	var code exit
	var bad *input.Error
	var why interruption
	switch {
	case err == nil:
		return campaign.ExitExpected
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &why), errors.As(err, &why):
		fmt.Fprintf(a.stderr, "lockstorm: %v\n", why)
		return why.code()
	}
	fmt.Fprintf(a.stderr, "lockstorm: %s\n", oneLine(err))
	switch {
	case errors.As(err, &bad):
		return campaign.ExitUsage
	default:
		return campaign.ExitHarness
	}
}

func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(input.Flagged(err), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "lockstorm",
		Short: "Compare Redis locks under faults",
		Long: `Lockstorm runs Redis lock recipes under faults, records what every client and
every command did, and judges it: which clients held one lock at once, which
waited in vain, and why.`,
		Example: `  lockstorm run --locks set-nx-px,redlock --faults delay
  lockstorm list locks`,
		Version:       versions().Lockstorm,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "version" {
				fmt.Fprintf(a.stdout, "%s version %s\n", cmd.Name(), cmd.Version)
				return nil
			}
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if name := a.helpOf(); cmd == root && name != "" {
			a.noHelp = unknownCommand(root, name)
			return
		}
		fmt.Fprint(a.stdout, a.help(cmd, a.width(a.stdout)))
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(a.stderr, a.usage(cmd, a.width(a.stderr)))
		return err
	})
	root.AddCommand(runCommand(a), replayCommand(a), shrinkCommand(a), cleanCommand(a), workerCommand(a), clientCommand(a), reaperCommand(a), checkCommand(a), reportCommand(a), mergeCommand(a), benchCommand(a), answerCommand(a), listCommand(a), storeCommand(a), corpusCommand(a), exitCodesCommand(a))
	a.testbeds.complete(root)
	return root
}

// unknownCommand returns an error that suggests the existing commands closest to name.
func unknownCommand(root *cobra.Command, name string) error {
	return input.Errorf("unknown command %q: did you mean %s? (lockstorm help)", name, campaign.Nearest(name, commandNames(root)))
}

// helpOf returns the argument after "lockstorm" or "lockstorm help"; "" if there is none, or if it
// is a flag or "version".
func (a *app) helpOf() string {
	args := a.args
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || args[0] == "version" {
		return ""
	}
	return args[0]
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// expectArgs checks the number of arguments. The error says which arguments are expected; most < 0
// = no upper limit.
func expectArgs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return input.Errorf("%s: expected %s, got %d %s", cmd.CommandPath(), what, len(args), wording.Plural(len(args), "argument"))
		}
		return nil
	}
}
