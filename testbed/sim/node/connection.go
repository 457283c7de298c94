package node

import (
	"fmt"
	"slices"
	"strings"
)

func (n *Node) cmdPing(s *Session, args []string) {
	switch {
	case len(args) > 2:
		n.fail(wrongNumber("ping"))
	case !s.resp3 && s.subscriptions() > 0:
		n.array(2)
		n.bulk("pong")
		n.bulk(strings.Join(args[1:], ""))
	case len(args) == 2:
		n.bulk(args[1])
	default:
		n.status("PONG")
	}
}

func (n *Node) cmdEcho(_ *Session, args []string) { n.bulk(args[1]) }

// cmdQuit only replies. The owner of the connection closes the connection.
func (n *Node) cmdQuit(_ *Session, _ []string) { n.ok() }

func (n *Node) cmdReset(s *Session, _ []string) {
	s.reset()
	n.resp3 = false
	n.status("RESET")
}

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

func (n *Node) cmdAuth(_ *Session, args []string) {
	switch {
	case len(args) > 3:
		n.fail(syntax)
	case len(args) == 2:
		n.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case args[1] != "default":
		n.fail(wrongPassword)
	default:
		n.ok()
	}
}

func (n *Node) cmdHello(s *Session, args []string) {
	resp3, name, setName := s.resp3, "", false
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		if !ok {
			n.fail("ERR Protocol version is not an integer or out of range")
			return
		}
		if version < 2 || version > 3 {
			n.fail("NOPROTO unsupported protocol version")
			return
		}
		resp3 = version == 3
	}
	for i := 2; i < len(args); i++ {
		switch option, more := strings.ToUpper(args[i]), len(args)-i-1; {
		case option == "AUTH" && more >= 2:
			if args[i+1] != "default" {
				n.fail(wrongPassword)
				return
			}
			i += 2
		case option == "SETNAME" && more >= 1:
			name, setName = args[i+1], true
			if refusal := badName(name); refusal != "" {
				n.fail(refusal)
				return
			}
			i++
		default:
			n.fail("ERR Syntax error in HELLO option '" + cut(args[i], len(args[i])) + "'")
			return
		}
	}
	if setName {
		s.name = name
	}
	s.resp3, n.resp3 = resp3, resp3
	n.greet(s)
}

func (n *Node) greet(s *Session) {
	n.maps(7)
	n.bulk("server")
	n.bulk("redis")
	n.bulk("version")
	n.bulk(Version)
	n.bulk("proto")
	if s.resp3 {
		n.int(3)
	} else {
		n.int(2)
	}
	n.bulk("id")
	n.int(int64(s.id))
	n.bulk("mode")
	n.bulk("standalone")
	n.bulk("role")
	n.bulk(n.role("master", "replica"))
	n.bulk("modules")
	n.array(0)
}

func (n *Node) role(primary, replica string) string {
	if n.readOnly {
		return replica
	}
	return primary
}

func badName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		return "ERR Client names cannot contain spaces, newlines or special characters."
	}
	return ""
}

// clientNoEvict changes nothing, since the node evicts no clients.
func (n *Node) clientNoEvict(_ *Session, args []string) {
	if !strings.EqualFold(args[2], "ON") && !strings.EqualFold(args[2], "OFF") {
		n.fail(syntax)
		return
	}
	n.ok()
}

func (n *Node) clientGetname(s *Session, _ []string) {
	if s.name == "" {
		n.null()
		return
	}
	n.bulk(s.name)
}

func (n *Node) clientSetname(s *Session, args []string) {
	if refusal := badName(args[2]); refusal != "" {
		n.fail(refusal)
		return
	}
	s.name = args[2]
	n.ok()
}

func (n *Node) clientGetredir(s *Session, _ []string) {
	if s.track.on {
		n.int(0)
		return
	}
	n.int(-1)
}

func (n *Node) cmdRole(_ *Session, _ []string) {
	if n.readOnly {
		n.fail("ERR the simulated node does not know its primary")
		return
	}
	n.array(3)
	n.bulk("master")
	n.int(0)
	n.array(0)
}

// cmdInfo replies with only those fields that clients look for.
func (n *Node) cmdInfo(_ *Session, args []string) {
	wanted := args[1:]
	var b strings.Builder
	section := func(name, text string) {
		all := len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool {
			return strings.EqualFold(w, name) || strings.EqualFold(w, "all") || strings.EqualFold(w, "default") || strings.EqualFold(w, "everything")
		})
		if !all {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "# %s\r\n%s", name, text)
	}
	section("Server", "redis_version:"+Version+"\r\nredis_mode:standalone\r\n")
	section("Clients", fmt.Sprintf("connected_clients:%d\r\n", len(n.sessions)))
	section("Replication", "role:"+n.role("master", "slave")+"\r\n")
	keys := ""
	if count := len(n.db.Keys()); count > 0 {
		keys = fmt.Sprintf("db0:keys=%d,expires=%d,avg_ttl=0\r\n", count, len(n.keys.deadlines))
	}
	section("Keyspace", keys)
	n.bulk(b.String())
}
