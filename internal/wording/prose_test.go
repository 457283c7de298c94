package wording

import (
	"testing"
	"time"
)

func TestLengthsAreWrittenAsPeopleReadThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 20: "20 ns", 300 * time.Microsecond: "0.3 ms", 92 * time.Millisecond: "92 ms",
		100600 * time.Microsecond: "100.6 ms", 100 * time.Millisecond: "100 ms", time.Second: "1 s",
		1105 * time.Millisecond: "1.105 s", 100 * time.Second: "100 s", -5 * time.Second: "-5 s",
	} {
		if got := Length(d); got != want {
			t.Errorf("Length(%v) is %q, want %q", d, got, want)
		}
	}
}
