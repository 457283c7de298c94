package node

import "strings"

// CommandNames are the commands that the node runs, with those that have
// subcommands by these, for the test that compares them.
func CommandNames() []string {
	var names []string
	for _, c := range commands {
		for i := range c.subs {
			if c.subs[i].run != nil {
				names = append(names, strings.ToUpper(strings.ReplaceAll(c.subs[i].name, "|", " ")))
			}
		}
		if c.run != nil || c.is(typed) {
			names = append(names, strings.ToUpper(c.name))
		}
	}
	return names
}
