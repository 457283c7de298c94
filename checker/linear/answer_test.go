package linear

import (
	"context"
	"testing"
	"time"
)

func TestASearchEndsWithItsContextAtTheLatest(t *testing.T) {
	soon, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	deadline, _ := soon.Deadline()
	if got := endOf(soon, time.Hour); !got.Equal(deadline) {
		t.Errorf("got %v, want the deadline %v", got, deadline)
	}
	if got := endOf(soon, time.Second); !got.Before(deadline) {
		t.Errorf("got %v, want less than the deadline %v", got, deadline)
	}
}
