package seats_test

import (
	"testing"

	"example.com/custom-main/seats/seatstest"

	"github.com/lockstorm/lockstorm/locktest"
)

func TestSeatLock(t *testing.T) { locktest.Run(t, seatstest.Lock) }
