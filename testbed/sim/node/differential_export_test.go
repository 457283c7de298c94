package node

import "strings"

// CommandNames returns the names of all commands and subcommands that the node supports, such
// as "GET" and "CLIENT ID".
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
