// Package cli is the command line of lockstorm: it compares Redis lock recipes under faults and
// judges recorded histories. See lockstorm help. Its input is a process's arguments, environment
// and signals; its output is text on stdout and stderr, the files of a campaign, and an exit code.
// Other packages use only Main.
//
// An app is the program with all its external inputs and outputs, so that tests run a command line
// in their own process. An exit is an outcome that is not an error. A guest is a recipe that a
// user's own program registers. A shard is a part of a campaign's trials; merge joins shards. A
// screen describes the terminal: its width, and whether it shows colours. The volume says how much
// a command prints besides its result. Lines that explain a campaign are printed by say, which
// wraps them; errors about flags are one line.
package cli
