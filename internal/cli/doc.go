// Package cli is the command line of lockstorm: it compares Redis lock recipes under faults
// and judges what clients saw. See lockstorm help. Its input is a process's arguments,
// environment and signals; its output are texts on stdout and stderr, the files of a
// campaign, and an exit code. Main is all that other packages use.
//
// An app is the program with all its external inputs and outputs, so that tests run a
// command line in their own process. An exit is an outcome that is no error. A guest is a
// recipe that a program of somebody else brings along. A shard is a part of a campaign's
// trials; merge joins shards. A screen is what is known of the terminal: its width, and
// whether it shows colours. The volume is how much a command tells beside its result.
// Lines that explain a campaign go through say, which wraps them; flags' errors are one line.
package cli
