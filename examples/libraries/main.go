// Libraries is a lockstorm program with lock libraries that have heavy dependencies, beside the
// libraries of locks/peers and the built-in recipes:
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
	logx.Disable() // go-zero logs each failed acquisition, and once a minute the process's resource usage
	lockstorm.Main(slices.Concat(peers.Recipes(), recipes())...)
}
