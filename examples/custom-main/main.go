// Custom-main is a lockstorm program with the lock of package seats beside the built-in recipes:
//
//	go run . list locks
//	go run . run --locks seats,set-nx-px,setnx-expire --faults none,client-pause,lost-reply --ttl 30s --command-timeout 25s
package main

import (
	"example.com/custom-main/seats/seatstest"

	"github.com/lockstorm/lockstorm"
	"github.com/lockstorm/lockstorm/locktest"
)

func main() {
	lockstorm.Main(locktest.Recipe("seats", seatstest.Lock))
}
