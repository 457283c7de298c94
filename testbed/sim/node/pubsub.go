package node

import (
	"maps"
	"slices"
)

// subscriptions maps a channel or pattern to its sessions, sorted by session number.
type subscriptions map[string][]*Session

func (subs subscriptions) add(name string, s *Session) {
	i, _ := s.place(subs[name])
	subs[name] = slices.Insert(subs[name], i, s)
}

func (subs subscriptions) dropAll(s *Session, names map[string]bool) {
	for name := range names {
		s.leave(subs, name)
	}
}

func (s *Session) subscriptions() int { return len(s.subscribed) + len(s.psubscribed) }

// pubsubCommands run the commands for channels.
var pubsubCommands = map[string]handler{
	"subscribe":    func(c call) written { return c.subscribe(c.channels, &c.s.subscribed) },
	"psubscribe":   func(c call) written { return c.subscribe(c.patterns, &c.s.psubscribed) },
	"unsubscribe":  func(c call) written { return c.unsubscribe(c.channels, c.s.subscribed) },
	"punsubscribe": func(c call) written { return c.unsubscribe(c.patterns, c.s.psubscribed) },
	"publish":      func(c call) written { return c.int(c.publish(c.args[1], c.args[2])) },
	"pubsub|channels": func(c call) written {
		if len(c.args) > 3 {
			return c.fail("ERR unknown subcommand or wrong number of arguments for '" + cut(c.args[1], 128) + "'. Try PUBSUB HELP.")
		}
		var found []string
		for _, channel := range slices.Sorted(maps.Keys(c.channels)) {
			if len(c.args) == 2 || matches(c.args[2], channel) {
				found = append(found, channel)
			}
		}
		return c.bulks(found...)
	},
	"pubsub|numsub": func(c call) written {
		c.array(2 * (len(c.args) - 2))
		for _, channel := range c.args[2:] {
			c.bulk(channel)
			c.int(int64(len(c.channels[channel])))
		}
		return written{}
	},
	"pubsub|numpat": func(c call) written { return c.int(int64(len(c.patterns))) },
}

func (c call) subscribe(subs subscriptions, own *map[string]bool) written {
	if *own == nil {
		*own = map[string]bool{}
	}
	for _, name := range c.args[1:] {
		if !(*own)[name] {
			(*own)[name] = true
			subs.add(name, c.s)
		}
		c.confirm(func() { c.bulk(name) })
	}
	return written{}
}

// unsubscribe ends the session's subscriptions to the command's names. Without names it ends all of
// them, in the order of their names.
func (c call) unsubscribe(subs subscriptions, own map[string]bool) written {
	names := c.args[1:]
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(own))
	}
	if len(names) == 0 {
		c.confirm(func() { c.null() })
	}
	for _, name := range names {
		if own[name] {
			delete(own, name)
			s := c.s
			s.leave(subs, name)
		}
		c.confirm(func() { c.bulk(name) })
	}
	return written{}
}

// confirm writes one answer to SUBSCRIBE or a similar command; name writes the channel's name.
func (c call) confirm(name func()) {
	c.push(3)
	c.bulk(c.command.name)
	name()
	c.int(int64(c.s.subscriptions()))
}

// publish sends a message to the subscribers of the channel, then to the subscribers of each
// matching pattern, in the order of the patterns. It returns the number of messages sent.
func (n *Node) publish(channel, message string) (receivers int64) {
	for _, s := range n.channels[channel] {
		receivers++
		n.message(s, "message", channel, message)
	}
	if len(n.patterns) == 0 {
		return receivers
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.patterns)) {
		if !matches(pattern, channel) {
			continue
		}
		for _, s := range n.patterns[pattern] {
			receivers++
			n.message(s, "pmessage", pattern, channel, message)
		}
	}
	return receivers
}
