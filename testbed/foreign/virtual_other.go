//go:build !linux

package foreign

import (
	"errors"

	"github.com/lockstorm/lockstorm/locks"
)

// startVirtual fails: virtual time needs Linux.
func startVirtual(*locks.Client, []string) (*process, error) {
	_, err := library()
	if err == nil {
		err = errors.New("virtual time needs Linux")
	}
	return nil, err
}
