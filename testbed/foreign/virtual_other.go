//go:build !linux

package foreign

import (
	"errors"

	"github.com/lockstorm/lockstorm/locks"
)

// startVirtual fails: virtual time needs Linux.
func startVirtual(*locks.Client, []string) (*process, error) {
	return nil, errors.New("virtual time for programs in other languages: Linux is needed; real time works: use --testbed process")
}
