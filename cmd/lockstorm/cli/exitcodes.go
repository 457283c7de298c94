package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/internal/wording"
)

// exitCode is one or several exit codes of a command, with their meaning.
type exitCode struct{ code, meaning string }

// first returns the first code as a number: the sort key.
func (c exitCode) first() int {
	text, _, _ := strings.Cut(c.code, ",")
	n, _ := strconv.Atoi(text) // all codes in the tables are numbers
	return n
}

// exitCodes holds each command's own codes, by the command's path. A command that is not listed
// has only commonCodes.
var exitCodes = []struct {
	command string
	codes   []exitCode
}{
	{"run", []exitCode{
		{"0", "It ran to its end and, with --expect, came out as the recipes declare. Without --expect, finding violations is the job done."},
		{"1", "With --expect: a violation that its recipe does not declare for that fault; a declared flaw that was not found although nothing hid it (on real Redis: under none of its faults; never with --workloads or --command-timeout, since flaws are declared for the defaults); a fact of the corpus that did not come out; or a fault that hit nothing."},
		{"2", "The evidence of some cell does not decide whether a property holds. With --expect also: an undeclared violation, or a declared flaw that did not show, is in doubt: possible other causes are a stall of the machine, an election that no fault caused, or an unobserved reply; or trials of the corpus have other histories than when it was made, since the recipe has changed."},
		{"255", "The harness failed: a trial could not be finished, the testbed could not be closed, two checkers disagree, or a trial of one of Lockstorm's own recipes had a different history when it ran again in the simulation (any other such lock is only marked as not replayable byte for byte)."},
	}},
	{"merge", []exitCode{
		{"0, 1", "As run ends, with --expect if the shards ran with it."},
		{"2", "As run ends with 2, or shards are missing."},
		{"254", "The directories are not shards of one campaign."},
	}},
	{"replay", []exitCode{
		{"0", "The trial ran, and came out as stored if that is known, violated or not: check judges."},
		{"2", "The stored files differ from those that the run judged: they were cut short or changed. Or the history of a lock that is not Lockstorm's own differs on a testbed with virtual time."},
		{"255", "The history of one of Lockstorm's own recipes differs on a testbed with virtual time, or the harness failed."},
	}},
	{"check", []exitCode{
		{"0", "Nothing is violated."},
		{"1", "Something is violated."},
		{"2", "Unknown: the evidence does not decide."},
		{"254", "There is no history that can be read."},
	}},
	{"corpus diff", []exitCode{
		{"0", "This build says what the corpus says."},
		{"1", "This build says something else of some trial."},
	}},
	{"bench", []exitCode{{"0", "The costs were measured. Use lockstorm run to learn whether a lock is safe."}}},
}

// commonCodes are codes of every command, unless the command gives a code another meaning.
var commonCodes = []exitCode{
	{"0", "As expected."},
	{"254", "Bad usage or configuration."},
	{"255", "The harness failed."},
	{"130, 143", "Interrupted by SIGINT or SIGTERM."},
}

// codesOf returns a command's codes, its own and the common ones, in ascending order.
func codesOf(command string) (all []exitCode) {
	for _, c := range exitCodes {
		if c.command == command {
			all = append(all, c.codes...)
		}
	}
	for _, c := range commonCodes {
		known := false
		for _, other := range all {
			known = known || strings.HasPrefix(other.code, c.code)
		}
		if !known {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b exitCode) int { return cmp.Compare(a.first(), b.first()) })
	return all
}

// codesTable renders exit codes for a screen of the given width; 0 = unlimited.
func codesTable(codes []exitCode, width int) string {
	const indent = "            "
	var b strings.Builder
	for _, c := range codes {
		begin := "  " + c.code + strings.Repeat(" ", len(indent)-2-len(c.code))
		b.WriteString(wording.Pack(strings.Fields(c.meaning), " ", begin, indent, width) + "\n")
	}
	return b.String()
}

// exitCodesCommand is the help topic that lockstorm help exit-codes shows.
func exitCodesCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes of all commands mean"}
}

func (a *output) exitCodesText(width int) string {
	var b strings.Builder
	for _, c := range exitCodes {
		b.WriteString("lockstorm " + c.command + ":\n" + codesTable(codesOf(c.command), width) + "\n")
	}
	return b.String() + "Every other command:\n" + codesTable(codesOf(""), width)
}
