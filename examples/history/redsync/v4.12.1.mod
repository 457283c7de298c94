// go test -modfile=v4.12.1.mod tests redsync v4.12.1. The replacement below selects this version:
// Lockstorm itself requires a newer one.
module example.com/history/redsync

go 1.26.0

replace (
	example.com/history/ports => ../ports
	github.com/go-redsync/redsync/v4 => github.com/go-redsync/redsync/v4 v4.12.1
	github.com/lockstorm/lockstorm => ../../..
)

require (
	example.com/history/ports v0.0.0
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/gomodule/redigo v1.9.3
	github.com/lockstorm/lockstorm v0.0.0
)

require (
	github.com/agext/levenshtein v1.2.3 // indirect
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/errwrap v1.1.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/jedib0t/go-pretty/v6 v6.8.3 // indirect
	github.com/klauspost/compress v1.18.6 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/redis/go-redis/v9 v9.23.0 // indirect
	github.com/redis/rueidis/rueidiscompat v1.0.79 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
