package node

import "strings"

// CommandNames returns the names of all commands and subcommands that the node supports, such
// as "GET" and "CLIENT ID".
func CommandNames() []string {
	var names []string
	for _, c := range commands {
		for _, sub := range c.bySub {
			if sub.run != nil {
				names = append(names, strings.ReplaceAll(sub.Name, "|", " "))
			}
		}
		if c.run != nil {
			names = append(names, c.Name)
		}
	}
	return names
}
