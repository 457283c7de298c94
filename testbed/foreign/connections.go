//go:build linux

package foreign

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// connect begins to dial a node for the descriptor, and returns 0 or a negative error number. The child's
// own time limit of a connect may end the dial earlier.
func (d *driver) connect(fd, node int64) int64 {
	if node < 0 || node >= int64(len(d.c.Addrs)) {
		return -int64(syscall.ENETUNREACH)
	}
	d.drop(fd)
	ctx, stop := context.WithTimeout(d.c.Context, d.after(timeout(d.c)))
	w := &wire{stop: stop}
	d.mu.Lock()
	d.conns[fd] = w
	d.mu.Unlock()
	go d.dial(ctx, w, d.c.Addrs[node])
	return 0
}

func (d *driver) dial(ctx context.Context, w *wire, addr string) {
	defer w.stop()
	far, err := d.c.Dial(ctx, "tcp", addr)
	d.mu.Lock()
	switch {
	case err != nil && ctx.Err() != nil:
		w.failed = syscall.ETIMEDOUT
	case err != nil:
		w.failed = syscall.ECONNREFUSED
	}
	w.far, w.dialled = far, true
	dropped := w.dropped
	d.signal()
	d.mu.Unlock()
	if dropped && err == nil {
		far.Close()
	}
}

// fetch returns the result of connect: 0 and the child's end of the connection, or a negative error number,
// which is EINPROGRESS during the dial.
func (d *driver) fetch(fd int64) (int64, *os.File) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.conns[fd]
	switch {
	case w == nil:
		return -int64(syscall.ENOTCONN), nil
	case !w.dialled:
		return -int64(syscall.EINPROGRESS), nil
	case w.failed != 0:
		delete(d.conns, fd)
		return -int64(w.failed), nil
	}
	near, theirs, err := socketpair()
	if err != nil {
		return -int64(syscall.EMFILE), nil // the child closes the descriptor
	}
	w.near = near
	go d.receive(w)
	return 0, theirs
}

// receive collects what comes from a node.
func (d *driver) receive(w *wire) {
	for b := make([]byte, 4096); ; {
		n, err := w.far.Read(b)
		d.mu.Lock()
		w.data = append(w.data, b[:n]...)
		w.ended = err != nil
		d.signal()
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (d *driver) send(fd int64, body []byte) int64 {
	d.mu.Lock()
	w := d.conns[fd]
	gone := w == nil || w.near == nil || w.told
	d.mu.Unlock()
	if gone {
		return -int64(syscall.EPIPE)
	}
	if _, err := w.far.Write(body); err != nil {
		d.mu.Lock()
		w.ended = true // as in TCP, the error of this write shows later
		d.mu.Unlock()
	}
	return int64(len(body))
}

func (d *driver) drop(fd int64) {
	d.mu.Lock()
	w := d.conns[fd]
	if w == nil {
		d.mu.Unlock()
		return
	}
	delete(d.conns, fd)
	w.dropped = true
	far := w.far
	d.mu.Unlock()
	w.stop()
	if far != nil {
		far.Close()
	}
	if w.near != nil {
		w.near.Close()
	}
}

// deliver hands the child what has come for the descriptors, and returns one of them; -1 = nothing.
func (d *driver) deliver(fds []int32) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	ready := int64(-1)
	for _, fd := range fds {
		w := d.conns[int64(fd)]
		switch {
		case w == nil:
		case w.near == nil && w.dialled:
			ready = int64(fd)
		case len(w.data) > 0 || w.ended && !w.told:
			_, _ = w.near.Write(w.data)
			if w.data = nil; w.ended {
				w.told = true
				_ = unix.Shutdown(int(w.near.Fd()), unix.SHUT_WR)
			}
			ready = int64(fd)
		}
		if fd == 0 && d.lines.Len() > 0 {
			_, _ = d.lines.WriteTo(d.stdin)
			ready = 0
		}
	}
	return ready
}
