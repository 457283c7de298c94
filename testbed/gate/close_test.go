package gate

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// closed closes a connection whose writer waits at the gate, and spins until the writer has
// returned, as rueidis does. It returns the time that the writer took to return, and the
// writer's error. The clock stands still while a goroutine spins, so that a writer that sleeps
// would never return.
func (w *gated) closed(hold func() (release func())) (took time.Duration, err error) {
	w.gate.stagger = func(int, string, int) time.Duration { return time.Second }
	written := make(chan error, 1)
	release := hold()
	go func() {
		_, err := io.WriteString(w.conn, wire("SET k v"))
		written <- err
	}()
	synctest.Wait()
	release()
	synctest.Wait()
	closed := time.Now()
	w.conn.Close()
	for range int(1e7) {
		select {
		case err := <-written:
			return time.Since(closed), err
		default:
			runtime.Gosched()
		}
	}
	return 0, errors.New("the writer does not return")
}

func TestAClosedConnectionWakesWhoWaitsAtTheGate(t *testing.T) {
	pause := func(w *gated) func() {
		undo, err := w.gate.PauseClient(0)
		if err != nil {
			w.t.Fatal(err)
		}
		return func() { undo(w.t.Context()) }
	}
	for name, hold := range map[string]func(*gated) (release func()){
		"asleep before a point": func(w *gated) func() {
			w.gate.At(testbed.Point{N: 1, When: testbed.Before}, func(testbed.Hit) { t.Error("a command that is not sent reached the point") })
			return func() {}
		},
		"asleep after a pause": pause,
		"held by a pause": func(w *gated) func() {
			release := pause(w)
			time.AfterFunc(time.Minute, release)
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, true, func(w *gated) {
				w.step("acquire")
				took, err := w.closed(func() func() { return hold(w) })
				if !errors.Is(err, net.ErrClosed) || took != 0 {
					t.Errorf("got %v after %v, want %v at once", err, took, net.ErrClosed)
				}
				time.Sleep(time.Hour)
				if got := w.seen(); len(got) > 0 {
					t.Errorf("%q arrived", got)
				}
			})
		})
	}
}
