// Package lockstorm builds a lockstorm program that knows locks of one's own:
//
//	func main() {
//		lockstorm.Main(locktest.Recipe("paylock", adapter.Lock)) // the Subject that locktest.Run tests
//	}
//
// The program has all commands of lockstorm: list, run, replay, shrink, report and check
// work on these locks, with the built-in recipes beside them, on every testbed.
package lockstorm

import (
	"github.com/lockstorm/lockstorm/internal/cli"
	"github.com/lockstorm/lockstorm/locks"
)

// Main executes the command line of this process as lockstorm does, with these recipes
// beside the built-in ones, and ends the process: it does not return. The program starts
// itself again for worker and client processes, so main must call Main with the same recipes
// each time, before anything that should happen once only.
//
// A recipe of locktest.Recipe is complete. One that is written by hand needs an ID, letters
// and digits that no other recipe has, and New. Without Topology it is locks.Single; without
// Claims it claims that its lease ends on its own after the TTL; with nil Flaws it declares
// the limits of any lease (locks.Limits), so that lockstorm run --expect names whatever else
// shows. Document may stay empty. A recipe that cannot be used ends the process with exit
// code 254 and a line on stderr.
func Main(recipes ...locks.Recipe) { cli.Main(recipes...) }
