// Lockstorm compares Redis lock recipes under faults and judges what clients saw: see
// lockstorm help.
package main

import (
	"github.com/lockstorm/lockstorm"
	"github.com/lockstorm/lockstorm/locks/peers"
)

func main() {
	peers.Register() // so that other projects' locks are recipes of this program too
	lockstorm.Main()
}
