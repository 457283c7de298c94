package cli

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruption is a signal that ended the program's context, or that only closed interrupts.stop. If
// it ended the context, the interruption is the context's cause.
type interruption struct{ os.Signal }

// Error names the signal.
func (i interruption) Error() string {
	name := map[os.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}[i.Signal]
	return "interrupted by " + cmp.Or(name, i.String())
}

// code returns the exit code that a shell would report: 128 plus the signal's number.
func (i interruption) code() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128
}

// interrupts ends the program's context when a signal arrives. A command may ask that the first
// SIGINT only stops it from starting more work. The zero value is ready; the methods may be called
// concurrently.
type interrupts struct {
	mu   sync.Mutex
	stop chan struct{} // closed by the first SIGINT; nil = the first SIGINT ends the context
	why  *interruption // the signal that closed stop
}

// gently returns a channel. The first SIGINT then closes that channel instead of ending the
// context.
func (i *interrupts) gently() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop == nil {
		i.stop = make(chan struct{})
	}
	return i.stop
}

// take handles a signal. gentle is true if the signal only told a command to start no more work.
func (i *interrupts) take(s os.Signal) (gentle bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s != os.Interrupt || i.stop == nil || i.why != nil {
		return false
	}
	i.why = &interruption{s}
	close(i.stop)
	return true
}

// cause returns the signal that ended ctx, or that closed the channel of gently.
func (i *interrupts) cause(ctx context.Context) (why interruption, ok bool) {
	if why, ok = context.Cause(ctx).(interruption); ok {
		return why, true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.why == nil {
		return why, false
	}
	return *i.why, true
}

// listen returns a context that ends at a signal, unless take says that the signal was gentle. Once
// the context has ended, the next signal ends the program at once.
func (i *interrupts) listen(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		for i.take(s) {
			s = <-signals
		}
		cancel(interruption{s})
		signal.Stop(signals)
	}()
	return ctx
}
