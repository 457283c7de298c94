package node

import (
	"maps"
	"slices"
)

// subscriptions maps a channel or pattern to its sessions, sorted by session number.
type subscriptions map[string][]*Session

func (subs subscriptions) add(name string, s *Session) {
	i, _ := slices.BinarySearchFunc(subs[name], s.id, func(o *Session, id int) int { return o.id - id })
	subs[name] = slices.Insert(subs[name], i, s)
}

func (subs subscriptions) drop(name string, s *Session) {
	rest := slices.DeleteFunc(subs[name], func(o *Session) bool { return o == s })
	if len(rest) == 0 {
		delete(subs, name)
		return
	}
	subs[name] = rest
}

func (subs subscriptions) dropAll(s *Session, names map[string]bool) {
	for name := range names {
		subs.drop(name, s)
	}
}

func (s *Session) subscriptions() int { return len(s.subscribed) + len(s.psubscribed) }

func (n *Node) cmdSubscribe(s *Session, args []string) {
	s.subscribed = s.subscribe("subscribe", n.channels, s.subscribed, args[1:])
}

func (n *Node) cmdPsubscribe(s *Session, args []string) {
	s.psubscribed = s.subscribe("psubscribe", n.patterns, s.psubscribed, args[1:])
}

func (n *Node) cmdUnsubscribe(s *Session, args []string) {
	s.unsubscribe("unsubscribe", n.channels, s.subscribed, args[1:])
}

func (n *Node) cmdPunsubscribe(s *Session, args []string) {
	s.unsubscribe("punsubscribe", n.patterns, s.psubscribed, args[1:])
}

func (s *Session) subscribe(what string, subs subscriptions, own map[string]bool, names []string) map[string]bool {
	if own == nil {
		own = map[string]bool{}
	}
	n := s.node
	other := s.subscriptions() - len(own)
	for _, name := range names {
		if !own[name] {
			own[name] = true
			subs.add(name, s)
		}
		n.push(3)
		n.bulk(what)
		n.bulk(name)
		n.int(int64(other + len(own)))
	}
	return own
}

// unsubscribe ends the session's subscriptions to names. Without names it ends all of
// them, in the order of their names.
func (s *Session) unsubscribe(what string, subs subscriptions, own map[string]bool, names []string) {
	n := s.node
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(own))
	}
	if len(names) == 0 {
		n.push(3)
		n.bulk(what)
		n.null()
		n.int(int64(s.subscriptions()))
	}
	for _, name := range names {
		if own[name] {
			delete(own, name)
			subs.drop(name, s)
		}
		n.push(3)
		n.bulk(what)
		n.bulk(name)
		n.int(int64(s.subscriptions()))
	}
}

func (n *Node) cmdPublish(_ *Session, args []string) {
	n.int(n.publish(args[1], args[2]))
}

// publish sends a message to the subscribers of the channel, then to the subscribers of each
// matching pattern, in the order of the patterns. It returns the number of messages sent.
func (n *Node) publish(channel, message string) (receivers int64) {
	for _, s := range n.channels[channel] {
		receivers++
		n.send(s, func() {
			n.push(3)
			n.bulk("message")
			n.bulk(channel)
			n.bulk(message)
		})
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
			n.send(s, func() {
				n.push(4)
				n.bulk("pmessage")
				n.bulk(pattern)
				n.bulk(channel)
				n.bulk(message)
			})
		}
	}
	return receivers
}

// send calls write and queues its output as a push to a session.
func (n *Node) send(to *Session, write func()) {
	n.pushes = append(n.pushes, Push{To: to, Message: n.message(to, write)})
}

func (n *Node) pubsubChannels(_ *Session, args []string) {
	if len(args) > 3 {
		n.fail("ERR unknown subcommand or wrong number of arguments for '" + cut(args[1], 128) + "'. Try PUBSUB HELP.")
		return
	}
	var found []string
	for _, channel := range slices.Sorted(maps.Keys(n.channels)) {
		if len(args) == 2 || matches(args[2], channel) {
			found = append(found, channel)
		}
	}
	n.array(len(found))
	for _, channel := range found {
		n.bulk(channel)
	}
}

func (n *Node) pubsubNumsub(_ *Session, args []string) {
	n.array(2 * (len(args) - 2))
	for _, channel := range args[2:] {
		n.bulk(channel)
		n.int(int64(len(n.channels[channel])))
	}
}
