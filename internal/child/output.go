package child

import (
	"fmt"
	"sync/atomic"
)

// Output is a writer for a child's output. It keeps the beginning, counted from the last
// Reset, and the end.
type Output struct {
	Limit      int // maximum size in bytes of each part
	head, tail []byte
	lost       int64
	reset      atomic.Bool
}

// Reset discards the output written so far. It may be called at any time.
func (o *Output) Reset() { o.reset.Store(true) }

// Write implements io.Writer. It never fails. Calls must not overlap. An exec.Cmd makes no
// overlapping calls.
func (o *Output) Write(p []byte) (int, error) {
	if o.reset.Swap(false) {
		o.head, o.tail, o.lost = o.head[:0], o.tail[:0], 0
	}
	n := min(o.Limit-len(o.head), len(p))
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, p[n:]...)
	if len(o.tail) > 2*o.Limit { // trim rarely
		o.trim()
	}
	return len(p), nil
}

// trim shortens the tail to its last Limit bytes.
func (o *Output) trim() {
	if surplus := len(o.tail) - o.Limit; surplus > 0 {
		o.lost += int64(surplus)
		o.tail = append(o.tail[:0], o.tail[surplus:]...)
	}
}

// Text returns the kept output; cut says that the middle is missing. Call it after the last Write.
func (o *Output) Text() (text string, cut bool) {
	if o.reset.Load() {
		return "", false
	}
	if o.trim(); o.lost == 0 {
		return string(o.head) + string(o.tail), false
	}
	return fmt.Sprintf("%s\n… %d bytes are left out here …\n%s", o.head, o.lost, o.tail), true
}
