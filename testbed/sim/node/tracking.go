package node

import (
	"maps"
	"slices"
	"strings"
)

// tracking is the node's side of client-side caching: which sessions track which keys.
type tracking struct {
	readers map[string][]*Session // by key: sessions that have read the key since its last invalidation
	bcast   []*Session            // sessions that track all keys with a prefix, sorted by session number
}

// trackingMode is a session's mode of client-side caching.
type trackingMode struct {
	on, bcast, optin, optout, noloop bool

	prefixes []string
	caching  string          // CLIENT CACHING for the next command: yes, no or ""
	changed  map[string]bool // keys to announce to a broadcasting session
}

// remember notes that a session has read these keys, if the session's mode tracks this read.
func (n *Node) remember(s *Session, keys []string) {
	if s.track.optin && s.track.caching != "yes" || s.track.optout && s.track.caching == "no" {
		return
	}
	if n.tracking.readers == nil {
		n.tracking.readers = map[string][]*Session{}
	}
	for _, key := range keys {
		readers := n.tracking.readers[key]
		i, known := slices.BinarySearchFunc(readers, s.id, func(o *Session, id int) int { return o.id - id })
		if !known {
			n.tracking.readers[key] = slices.Insert(readers, i, s)
		}
	}
}

// invalidate informs the sessions that have read a key of its change. For sessions that broadcast,
// it only notes the key: broadcast informs them.
func (n *Node) invalidate(key string) {
	for _, s := range n.tracking.bcast {
		if s.track.noloop && s == n.current {
			continue
		}
		if slices.ContainsFunc(s.track.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			if s.track.changed == nil {
				s.track.changed = map[string]bool{}
			}
			s.track.changed[key] = true
		}
	}
	if len(n.tracking.readers) == 0 {
		return
	}
	readers := n.tracking.readers[key]
	delete(n.tracking.readers, key)
	for _, s := range readers {
		if s.track.on && !s.track.bcast && s.resp3 && !(s.track.noloop && s == n.current) {
			n.sendInvalidation(s, []string{key})
		}
	}
}

// invalidateAll tells all tracking sessions that everything has changed.
func (n *Node) invalidateAll() {
	n.tracking.readers = nil
	for _, s := range n.sessions {
		if s.track.on && s.resp3 {
			n.sendInvalidation(s, nil)
		}
	}
}

func (n *Node) sendInvalidation(s *Session, keys []string) {
	n.send(s, func() {
		n.push(2)
		n.bulk("invalidate")
		if keys == nil {
			n.null()
			return
		}
		n.array(len(keys))
		for _, key := range keys {
			n.bulk(key)
		}
	})
}

// broadcast announces the keys that have changed since the last broadcast to broadcasting sessions, in
// one message for each session and prefix.
func (n *Node) broadcast() {
	for _, s := range n.tracking.bcast {
		if len(s.track.changed) == 0 {
			continue
		}
		changed := slices.Sorted(maps.Keys(s.track.changed))
		s.track.changed = nil
		if !s.resp3 {
			continue
		}
		for _, prefix := range s.track.prefixes {
			var keys []string
			for _, key := range changed {
				if strings.HasPrefix(key, prefix) {
					keys = append(keys, key)
				}
			}
			if keys != nil {
				n.sendInvalidation(s, keys)
			}
		}
	}
}

// untrack ends a session's tracking. As in Redis, the node still remembers the keys that the
// session has read. If the session starts to track again, the node announces changes of these
// keys.
func (n *Node) untrack(s *Session) {
	s.track = trackingMode{}
	n.tracking.bcast = slices.DeleteFunc(n.tracking.bcast, func(o *Session) bool { return o == s })
}

func (n *Node) forgetReader(s *Session) {
	for key, readers := range n.tracking.readers {
		if readers = slices.DeleteFunc(readers, func(o *Session) bool { return o == s }); len(readers) == 0 {
			delete(n.tracking.readers, key)
		} else {
			n.tracking.readers[key] = readers
		}
	}
}

func (n *Node) clientTracking(s *Session, args []string) {
	mode := trackingMode{on: true}
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "BCAST":
			mode.bcast = true
		case "OPTIN":
			mode.optin = true
		case "OPTOUT":
			mode.optout = true
		case "NOLOOP":
			mode.noloop = true
		case "PREFIX":
			if i++; i == len(args) {
				n.fail(syntax)
				return
			}
			mode.prefixes = append(mode.prefixes, args[i])
		case "REDIRECT":
			n.fail(n.redirection(args[i+1:]))
			return
		default:
			n.fail(syntax)
			return
		}
	}
	switch strings.ToUpper(args[2]) {
	case "ON":
		if refusal := s.track.switchTo(&mode); refusal != "" {
			n.fail(refusal)
			return
		}
		n.startTracking(s, mode)
	case "OFF":
		n.untrack(s)
	default:
		n.fail(syntax)
		return
	}
	n.ok()
}

// redirection returns the error reply to the option REDIRECT, which the node does not support.
func (n *Node) redirection(args []string) (refusal string) {
	if len(args) == 0 {
		return syntax
	}
	id, ok := parseInt(args[0])
	switch {
	case !ok:
		return notInteger
	case !slices.ContainsFunc(n.sessions, func(s *Session) bool { return int64(s.id) == id }):
		return "ERR The client ID you want redirect to does not exist"
	}
	return "ERR the simulated node does not redirect invalidations"
}

func (n *Node) startTracking(s *Session, mode trackingMode) {
	if mode.bcast && !s.track.bcast {
		i, _ := slices.BinarySearchFunc(n.tracking.bcast, s.id, func(o *Session, id int) int { return o.id - id })
		n.tracking.bcast = slices.Insert(n.tracking.bcast, i, s)
	}
	s.track = mode
}

// switchTo checks that a session may change from m to mode, and adds m's prefixes to those of
// mode. If the session may not, it returns the error reply.
func (m *trackingMode) switchTo(mode *trackingMode) (refusal string) {
	const before = " before disabling tracking for this client, and then re-enabling it with a different mode."
	switch {
	case len(mode.prefixes) > 0 && !mode.bcast:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case m.on && m.bcast != mode.bcast:
		return "ERR You can't switch BCAST mode on/off" + before
	case mode.bcast && (mode.optin || mode.optout):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case mode.optin && mode.optout:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case mode.optin && m.optout || mode.optout && m.optin:
		return "ERR You can't switch OPTIN/OPTOUT mode" + before
	}
	if !mode.bcast {
		return ""
	}
	for i, p := range mode.prefixes {
		if o, found := overlap(p, m.prefixes); found {
			return "ERR Prefix '" + p + "' overlaps with an existing prefix '" + o + "'." + noOverlap
		}
		if o, found := overlap(p, mode.prefixes[i+1:]); found {
			return "ERR Prefix '" + p + "' overlaps with another provided prefix '" + o + "'." + noOverlap
		}
	}
	if len(mode.prefixes) == 0 {
		mode.prefixes = []string{""} // all keys; earlier prefixes stay
	}
	mode.prefixes = slices.Concat(m.prefixes, mode.prefixes)
	slices.Sort(mode.prefixes)
	mode.prefixes = slices.Compact(mode.prefixes)
	return ""
}

const noOverlap = " Prefixes for a single client must not overlap."

func overlap(prefix string, others []string) (other string, found bool) {
	for _, o := range others {
		if strings.HasPrefix(prefix, o) || strings.HasPrefix(o, prefix) {
			return o, true
		}
	}
	return "", false
}

func (n *Node) clientCaching(s *Session, args []string) {
	switch answer := strings.ToLower(args[2]); {
	case !s.track.on:
		n.fail("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case answer == "yes" && !s.track.optin:
		n.fail("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case answer == "no" && !s.track.optout:
		n.fail("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case answer == "yes" || answer == "no":
		s.track.caching = answer
		n.ok()
	default:
		n.fail(syntax)
	}
}
