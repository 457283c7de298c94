// Package container runs trials on Docker containers. The testbed of New makes them from any image
// of Redis or Valkey; the testbed of OpenLab uses the containers of a standing lab.
//
// New takes Options, such as the image and the program that removes leftovers, and returns a
// testbed of package live.
//
// Vocabulary:
//   - A session is one open testbed, with its network and its labels.
//   - A box is a node's container, which outlives its server.
//   - The reaper is a process that removes containers and networks when this program has ended.
//   - The lab is a set of containers that somebody else started. Trials share it, one at a time.
//
// Each trial has its own containers, on the session's bridge network. The links of clients lead to
// a container's port, which is published on 127.0.0.1. The server's files are in a directory of
// this machine, mounted at /data. Servers reach each other through this program: at the gateway of
// the network or, in Docker Desktop, by the name host.docker.internal.
//
// The engine must run on this machine, because it shares files, ports and clocks with this program.
// The package has been tried with an engine on Linux. Support for Docker Desktop, for an engine
// without root or with user namespaces, and for SELinux follows their documentation.
//
// New sets TESTCONTAINERS_RYUK_DISABLED in this program's environment and replaces testcontainers'
// logger: other code in this program that uses testcontainers then has neither testcontainers'
// reaper nor its log.
package container
