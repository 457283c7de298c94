package clientproc

import (
	"bufio"
	"encoding/gob"
	"errors"
	"io"
	"net/rpc"
	"os"
	"sync/atomic"
)

// codec serves the calls of a client's *rpc.Client over a pipe, like net/rpc's own codec. If a call
// cannot be decoded, perhaps because the code under test wrote into the pipe, codec closes the pipe of
// the results at once.
type codec struct {
	pipe pipes
	in   *gob.Decoder
	out  *gob.Encoder
	buf  *bufio.Writer
	// garbled is set when a call cannot be decoded.
	garbled *atomic.Bool
}

func newCodec(p pipes, garbled *atomic.Bool) rpc.ServerCodec {
	buf := bufio.NewWriter(p)
	return codec{p, gob.NewDecoder(p), gob.NewEncoder(buf), buf, garbled}
}

// ReadRequestHeader implements rpc.ServerCodec.
func (c codec) ReadRequestHeader(r *rpc.Request) error { return c.read(r) }

// ReadRequestBody implements rpc.ServerCodec.
func (c codec) ReadRequestBody(body any) error { return c.read(body) }

func (c codec) read(v any) error {
	err := c.in.Decode(v)
	if err != nil {
		// Close the pipe of the results now. After a garbled call, net/rpc would first wait for
		// running calls, or read on until the pipe ends.
		if ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed); !ended {
			c.garbled.Store(true)
		}
		c.pipe.out.Close()
	}
	return err
}

// WriteResponse implements rpc.ServerCodec.
func (c codec) WriteResponse(r *rpc.Response, body any) error {
	if err := c.out.Encode(r); err != nil {
		return err
	}
	if err := c.out.Encode(body); err != nil {
		return err
	}
	return c.buf.Flush()
}

// Close implements rpc.ServerCodec.
func (c codec) Close() error { return c.pipe.Close() }
