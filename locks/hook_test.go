package locks

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// hook is called with every command that a client is about to send. It calls send to send the command
// and to wait for the reply. It is not called for handshakes (HELLO and others), which the client
// sends by itself while a command waits for its connection.
type hook func(cmd redis.Cmder, send func() error) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook calls the hook for each command, and sends all commands with the first. If
// one reply is lost, the later replies are lost too. If EXEC's reply is lost, all replies of the
// transaction are lost.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if slices.Contains(handshakes, strings.ToUpper(cmds[0].Name())) {
			return next(ctx, cmds)
		}
		send := sync.OnceFunc(func() { _ = next(ctx, cmds) })
		var failed error
		for _, cmd := range cmds {
			if failed != nil {
				cmd.SetErr(failed)
				continue
			}
			failed = h(cmd, func() error { send(); return cmd.Err() })
		}
		if failed != nil && strings.EqualFold(cmds[0].Name(), "MULTI") {
			for _, cmd := range cmds {
				cmd.SetErr(failed)
			}
		}
		return failed
	}
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if slices.Contains(handshakes, strings.ToUpper(cmd.Name())) {
			return next(ctx, cmd)
		}
		return h(cmd, func() error { return next(ctx, cmd) })
	}
}

// loseReply loses the reply to the n-th command that the client sends to the first node from now on,
// counted from 1. The command itself runs.
func loseReply(c *Client, n int) {
	c.Nodes[0].AddHook(hook(func(cmd redis.Cmder, send func() error) error {
		err := send()
		if n--; n == 0 {
			err = io.ErrUnexpectedEOF
			cmd.SetErr(err)
		}
		return err
	}))
}

// before calls do once, just before the client sends its next command of that name to the first node.
func before(c *Client, name string, do func()) {
	c.Nodes[0].AddHook(hook(func(cmd redis.Cmder, send func() error) error {
		if do != nil && strings.EqualFold(cmd.Name(), name) {
			once := do
			do = nil
			once()
		}
		return send()
	}))
}
