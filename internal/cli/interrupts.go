package cli

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruption is the cause of the program's ended context: a signal.
type interruption struct{ os.Signal }

// Error names the signal.
func (i interruption) Error() string {
	name := map[os.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}[i.Signal]
	return "interrupted by " + cmp.Or(name, i.String())
}

// code returns the exit code as in shells: 128 and the signal's number.
func (i interruption) code() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128
}

// interrupts turns signals into the end of the program's context. A command may ask that the
// first SIGINT only stops it from starting more work. The zero value is ready; its methods may
// be called at the same time.
type interrupts struct {
	mu   sync.Mutex
	stop chan struct{} // closed by the first SIGINT; nil = that ends the context
	why  *interruption // the signal that closed stop
}

// gently returns a channel that the first SIGINT closes instead of ending the context.
func (i *interrupts) gently() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop == nil {
		i.stop = make(chan struct{})
	}
	return i.stop
}

// take says whether the signal has only stopped a command from starting more work.
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

// cause returns the signal that interrupted the work of ctx, gently or not.
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

// listen returns a context that ends with a signal. After that, the next signal ends the
// program at once.
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
