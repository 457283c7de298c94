// Package container runs trials on Docker containers that it makes from any image of Redis
// or Valkey, or on those of a standing lab.
//
// Options come in: the image, and the program that removes what a killed one leaves. A testbed
// of package live goes out.
//
// The words: a session is one open testbed, with its network and its labels; a box is a node's
// container, which outlives its server; the reaper is a process that removes containers and
// networks when this program has ended; the lab is a set of containers that somebody else
// started and that trials share, one at a time.
//
// Each trial has its own containers, on the session's bridge network. A container's port is
// published on 127.0.0.1, where links end. Its server's files are in a directory of this
// machine, mounted at /data. Servers reach each other through this program: at the gateway
// of the network or, in Docker Desktop, by the name host.docker.internal.
//
// The engine must run on this machine: it shares files, ports and clocks with this program.
// The package has been tried with an engine on Linux. Support for Docker Desktop, for an
// engine without root or with user namespaces, and for SELinux follows their documentation.
//
// New sets TESTCONTAINERS_RYUK_DISABLED in this program's environment and replaces
// testcontainers' logger: other code in this program that uses testcontainers then has
// neither its reaper nor its log.
package container
