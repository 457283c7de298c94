package node

import (
	"fmt"
	"slices"
	"strings"
)

// connectionCommands run the commands for connections and for the server. QUIT only replies: the owner
// of the connection closes the connection. NO-EVICT changes nothing, since the node evicts no
// clients. The node is not part of a cluster: clients that support clusters use READONLY and the
// like to find that out.
var connectionCommands = map[string]handler{
	"ping": func(c call) written {
		switch args := c.args; {
		case len(args) > 2:
			return c.fail(wrongNumber("ping"))
		case !c.s.resp3 && c.s.subscriptions() > 0:
			return c.bulks("pong", strings.Join(args[1:], ""))
		case len(args) == 2:
			return c.bulk(args[1])
		}
		return c.status("PONG")
	},
	"echo": func(c call) written { return c.bulk(c.args[1]) },
	"quit": func(c call) written { return c.ok() },
	"reset": func(c call) written {
		c.s.reset()
		c.resp3 = false
		return c.status("RESET")
	},
	"auth": func(c call) written {
		switch {
		case len(c.args) > 3:
			return c.fail(syntax)
		case len(c.args) == 2:
			return c.fail("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		case c.args[1] != "default":
			return c.fail(wrongPassword)
		}
		return c.ok()
	},
	"hello": call.hello,
	"role": func(c call) written {
		if c.readOnly {
			return c.fail("ERR the simulated node does not know its primary")
		}
		c.array(3)
		c.bulk("master")
		c.int(0)
		return c.array(0)
	},
	"info":      call.info,
	"client|id": func(c call) written { return c.int(int64(c.s.id)) },
	"client|getname": func(c call) written {
		if c.s.name == "" {
			return c.null()
		}
		return c.bulk(c.s.name)
	},
	"client|setname": func(c call) written {
		if refusal := badName(c.args[2]); refusal != "" {
			return c.fail(refusal)
		}
		c.s.name = c.args[2]
		return c.ok()
	},
	"client|no-evict": func(c call) written {
		if !strings.EqualFold(c.args[2], "ON") && !strings.EqualFold(c.args[2], "OFF") {
			return c.fail(syntax)
		}
		return c.ok()
	},
	"readonly":  noCluster,
	"readwrite": noCluster,
	"asking":    noCluster,
	"wait":      call.wait,
}

// noCluster runs READONLY and the like, and the subcommands of CLUSTER. Redis checks a subcommand's name and
// its number of arguments before it refuses the subcommand.
func noCluster(c call) written { return c.fail("ERR This instance has cluster support disabled") }

const wrongPassword = "WRONGPASS invalid username-password pair or user is disabled."

func (c call) hello() written {
	s, args := c.s, c.args
	resp3, name := s.resp3, s.name
	if len(args) > 1 {
		version, ok := parseInt(args[1])
		if !ok {
			return c.fail("ERR Protocol version is not an integer or out of range")
		}
		if version < 2 || version > 3 {
			return c.fail("NOPROTO unsupported protocol version")
		}
		resp3 = version == 3
	}
	for i := 2; i < len(args); i++ {
		switch option, more := strings.ToUpper(args[i]), len(args)-i-1; {
		case option == "AUTH" && more >= 2:
			if args[i+1] != "default" {
				return c.fail(wrongPassword)
			}
			i += 2
		case option == "SETNAME" && more >= 1:
			i++
			name = args[i]
			if refusal := badName(name); refusal != "" {
				return c.fail(refusal)
			}
		default:
			return c.fail("ERR Syntax error in HELLO option '" + cut(args[i], len(args[i])) + "'")
		}
	}
	s.name, s.resp3, c.resp3 = name, resp3, resp3
	return c.greet()
}

func (c call) greet() written {
	c.maps(7)
	for _, text := range []string{"server", "redis", "version", Version, "proto"} {
		c.bulk(text)
	}
	c.int(map[bool]int64{false: 2, true: 3}[c.s.resp3])
	c.bulk("id")
	c.int(int64(c.s.id))
	for _, text := range []string{"mode", "standalone", "role", c.role("master", "replica"), "modules"} {
		c.bulk(text)
	}
	return c.array(0)
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

// info replies with only those fields that clients look for.
func (c call) info() written {
	wanted := c.args[1:]
	keys := ""
	if count := len(c.db.Keys()); count > 0 {
		keys = fmt.Sprintf("db0:keys=%d,expires=%d,avg_ttl=0\r\n", count, len(c.deadlines))
	}
	var texts []string
	for _, section := range [][2]string{
		{"Server", "redis_version:" + Version + "\r\nredis_mode:standalone\r\n"},
		{"Clients", fmt.Sprintf("connected_clients:%d\r\n", len(c.sessions))},
		{"Replication", "role:" + c.role("master", "slave") + "\r\n"},
		{"Keyspace", keys},
	} {
		if len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool {
			return strings.EqualFold(w, section[0]) || strings.EqualFold(w, "all") || strings.EqualFold(w, "default") || strings.EqualFold(w, "everything")
		}) {
			texts = append(texts, "# "+section[0]+"\r\n"+section[1])
		}
	}
	return c.bulk(strings.Join(texts, "\r\n"))
}

// wait answers WAIT for a node without replicas. For a node with replicas, the simulation
// answers WAIT.
func (c call) wait() written {
	_, ok := parseInt(c.args[1])
	timeout, isInt := parseInt(c.args[2])
	switch {
	case c.readOnly:
		return c.fail("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
	case !ok:
		return c.fail(notInteger)
	case !isInt:
		return c.fail("ERR timeout is not an integer or out of range")
	case timeout < 0:
		return c.fail("ERR timeout is negative")
	}
	return c.int(0)
}
