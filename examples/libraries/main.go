// Lockstorm with lock libraries whose dependencies are heavy, beside the libraries of
// locks/peers and the built-in recipes:
//
//	go run . list locks
//	go run . run --locks libraries,set-nx-px,redlock --faults none,client-pause,delay
package main

import (
	"slices"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/lockstorm/lockstorm"
	"github.com/lockstorm/lockstorm/locks/peers"
)

func main() {
	logx.Disable() // go-zero logs each failed acquisition, and once a minute what the process uses
	lockstorm.Main(slices.Concat(peers.Recipes(), recipes())...)
}
