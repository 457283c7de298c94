// Package lockstorm builds a lockstorm program that knows a user's own locks:
//
//	func main() {
//		lockstorm.Main(locktest.Recipe("paylock", adapter.Lock)) // the Subject that locktest.Run tests
//	}
//
// The program has all commands of lockstorm. The commands list, run, replay, shrink, report and
// check work on the user's locks and on the built-in recipes, on every testbed.
package lockstorm

import (
	"github.com/lockstorm/lockstorm/cmd/lockstorm/cli"
	"github.com/lockstorm/lockstorm/locks"
)

// Main executes the command line of this process as lockstorm does, with these recipes beside the
// built-in ones. It does not return: it ends the process. The program starts itself again for
// worker and client processes. So main must call Main with the same recipes each time, before any
// action that should happen only once.
//
// A recipe from locktest.Recipe is complete. A recipe written by hand needs New and an ID that no
// other recipe has (letters, digits and . _ + -; first a letter or a digit). The default Topology is
// locks.Single. The default Claims say that a majority of the nodes grants the lock, and that a
// lease ends on its own after the TTL. Nil Flaws declare the limits of any lease (locks.Limits), so
// lockstorm run --expect names every other violation. Document may stay empty. If a recipe cannot
// be used, the process ends with exit code 254 and a line on stderr.
func Main(recipes ...locks.Recipe) { cli.Main(recipes...) }
