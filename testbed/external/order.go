package external

import (
	"fmt"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// talk is what one connection carries to its node.
type talk struct {
	commands []*history.Command // in the order in which they were sent
	next     int                // the first of which the node may still tell
	told     map[*history.Command]bool
}

// order says of all commands that were sent to a node in which order it executed
// them, and between which times. Commands that get no stamp were not executed.
// Lines are all that the node told, until nothing more could come; talks are by
// the names of connections, which begin with mark. It is an error if they do not
// fit, or somebody else wrote to the node: then nothing is known.
func order(mark string, talks map[string]*talk, lines []told) ([]stamp, error) {
	seen, err := sights(mark, talks, lines)
	if err != nil {
		return nil, err
	}
	stamps := timed(seen)
	for _, t := range talks {
		for i, c := range t.commands {
			if t.told[c] && c.Replied == 0 && t.untoldTwin(i) {
				return nil, fmt.Errorf("which %s was executed cannot be told", testbed.CommandName(c.Args))
			}
			switch {
			case t.told[c] || c.Replied == 0:
			case i < t.next || mayBeUntold(c): // it did nothing, so its place does not matter
				stamps = append(stamps, stamp{command: c, arrived: c.Sent, served: c.Replied})
			default:
				return nil, fmt.Errorf("%s was answered, but not executed", testbed.CommandName(c.Args))
			}
		}
	}
	return stamps, nil
}

// sights finds the commands that lines are about.
func sights(mark string, talks map[string]*talk, lines []told) ([]sight, error) {
	var seen []sight
	by := map[string]*talk{} // by address
	last := -1               // of seen: what the line before belongs to
	from := ""               // where that came from
	for _, l := range lines {
		if l.from == fromScript {
			if last >= 0 {
				seen[last].end, seen[last].heard = l.at, l.heard
			} else if err := stranger(l.args, "a script of "+from); err != nil {
				return nil, err
			}
			continue
		}
		last, from = -1, l.from
		if name := l.names(mark); name != "" {
			by[l.from] = talks[name]
			continue
		}
		t := by[l.from]
		if t == nil {
			if err := stranger(l.args, l.from); err != nil {
				return nil, err
			}
			continue
		}
		c, err := t.tell(l.args)
		if err != nil {
			return nil, err
		}
		last = len(seen)
		seen = append(seen, sight{command: c, begin: l.at, end: l.at, heard: l.heard})
	}
	return seen, nil
}

// tell finds the command that the node tells next of a connection.
func (t *talk) tell(args []history.Bytes) (*history.Command, error) {
	c, err := t.find(args)
	if err == nil {
		if t.told == nil {
			t.told = map[*history.Command]bool{}
		}
		t.told[c] = true
	}
	return c, err
}

func (t *talk) find(args []history.Bytes) (*history.Command, error) {
	for i := t.next; i < len(t.commands); i++ {
		c := t.commands[i]
		if !same(c, args) {
			if !mayBeUntold(c) {
				return nil, fmt.Errorf("%s was executed where %s should have been", testbed.CommandName(args), testbed.CommandName(c.Args))
			}
			continue
		}
		if c.Failed() && t.again(i) {
			return nil, fmt.Errorf("which %s was executed cannot be told", testbed.CommandName(args))
		}
		t.next = i + 1
		return c, nil
	}
	return nil, fmt.Errorf("%s was executed, and not sent", testbed.CommandName(args))
}

// again says whether the node may be telling of a later command that is the same.
func (t *talk) again(i int) bool {
	for _, later := range t.commands[i+1:] {
		if same(later, t.commands[i].Args) {
			return true
		}
		if !mayBeUntold(later) {
			return false
		}
	}
	return false
}

// untoldTwin says whether the line that was taken for the one of a command without an
// answer may be a later one's, which is the same: as the connection went on after both
// and told of one only, the other was refused.
func (t *talk) untoldTwin(i int) bool {
	for _, later := range t.commands[i+1 : max(i+1, t.next)] {
		if same(later, t.commands[i].Args) && !t.told[later] {
			return true
		}
		if !mayBeUntold(later) {
			return false
		}
	}
	return false
}

// same says whether a line is about that command. What passwords are in is told
// without them.
func same(c *history.Command, args []history.Bytes) bool {
	switch name := testbed.CommandName(c.Args); name {
	case "AUTH", "HELLO":
		return testbed.CommandName(args) == name
	}
	return slices.Equal(c.Args, args)
}

// mayBeUntold says whether MONITOR may be silent about a command: it never came,
// was refused, waited for an EXEC in vain, or is one that MONITOR keeps to itself
// in some versions.
func mayBeUntold(c *history.Command) bool {
	return c.Replied == 0 || c.Failed() || c.Reply == "QUEUED" || !testbed.Counts(c.Args)
}
