package node

import (
	"maps"
	"slices"
	"strings"
)

// tracking is the node's side of client-side caching: which sessions track which keys.
type tracking struct {
	*clients
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
func (t *tracking) remember(s *Session, keys []string) {
	if s.track.optin && s.track.caching != "yes" || s.track.optout && s.track.caching == "no" {
		return
	}
	if t.readers == nil {
		t.readers = map[string][]*Session{}
	}
	for _, key := range keys {
		if i, known := s.place(t.readers[key]); !known {
			t.readers[key] = slices.Insert(t.readers[key], i, s)
		}
	}
}

// invalidate informs the sessions that have read a key of its change. For sessions that broadcast,
// it only notes the key: broadcast informs them.
func (t *tracking) invalidate(key string) {
	for _, s := range t.bcast {
		if s.track.noloop && s == t.current {
			continue
		}
		if slices.ContainsFunc(s.track.prefixes, func(p string) bool { return strings.HasPrefix(key, p) }) {
			if s.track.changed == nil {
				s.track.changed = map[string]bool{}
			}
			s.track.changed[key] = true
		}
	}
	if len(t.readers) == 0 {
		return
	}
	readers := t.readers[key]
	delete(t.readers, key)
	for _, s := range readers {
		if s.track.on && !s.track.bcast && s.resp3 && !(s.track.noloop && s == t.current) {
			t.announce(s, []string{key})
		}
	}
}

// invalidateAll tells all tracking sessions that everything has changed.
func (t *tracking) invalidateAll() {
	t.readers = nil
	for _, s := range t.sessions {
		if s.track.on && s.resp3 {
			t.announce(s, nil)
		}
	}
}

// announce tells a session that these keys have changed; nil = all keys.
func (t *tracking) announce(s *Session, keys []string) {
	t.send(s, func() {
		t.push(2)
		t.bulk("invalidate")
		if keys == nil {
			t.null()
		} else {
			t.bulks(keys...)
		}
	})
}

// broadcast announces the keys that have changed since the last broadcast to broadcasting sessions, in
// one message for each session and prefix.
func (t *tracking) broadcast() {
	for _, s := range t.bcast {
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
				t.announce(s, keys)
			}
		}
	}
}

// stop ends a session's tracking. As in Redis, the node still remembers the keys that the
// session has read. If the session starts to track again, the node announces changes of these
// keys.
func (t *tracking) stop(s *Session) {
	s.track = trackingMode{}
	t.bcast = slices.DeleteFunc(t.bcast, func(o *Session) bool { return o == s })
}

func (t *tracking) start(s *Session, mode trackingMode) {
	if mode.bcast && !s.track.bcast {
		i, _ := s.place(t.bcast)
		t.bcast = slices.Insert(t.bcast, i, s)
	}
	s.track = mode
}

// forget forgets which keys a session has read.
func (t *tracking) forget(s *Session) {
	for key := range t.readers {
		s.leave(t.readers, key)
	}
}

// trackingCommands run the subcommands of CLIENT for client-side caching.
var trackingCommands = map[string]handler{
	"client|tracking": func(c call) written {
		mode, refusal := c.trackingMode()
		if refusal != "" {
			return c.fail(refusal)
		}
		switch strings.ToUpper(c.args[2]) {
		case "ON":
			if refusal := c.s.track.switchTo(&mode); refusal != "" {
				return c.fail(refusal)
			}
			c.tracking.start(c.s, mode)
		case "OFF":
			c.tracking.stop(c.s)
		default:
			return c.fail(syntax)
		}
		return c.ok()
	},
	"client|caching": func(c call) written {
		track := &c.s.track
		switch answer := strings.ToLower(c.args[2]); {
		case !track.on:
			return c.fail("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
		case answer == "yes" && !track.optin:
			return c.fail("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
		case answer == "no" && !track.optout:
			return c.fail("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
		case answer == "yes" || answer == "no":
			track.caching = answer
			return c.ok()
		}
		return c.fail(syntax)
	},
	"client|getredir": func(c call) written {
		if c.s.track.on {
			return c.int(0)
		}
		return c.int(-1)
	},
}

// trackingMode returns the mode that the options of CLIENT TRACKING ask for, or the error reply.
func (c call) trackingMode() (mode trackingMode, refusal string) {
	mode.on = true
	for i := 3; i < len(c.args); i++ {
		switch strings.ToUpper(c.args[i]) {
		case "BCAST":
			mode.bcast = true
		case "OPTIN":
			mode.optin = true
		case "OPTOUT":
			mode.optout = true
		case "NOLOOP":
			mode.noloop = true
		case "PREFIX":
			if i++; i == len(c.args) {
				return mode, syntax
			}
			mode.prefixes = append(mode.prefixes, c.args[i])
		case "REDIRECT":
			return mode, c.redirection(c.args[i+1:])
		default:
			return mode, syntax
		}
	}
	return mode, ""
}

// redirection returns the error reply to the option REDIRECT, which the node does not support.
func (c call) redirection(args []string) (refusal string) {
	if len(args) == 0 {
		return syntax
	}
	id, ok := parseInt(args[0])
	switch {
	case !ok:
		return notInteger
	case !slices.ContainsFunc(c.sessions, func(s *Session) bool { return int64(s.id) == id }):
		return "ERR The client ID you want redirect to does not exist"
	}
	return "ERR the simulated node does not redirect invalidations"
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
