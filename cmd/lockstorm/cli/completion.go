package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/cmd/lockstorm/check"
	"github.com/lockstorm/lockstorm/documents"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// named is a name that shell completion offers, with a description.
type named struct{ name, doc string }

// completion is what the shell offers for a flag: names and, if the flag takes a list, groups of names.
type completion struct{ names, groups []named }

// completions returns the completions of flags, by the flag's name in any command. For other flags the shell
// completes file names.
func (t offer) completions() map[string]completion {
	recipes := namesOf(locks.All(), func(r locks.Recipe) named { return named{r.ID, r.Summary} })
	faults := namesOf(nemesis.All(), func(f nemesis.Fault) named { return named{f.Name, f.Doc} })
	work := namesOf(workloads.All(), func(w workloads.Workload) named { return named{w.Name, w.Doc} })
	return map[string]completion{
		"lock": {names: recipes}, "fault": {names: faults}, "workload": {names: work},
		"locks":       {recipes, []named{{"all", "all recipes but those of libraries"}, {"libraries", "the recipes that wrap libraries"}}},
		"faults":      {faults, []named{{"all", "all faults"}}},
		"workloads":   {work, []named{{"standard", "the workloads that suit each recipe"}, {"all", "all workloads"}}},
		"testbed":     {names: namesOf(t, func(c testbedChoice) named { return named{c.Name, c.Doc} })},
		"topology":    {names: namesOf([]testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent, testbed.Sentinel, testbed.Cluster}, plainName)},
		"clients-as":  {names: []named{{trial.Goroutines, "frozen and crashed by a gate"}, {trial.Processes, "stopped and killed, on real Redis only"}}},
		"lock-tokens": {names: []named{{"drawn", "a token for each attempt"}, {"client", "one token for all attempts of a client"}}},
		"model":       {names: namesOf(strings.Split(check.ModelWords(), ", "), plainName)},
		"export":      {names: namesOf(check.ExportNames(), plainName)},
	}
}

func namesOf[T any](all []T, name func(T) named) (names []named) {
	for _, x := range all {
		names = append(names, name(x))
	}
	return names
}

func plainName[T ~string](name T) named { return named{string(name), ""} }

// complete registers shell completions for the command and its subcommands.
func (t offer) complete(cmd *cobra.Command) {
	known := t.completions()
	for _, flag := range flagNames(cmd.Flags()) {
		c, ok := known[flag]
		if !ok {
			continue
		}
		offer := func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if c.groups == nil {
				return offers(c.names, "", typed), cobra.ShellCompDirectiveNoFileComp
			}
			before, last := lastOfList(typed)
			return offers(remaining(slices.Concat(c.groups, c.names), before), before, last), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, offer) // the flag exists and has no other completion
	}
	switch cmd.Name() {
	case "answer":
		cmd.ValidArgsFunction = firstOf(func() []named {
			return namesOf(documents.Experiments(), func(e documents.Experiment) named { return named{e.ID, plainText(e.Asks)} })
		})
	case "list":
		cmd.ValidArgs, cmd.ValidArgsFunction = nil, firstOf(func() []named { return namesOf(listingNames(), plainName) })
	}
	for _, c := range cmd.Commands() {
		t.complete(c)
	}
}

// firstOf offers names for the first argument and nothing for further arguments.
func firstOf(names func() []named) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offers(names(), "", typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// lastOfList splits a comma-separated list before its last element.
func lastOfList(typed string) (before, last string) {
	i := strings.LastIndex(typed, ",") + 1
	return typed[:i], typed[i:]
}

// remaining returns the names that are not in the list yet.
func remaining(names []named, list string) []named {
	taken := strings.Split(list, ",")
	return slices.DeleteFunc(slices.Clone(names), func(n named) bool { return slices.Contains(taken, n.name) })
}

// offers returns completions for the names that start with typed. The parameter before, the earlier
// elements of the list, is put in front of each.
func offers(names []named, before, typed string) (all []cobra.Completion) {
	for _, n := range names {
		if strings.HasPrefix(n.name, typed) {
			doc, _, _ := strings.Cut(n.doc, "\n")
			all = append(all, cobra.CompletionWithDesc(before+n.name, doc))
		}
	}
	return all
}
