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

// namesOf returns the names that the flag accepts, in every command; nil = the shell completes
// file names.
func (a *app) namesOf(flag string) []named {
	switch flag {
	case "lock", "locks":
		return lockNames()
	case "fault", "faults":
		return faultNames()
	case "workload", "workloads":
		return workloadNames()
	case "testbed":
		return a.testbedNames()
	case "topology":
		var all []named
		for _, t := range []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent, testbed.Sentinel, testbed.Cluster} {
			all = append(all, named{string(t), ""})
		}
		return all
	case "clients-as":
		return []named{{trial.Goroutines, "frozen and crashed by a gate"}, {trial.Processes, "stopped and killed, on real Redis only"}}
	case "lock-tokens":
		return []named{{"drawn", "a token for each attempt"}, {"client", "one token for all attempts of a client"}}
	case "model":
		var all []named
		for model := range strings.SplitSeq(check.ModelWords(), ", ") {
			all = append(all, named{model, ""})
		}
		return all
	case "export":
		var all []named
		for _, name := range check.ExportNames() {
			all = append(all, named{name, ""})
		}
		return all
	}
	return nil
}

// groupsOf returns the names of groups that a list flag accepts besides single names.
func groupsOf(flag string) []named {
	switch flag {
	case "locks":
		return []named{{"all", "all recipes but those of libraries"}, {"libraries", "the recipes that wrap libraries"}}
	case "faults":
		return []named{{"all", "all faults"}}
	case "workloads":
		return []named{{"standard", "the workloads that suit each recipe"}, {"all", "all workloads"}}
	}
	return nil
}

func lockNames() (all []named) {
	for _, r := range locks.All() {
		all = append(all, named{r.ID, r.Summary})
	}
	return all
}

func faultNames() (all []named) {
	for _, f := range nemesis.All() {
		all = append(all, named{f.Name, f.Doc})
	}
	return all
}

func workloadNames() (all []named) {
	for _, w := range workloads.All() {
		all = append(all, named{w.Name, w.Doc})
	}
	return all
}

func (a *app) testbedNames() (all []named) {
	for _, t := range a.testbeds {
		all = append(all, named{t.Name, t.Doc})
	}
	return all
}

// complete registers shell completions for the command and its subcommands.
func (a *app) complete(cmd *cobra.Command) {
	for _, flag := range flagNames(cmd.Flags()) {
		names, groups := a.namesOf(flag), groupsOf(flag)
		if names == nil {
			continue
		}
		offer := func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if groups == nil {
				return offers(names, "", typed), cobra.ShellCompDirectiveNoFileComp
			}
			before, last := lastOfList(typed)
			return offers(remaining(append(groups, names...), before), before, last), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, offer) // the flag exists and has no other completion
	}
	switch {
	case cmd.Name() == "answer":
		cmd.ValidArgsFunction = firstOf(func() (all []named) {
			for _, e := range documents.Experiments() {
				all = append(all, named{e.ID, plainText(e.Asks)})
			}
			return all
		})
	case cmd.Name() == "list":
		cmd.ValidArgs, cmd.ValidArgsFunction = nil, firstOf(func() (all []named) {
			for _, name := range listingNames() {
				all = append(all, named{name, ""})
			}
			return all
		})
	}
	for _, c := range cmd.Commands() {
		a.complete(c)
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
